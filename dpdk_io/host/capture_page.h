// SPDX-License-Identifier: BSD-2-Clause
// Frames of running devices for whoever captures them from another process. A small file in the run
// directory, mapped by every process, says until when frames are wanted; the frames go through a second one,
// a ring that the first listener makes and the last one removes. Nobody ever waits for a listener: the oldest
// frames are overwritten. Who may open the run directory, its owner, may listen.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "libmrc/wire/frame.h"

namespace mrc {

struct CapturePage {
  static constexpr uint32_t kMagic = 0x4D524354;  // "MRCT"
  static constexpr uint32_t kLayout = 2;
  static constexpr const char* kFileName = "capture";
  static constexpr const char* kRingPrefix = "capture.";  // + number
  std::atomic<uint32_t> magic;
  std::atomic<uint32_t> layout;
  std::atomic<uint32_t> listeners;  // that have not left; the killed ones count until all have gone silent
  std::atomic<uint32_t> ring;       // the number of the ring in use; 0: there was none yet
  // CLOCK_MONOTONIC. Listeners move them on; who is killed falls silent by himself.
  std::atomic<uint64_t> headers_until_ns;
  std::atomic<uint64_t> whole_until_ns;
};

struct CaptureRing {
  // Programs write to one of these each, as far as they go: a number that two of them count up together would
  // cost more than the copy of a header.
  static constexpr uint32_t kLanes = 4;
  static constexpr uint32_t kSlots = 1024;  // of a lane
  // All headers there are, and some payload; a slot is four lines of a cache then.
  static constexpr size_t kHeaderBytes = 208;
  struct alignas(64) Slot {
    std::atomic<uint64_t> turn;  // 2n + 1: frame n is being written, 2n + 2: it is there
    uint64_t time_ns;
    char device[16];
    uint32_t process;  // whose frame it is: its pid
    uint32_t length;   // of the frame
    uint32_t kept;     // of it, in here
    uint8_t plane;
    uint8_t leaves;
    uint8_t intact;
    uint8_t first[kHeaderBytes];
  };
  static_assert(sizeof(Slot) == 256);
  using Rest = uint8_t[kFrameBytesMax - kHeaderBytes];
  struct Lane {
    alignas(64) std::atomic<uint64_t> head;  // the number of the next frame
    alignas(64) Slot slots[kSlots];
    // Apart, so that headers alone keep to a little memory, which stays in a cache.
    alignas(64) Rest rests[kSlots];
  };
  alignas(64) std::atomic<uint32_t> feeds;  // that have come so far
  Lane lanes[kLanes];
};
static_assert(std::atomic<uint64_t>::is_always_lock_free);

// What there is to say of a frame besides its bytes.
struct CaptureNote {
  uint64_t time_ns = 0;  // CLOCK_MONOTONIC
  uint32_t process = 0;  // its pid; filled in by the feed
  uint8_t plane = 0;
  bool leaves = false;  // else it came
  bool intact = false;  // its ICRC was left out
};

// Of a process whose frames may be wanted. Not for several threads at a time, but for put() of one.
class CaptureFeed {
 public:
  CaptureFeed(const std::string& run_directory, uint32_t process, const std::string& device);
  ~CaptureFeed();
  CaptureFeed(const CaptureFeed&) = delete;
  CaptureFeed& operator=(const CaptureFeed&) = delete;

  // Opens the ring when somebody listens and closes it when nobody does. Whether put() may be called.
  bool follow(uint64_t now_ns);
  void put(const CaptureNote& note, std::span<const uint8_t> frame);

 private:
  void open_ring(uint32_t number);
  void close_ring();

  const std::string run_directory_;
  const uint32_t process_;
  char device_[16] = {};
  CapturePage* page_ = nullptr;  // null: it could not be made, and nothing is shown
  CaptureRing* ring_ = nullptr;
  CaptureRing::Lane* lane_ = nullptr;
  uint32_t number_ = 0;
};

struct CapturedFrame {
  CaptureNote note;
  std::string device;
  uint32_t length = 0;         // of the frame
  std::vector<uint8_t> bytes;  // what was kept of it
};

class CaptureListener {
 public:
  // Null: `error` says why. Frames come whole, or the first kHeaderBytes of them.
  static std::unique_ptr<CaptureListener> open(const std::string& run_directory, bool whole,
                                               std::string* error);
  ~CaptureListener();
  CaptureListener(const CaptureListener&) = delete;
  CaptureListener& operator=(const CaptureListener&) = delete;

  // Lets programs go first on CPUs that are wanted by all: who captures rather misses packets than slows
  // them. For processes that do nothing else.
  static void give_way();
  // Must be called every kRenewNs at least: says that frames are still wanted.
  static constexpr uint64_t kRenewNs = 300'000'000;
  void renew(uint64_t now_ns);
  // The oldest frame that is there. False: there is none now.
  bool take(CapturedFrame* frame);
  // Nothing is wanted any more. For who exits without destroying it.
  void leave();
  // Frames that were overwritten before they were read.
  uint64_t lost() const { return lost_; }

 private:
  CaptureListener(std::string run_directory, bool whole, CapturePage* page, CaptureRing* ring,
                  uint32_t number);
  const CaptureRing::Slot* next_of(uint32_t lane);

  const std::string run_directory_;
  const bool whole_;
  CapturePage* const page_;
  CaptureRing* const ring_;
  const uint32_t number_;
  std::array<uint64_t, CaptureRing::kLanes> next_;
  uint64_t lost_ = 0;
  bool left_ = false;
};

}  // namespace mrc
