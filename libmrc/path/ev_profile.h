// SPDX-License-Identifier: BSD-2-Clause
// EV format profiles and EV profiles as a controller sets them (MRC 12.C1, 4.7, OCP mrc_ctl): how an EV is
// laid out, which EVs a queue pair may use, and the list of paths that follows from it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "libmrc/path/ev_entry.h"
#include "libmrc/path/path_set.h"

namespace mrc {

// What went wrong, in the words of errno.
enum class EvResult : uint8_t {
  kOk,
  kInvalid,   // EINVAL: a value outside its limits, or an operation that the state forbids
  kBusy,      // EBUSY: somebody uses it
  kTooBig,    // E2BIG: more than there is room for
  kNotFound,  // ENOENT: no such EV in the profile
};

enum class ProfileState : uint8_t { kInit, kOffline, kOnline };

enum class EvFormatMode : uint8_t {
  kStev = 1 << 0,  // 32 bits over UDP source port and flow label
  kSrv6 = 1 << 1,  // 128 bits of outer destination, 256 with one SRH segment
  kUdp = 1 << 2,   // 16 bits of UDP source port
};

inline constexpr size_t kEvBytes = 32;
inline constexpr size_t kEvFieldsMax = 32;
inline constexpr size_t kEvCountMax = 4096;

// OCP's EV: a value of 32 bytes and a port that counts from 1. All zero = not populated.
struct EvValue {
  std::array<uint8_t, kEvBytes> bytes{};
  uint8_t port = 0;
  bool populated() const { return *this != EvValue{}; }
  friend bool operator==(const EvValue&, const EvValue&) = default;
};

// How many bits an EV of this format has room for (MRC 4.7: 32, 256, 16).
uint32_t ev_format_bits(EvFormatMode mode);

class EvFormatProfile {
 public:
  ProfileState state() const { return state_; }
  EvFormatMode mode() const { return mode_; }
  const std::vector<uint8_t>& widths() const { return widths_; }
  uint32_t bits() const { return ev_format_bits(mode_); }

  EvResult set_mode(EvFormatMode mode);                  // INIT
  EvResult set_fields(std::span<const uint8_t> widths);  // OFFLINE
  // INIT -> OFFLINE needs the mode, OFFLINE -> ONLINE the fields; back the same way, kBusy while an EV
  // profile that uses it is online.
  EvResult set_state(ProfileState state);

  void add_user() { ++users_; }
  void remove_user() { --users_; }

  // As it was kept somewhere else.
  bool has_mode() const { return has_mode_; }
  static EvFormatProfile restore(ProfileState state, bool has_mode, EvFormatMode mode,
                                 std::span<const uint8_t> widths);

 private:
  ProfileState state_ = ProfileState::kInit;
  EvFormatMode mode_ = EvFormatMode::kStev;
  bool has_mode_ = false;
  std::vector<uint8_t> widths_;
  uint32_t users_ = 0;
};

// One field of a generated EV. A fixed field has mask = min_val = max_val = 0.
struct EvField {
  uint32_t width = 0;
  uint32_t init_val = 0;
  uint32_t min_val = 0;
  uint32_t max_val = 0;
  uint32_t mask = 0;
  friend bool operator==(const EvField&, const EvField&) = default;
};

// The limits of ocp-api.md section 2: field count, widths, init_val, mask, max_val.
EvResult check_fields(const EvFormatProfile& format, std::span<const EvField> fields);

// The expansion: `choices` has one number per field, of as many bits as its mask has. Per field: init_val
// widened to the field; every set bit of the mask, most significant first, is replaced by the next most
// significant bit of the choice. Fields are concatenated and zero-filled.
std::array<uint8_t, kEvBytes> expand_ev(std::span<const EvField> fields, std::span<const uint32_t> choices);
// How many different choices the fields allow, at most 2^63.
uint64_t count_choices(std::span<const EvField> fields);

enum class EvMode : uint8_t { kAuto = 1 << 0, kExplicit = 1 << 1, kGenerated = 1 << 2 };

// All of a profile but its format and who uses it, to be kept somewhere else.
struct EvProfileImage {
  ProfileState state = ProfileState::kInit;
  EvMode mode = EvMode::kAuto;
  bool has_mode = false;
  bool has_min_active = false;
  bool has_event_mask = false;
  uint32_t wanted_count = 0;
  uint32_t min_active = 0;
  uint8_t event_mask = 0;
  std::vector<EvField> fields;
  std::vector<EvValue> evs;
  std::vector<PathState> states;
};

class EvProfile {
 public:
  ProfileState state() const { return state_; }
  EvMode mode() const { return mode_; }
  uint32_t count() const { return static_cast<uint32_t>(evs_.size()); }
  uint32_t min_active() const { return min_active_; }
  uint8_t event_mask() const { return event_mask_; }
  std::span<const EvValue> values() const { return evs_; }
  PathState state_of(size_t index) const { return states_[index]; }

  // INIT: what OFFLINE needs. The format has to be online; only GENERATED needs fields.
  EvResult set_mode(EvMode mode);
  EvResult set_format(EvFormatProfile* format);
  EvResult set_count(uint32_t count);
  EvResult set_fields(std::span<const EvField> fields);
  // The same in every state: the EVs of a generated profile are made anew. Not kOk: what became of it is not
  // to be used.
  EvResult change_fields(std::span<const EvField> fields, uint32_t port_mask, uint64_t seed);
  // OFFLINE: what ONLINE needs. Only GOOD and ASSUMED_BAD can be in the mask.
  EvResult set_min_active(uint32_t min_active);
  EvResult set_event_mask(uint8_t mask);
  // Also online. Puts `fresh` in place of the first entry that is `old` (not populated: the first free one).
  EvResult replace(const EvValue& old, const EvValue& fresh);
  // DENIED or GOOD; the first copy or all of them.
  EvResult set_ev_state(const EvValue& ev, PathState state, bool all_copies);
  // INIT -> OFFLINE -> ONLINE and back the same way. `port_mask`: bit N = port N (1-based). `seed` chooses
  // which EVs are generated where there are more than needed.
  EvResult set_state(ProfileState state, uint32_t port_mask, uint64_t seed);

  EvProfileImage image() const;
  // An online one counts as a user of its format again.
  static EvProfile restore(const EvProfileImage& image, EvFormatProfile* format);
  EvFormatProfile* format() const { return format_; }
  std::span<const EvField> fields() const { return fields_; }
  // EVs that are not denied.
  uint32_t allowed() const;

  void add_user() { ++users_; }  // a queue pair
  void remove_user() { --users_; }

  // The paths, in the order of values(); entry i of the list is EV i. Empty for AUTO in SRv6 mode: there the
  // template of the destination decides (Srv6Template::entries).
  std::vector<EvEntry> entries() const;

 private:
  EvResult generate(uint32_t port_mask, uint64_t seed);

  ProfileState state_ = ProfileState::kInit;
  EvMode mode_ = EvMode::kAuto;
  bool has_mode_ = false;
  bool has_min_active_ = false;
  bool has_event_mask_ = false;
  EvFormatProfile* format_ = nullptr;
  uint32_t wanted_count_ = 0;
  uint32_t min_active_ = 0;
  uint8_t event_mask_ = 0;
  std::vector<EvField> fields_;
  std::vector<EvValue> evs_;
  std::vector<PathState> states_;
  uint32_t users_ = 0;
};

// The entropy and the plane an EV means in a format. `index` names it within its port where the value itself
// is not carried in the UDP header (SRv6).
EvEntry to_entry(EvFormatMode mode, const EvValue& ev, uint32_t index);

}  // namespace mrc
