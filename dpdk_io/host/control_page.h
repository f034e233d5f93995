// SPDX-License-Identifier: BSD-2-Clause
// What a controller has told the devices of a run directory: profiles, denied paths and links, ports that are
// switched off. A file there, mapped by every process; it outlives them. Below it is plain data, and what it
// means is said by whoever writes and reads it.
//
// There are two copies of the state. A change is written to the one that is not in use, and then a number,
// which also says which copy counts, is raised: who dies in the middle leaves the old state, and who has it
// mapped sees by one look that there is something new.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "dpdk_io/host/slot_number.h"

namespace mrc {

inline constexpr uint32_t kControlFormats = 16;
inline constexpr uint32_t kControlProfiles = 64;  // of each kind
inline constexpr uint32_t kControlEvs = 8192;     // of all profiles
inline constexpr uint32_t kControlEvsEach = 4096;
inline constexpr uint32_t kControlFields = 32;
inline constexpr uint32_t kControlVendorBytes = 128;
inline constexpr uint32_t kControlLinks = 1024;

struct ControlEv {
  uint8_t bytes[32];
  uint8_t port;
  uint8_t denied;
};

struct ControlFormat {
  uint64_t id;
  uint8_t used;
  uint8_t state;
  uint8_t mode;
  uint8_t has_mode;
  uint8_t field_count;
  uint8_t widths[kControlFields];
  uint8_t vendor[kControlVendorBytes];
};

struct ControlPaths {
  uint64_t id;
  uint64_t format;
  uint8_t used;
  uint8_t state;
  uint8_t mode;
  uint8_t has_mode;
  uint8_t has_format;
  uint8_t has_min_active;
  uint8_t has_event_mask;
  uint8_t event_mask;
  uint32_t wanted;
  uint32_t min_active;
  uint32_t field_count;
  uint32_t fields[kControlFields][5];
  uint32_t first_ev;  // in ControlState::evs
  uint32_t ev_count;
  uint8_t vendor[kControlVendorBytes];
};

struct ControlCongestion {
  uint64_t id;
  uint8_t used;
  uint8_t state;
  uint8_t has_algorithm;
  uint8_t algorithm;  // 0: none, 1: NSCC
  uint8_t has_config;
  uint8_t config[64];
  uint8_t vendor[kControlVendorBytes];
};

// Of an SRv6 fabric, by its uSIDs.
struct ControlLink {
  uint16_t one;
  uint16_t other;  // 0: all links of the first
};

struct ControlState {
  uint32_t ports_disabled;  // bit N: plane N
  uint32_t ev_count;
  uint32_t denied_link_count;
  ControlLink denied_links[kControlLinks];
  ControlFormat formats[kControlFormats];
  ControlPaths paths[kControlProfiles];
  ControlCongestion congestion[kControlProfiles];
  ControlEv evs[kControlEvs];
};

struct ControlEvent {
  uint64_t profile;
  ControlEv ev;
  uint32_t state;
  uint32_t dropped;  // just before it
};

class ControlPage {
 public:
  enum class Kind : uint8_t { kPaths, kCongestion };
  // With the number of its layout: a file that an older version has left is none of ours.
  static constexpr const char* kFileName = "control2";
  static constexpr uint32_t kEvents = 1024;

  // The page of this user's run directory, or, for who has CAP_NET_ADMIN, of another user's that MRC_RUNDIR
  // names. 0 or an errno with its reason; EPERM: it belongs to somebody else.
  static int open(std::unique_ptr<ControlPage>* page, std::string* error, const std::string& suffix = "");
  ~ControlPage();
  ControlPage(const ControlPage&) = delete;
  ControlPage& operator=(const ControlPage&) = delete;
  const std::string& run_directory() const { return run_directory_; }
  // Which ports the device of the page has: bits, as its owner counts them. Not shared.
  void set_ports(uint32_t ports) { ports_ = ports; }
  uint32_t ports() const { return ports_; }

  // Rises with every change. Any thread.
  uint64_t generation() const { return page_->generation.load(std::memory_order_acquire); }
  // A copy of the state, and of which generation it is.
  uint64_t read(ControlState* state) const;
  // Planes that are switched off.
  uint32_t ports_disabled() const;
  // `change` gets a copy of the state and says whether it is to be the new one. 0 or an errno.
  int change(const std::function<bool(ControlState&)>& change);

  // Which slots have queue pairs that use a profile, by its place in the state. `still_there` is asked when
  // the profile is locked against changes: false, and nothing was noted.
  int use(Kind kind, uint32_t place, uint32_t slot,
          const std::function<bool(const ControlState&)>& still_there);
  void release(Kind kind, uint32_t place, uint32_t slot);
  bool in_use(Kind kind, uint32_t place) const;  // the dead do not count
  void forget_slot(uint32_t slot);

  // The newest word about an EV of a profile: 0, nothing was heard.
  void note_ev(uint32_t place, uint32_t ev, uint8_t state);
  uint8_t noted_ev(uint32_t place, uint32_t ev) const;
  void clear_notes(uint32_t place);

  // Events, for any number of readers in any process. Never waits: the oldest are overwritten.
  void push(const ControlEvent& event);
  uint64_t pushed() const { return page_->events_head.load(std::memory_order_acquire); }
  enum class Taken : uint8_t { kNothing, kEvent, kLost };
  // The event with this number. kLost: it was overwritten.
  Taken take(uint64_t number, ControlEvent* event) const;

 private:
  struct Entry {
    std::atomic<uint64_t> turn;  // 2n + 1: event n is being written, 2n + 2: it is there
    ControlEvent event;
  };
  struct Page {
    static constexpr uint32_t kMagic = 0x4D524350;  // "MRCP"
    static constexpr uint32_t kLayout = 2;
    std::atomic<uint32_t> magic;
    std::atomic<uint32_t> layout;
    alignas(64) std::atomic<uint64_t> generation;  // its last bit: the copy that counts
    alignas(64) std::atomic<uint64_t> events_head;
    std::array<Entry, kEvents> events;
    std::array<std::array<std::array<std::atomic<uint64_t>, (kSlotMax + 64) / 64>, kControlProfiles>, 2>
        users;
    std::array<std::array<std::atomic<uint8_t>, kControlEvsEach>, kControlProfiles> notes;
    std::array<ControlState, 2> copies;
  };
  static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<uint8_t>::is_always_lock_free);

  ControlPage(std::string run_directory, int fd, Page* page)
      : run_directory_(std::move(run_directory)), fd_(fd), page_(page) {}

  const std::string run_directory_;
  const int fd_;  // whoever changes the page locks it
  Page* const page_;
  uint32_t ports_ = 0;
  std::mutex mutex_;  // the same among the threads of this process
};

}  // namespace mrc
