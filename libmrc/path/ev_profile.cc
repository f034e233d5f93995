// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/path/ev_profile.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "libmrc/wire/bytes.h"
#include "libmrc/wire/frame.h"

namespace mrc {

namespace {
constexpr uint64_t kChoicesMax = uint64_t{1} << 63;

bool fits(uint32_t value, uint32_t bits) {
  return bits >= 32 || value >> bits == 0;
}

void set_bit(std::array<uint8_t, kEvBytes>& bytes, uint32_t at) {
  bytes[at / 8] = static_cast<uint8_t>(bytes[at / 8] | 0x80 >> at % 8);
}

bool one_state_on(ProfileState from, ProfileState to) {
  return static_cast<int>(to) == static_cast<int>(from) + 1;
}

bool one_state_back(ProfileState from, ProfileState to) {
  return one_state_on(to, from);
}
}  // namespace

// MRC 4.7: 16, 32, and 128 or with a segment 256.
uint32_t ev_format_bits(EvFormatMode mode) {
  switch (mode) {
    case EvFormatMode::kUdp:
      return 16;
    case EvFormatMode::kStev:
      return 32;
    case EvFormatMode::kSrv6:
      break;
  }
  return 256;
}

// ------------------------------------------------------------------------------------------------- format

EvResult EvFormatProfile::set_mode(EvFormatMode mode) {
  if (state_ != ProfileState::kInit) return EvResult::kInvalid;
  if (mode != EvFormatMode::kStev && mode != EvFormatMode::kSrv6 && mode != EvFormatMode::kUdp)
    return EvResult::kInvalid;
  mode_ = mode;
  has_mode_ = true;
  return EvResult::kOk;
}

EvResult EvFormatProfile::set_fields(std::span<const uint8_t> widths) {
  // Also in INIT, where the texts beside OCP's headers set them; but the mode says how many bits there are.
  if (state_ == ProfileState::kOnline || !has_mode_ || widths.empty()) return EvResult::kInvalid;
  if (widths.size() > kEvFieldsMax) return EvResult::kTooBig;
  if (std::find(widths.begin(), widths.end(), 0) != widths.end()) return EvResult::kInvalid;
  if (std::accumulate(widths.begin(), widths.end(), 0u) > bits()) return EvResult::kInvalid;
  widths_.assign(widths.begin(), widths.end());
  return EvResult::kOk;
}

EvResult EvFormatProfile::set_state(ProfileState state) {
  if (state == state_) return EvResult::kOk;
  if (one_state_on(state_, state)) {
    if (state == ProfileState::kOffline && !has_mode_) return EvResult::kInvalid;
    if (state == ProfileState::kOnline && widths_.empty()) return EvResult::kInvalid;
    state_ = state;
    return EvResult::kOk;
  }
  if (!one_state_back(state_, state)) return EvResult::kInvalid;
  if (users_ > 0) return EvResult::kBusy;
  state_ = state;
  if (state == ProfileState::kInit) {
    has_mode_ = false;
    widths_.clear();
  }
  return EvResult::kOk;
}

// ---------------------------------------------------------------------------------------------- expansion

EvResult check_fields(const EvFormatProfile& format, std::span<const EvField> fields) {
  const std::vector<uint8_t>& widths = format.widths();
  if (fields.empty() || fields.size() > widths.size()) return EvResult::kInvalid;
  uint64_t bits = 0;
  for (const EvField& field : fields) {
    bits += field.width;
    if (field.width == 0 || !fits(field.init_val, field.width) || !fits(field.mask, field.width))
      return EvResult::kInvalid;
    if (field.min_val > field.max_val ||
        !fits(field.max_val, static_cast<uint32_t>(std::popcount(field.mask))))
      return EvResult::kInvalid;
  }
  return bits <= std::accumulate(widths.begin(), widths.end(), 0u) ? EvResult::kOk : EvResult::kInvalid;
}

std::array<uint8_t, kEvBytes> expand_ev(std::span<const EvField> fields, std::span<const uint32_t> choices) {
  std::array<uint8_t, kEvBytes> bytes{};
  uint32_t at = 0;  // bits written
  for (size_t i = 0; i < fields.size(); ++i) {
    const EvField& field = fields[i];
    int next = std::popcount(field.mask);  // the bit of the choice that is not used yet
    for (uint32_t bit = field.width; bit-- > 0; ++at) {
      if (bit >= 32) continue;  // init_val is widened with zeros
      const bool chosen = (field.mask >> bit & 1) != 0;
      const bool set = chosen ? (choices[i] >> --next & 1) != 0 : (field.init_val >> bit & 1) != 0;
      if (set) set_bit(bytes, at);
    }
  }
  return bytes;
}

uint64_t count_choices(std::span<const EvField> fields) {
  uint64_t count = 1;
  for (const EvField& field : fields) {
    const uint64_t range = uint64_t{field.max_val} - field.min_val + 1;
    if (count > kChoicesMax / range) return kChoicesMax;
    count *= range;
  }
  return count;
}

EvEntry to_entry(EvFormatMode mode, const EvValue& ev, uint32_t index) {
  EvEntry entry;
  entry.plane = static_cast<Plane>(ev.port - 1);
  switch (mode) {
    case EvFormatMode::kUdp:
      entry.entropy = join_entropy({load_be<uint16_t>(ev.bytes.data()), 0});
      break;
    case EvFormatMode::kStev:
      // MRC 1.7 [P]: the 32 bits are source port, then flow label; the most significant hop first.
      entry.entropy =
          join_entropy({load_be<uint16_t>(ev.bytes.data()), load_be<uint16_t>(ev.bytes.data() + 2)});
      break;
    case EvFormatMode::kSrv6:
      // MRC 1.7: the path is in the outer destination; the entropy is only there to be echoed.
      entry.entropy = make_entropy(entry.plane, index);
      entry.has_outer = true;
      std::memcpy(entry.outer_destination.bytes.data(), ev.bytes.data(), 16);
      std::memcpy(entry.segment.bytes.data(), ev.bytes.data() + 16, 16);
      entry.has_segment = entry.segment != IpAddress{};
      break;
  }
  return entry;
}

// ------------------------------------------------------------------------------------------------ profile

EvResult EvProfile::set_mode(EvMode mode) {
  if (state_ != ProfileState::kInit) return EvResult::kInvalid;
  if (mode != EvMode::kAuto && mode != EvMode::kExplicit && mode != EvMode::kGenerated)
    return EvResult::kInvalid;
  mode_ = mode;
  has_mode_ = true;
  return EvResult::kOk;
}

EvResult EvProfile::set_format(EvFormatProfile* format) {
  if (state_ != ProfileState::kInit || format == nullptr) return EvResult::kInvalid;
  if (format->state() != ProfileState::kOnline) return EvResult::kInvalid;
  format_ = format;
  return EvResult::kOk;
}

EvResult EvProfile::set_count(uint32_t count) {
  if (state_ != ProfileState::kInit || count == 0) return EvResult::kInvalid;
  if (count > kEvCountMax) return EvResult::kTooBig;
  wanted_count_ = count;
  return EvResult::kOk;
}

EvResult EvProfile::set_fields(std::span<const EvField> fields) {
  if (state_ != ProfileState::kInit || format_ == nullptr) return EvResult::kInvalid;
  const EvResult result = check_fields(*format_, fields);
  if (result == EvResult::kOk) fields_.assign(fields.begin(), fields.end());
  return result;
}

EvResult EvProfile::change_fields(std::span<const EvField> fields, uint32_t port_mask, uint64_t seed) {
  if (state_ == ProfileState::kInit) return set_fields(fields);
  if (mode_ != EvMode::kGenerated) return EvResult::kInvalid;
  if (const EvResult result = check_fields(*format_, fields); result != EvResult::kOk) return result;
  fields_.assign(fields.begin(), fields.end());
  states_.assign(wanted_count_, PathState::kGood);
  return generate(port_mask, seed);
}

EvResult EvProfile::set_min_active(uint32_t min_active) {
  // Also in INIT, as with the fields of a format.
  if (state_ == ProfileState::kOnline || min_active > wanted_count_) return EvResult::kInvalid;
  min_active_ = min_active;
  has_min_active_ = true;
  return EvResult::kOk;
}

EvResult EvProfile::set_event_mask(uint8_t mask) {
  if ((mask & ~(kPathEventGood | kPathEventAssumedBad)) != 0) return EvResult::kInvalid;
  event_mask_ = mask;
  has_event_mask_ = true;
  return EvResult::kOk;
}

EvResult EvProfile::replace(const EvValue& old, const EvValue& fresh) {
  if (state_ == ProfileState::kInit || mode_ != EvMode::kExplicit) return EvResult::kInvalid;
  if (fresh.port == 0 || fresh.port > kPlanesMax) return EvResult::kInvalid;
  // Nothing may stand where the format has no bits.
  const size_t used_bytes = format_->bits() / 8;
  if (std::any_of(fresh.bytes.begin() + static_cast<ptrdiff_t>(used_bytes), fresh.bytes.end(),
                  [](uint8_t byte) { return byte != 0; }))
    return EvResult::kInvalid;
  const auto found = std::find(evs_.begin(), evs_.end(), old);
  if (found == evs_.end()) return EvResult::kNotFound;
  *found = fresh;
  states_[static_cast<size_t>(found - evs_.begin())] = PathState::kGood;
  return EvResult::kOk;
}

EvResult EvProfile::set_ev_state(const EvValue& ev, PathState state, bool all_copies) {
  if (state_ == ProfileState::kInit) return EvResult::kInvalid;
  if (state != PathState::kGood && state != PathState::kDenied) return EvResult::kInvalid;
  bool found = false;
  for (size_t i = 0; i < evs_.size() && (all_copies || !found); ++i) {
    if (evs_[i] != ev) continue;
    states_[i] = state;
    found = true;
  }
  return found ? EvResult::kOk : EvResult::kNotFound;
}

EvResult EvProfile::set_state(ProfileState state, uint32_t port_mask, uint64_t seed) {
  if (state == state_) return EvResult::kOk;
  if (one_state_back(state_, state)) {
    if (users_ > 0) return EvResult::kBusy;
    if (state == ProfileState::kOffline) {
      format_->remove_user();
      state_ = state;
    } else {
      *this = EvProfile{};
    }
    return EvResult::kOk;
  }
  if (!one_state_on(state_, state)) return EvResult::kInvalid;
  EvResult result = EvResult::kOk;
  if (state == ProfileState::kOffline) {
    if (!has_mode_ || format_ == nullptr || wanted_count_ == 0) return EvResult::kInvalid;
    if (mode_ == EvMode::kGenerated && fields_.empty()) return EvResult::kInvalid;
    evs_.assign(wanted_count_, EvValue{});
    states_.assign(wanted_count_, PathState::kGood);
    result = generate(port_mask, seed);
  } else {
    if (!has_min_active_ || !has_event_mask_ || format_->state() != ProfileState::kOnline)
      return EvResult::kInvalid;
    const bool srv6 = format_->mode() == EvFormatMode::kSrv6;
    const bool template_decides = mode_ == EvMode::kAuto && srv6;
    // The EVs of a port must differ in the entropy that is echoed.
    std::array<uint32_t, kPlanesMax + 1> count{};
    for (const EvValue& ev : evs_) {
      if (template_decides) break;
      if (!ev.populated() || (port_mask >> ev.port & 1) == 0) return EvResult::kInvalid;
      if (srv6 && ++count[ev.port] > kUplinksMax) return EvResult::kTooBig;
    }
    format_->add_user();
  }
  if (result == EvResult::kOk) state_ = state;
  return result;
}

// MRC 4.1, 4.7: the same number on every port, spread evenly over what the fields allow.
EvResult EvProfile::generate(uint32_t port_mask, uint64_t seed) {
  if (mode_ == EvMode::kExplicit) return EvResult::kOk;
  if (mode_ == EvMode::kAuto && format_->mode() == EvFormatMode::kSrv6) return EvResult::kOk;
  port_mask &= (1u << (kPlanesMax + 1)) - 2;  // ports count from 1
  const auto ports = static_cast<uint32_t>(std::popcount(port_mask));
  if (ports == 0 || wanted_count_ % ports != 0) return EvResult::kInvalid;
  const uint32_t each = wanted_count_ / ports;
  const uint64_t choices = mode_ == EvMode::kAuto ? kUplinksMax : count_choices(fields_);
  if (each > choices) return EvResult::kTooBig;
  // A stride near the golden section that has no factor in common with the number of choices.
  uint64_t stride = std::max<uint64_t>(1, choices / 1000 * 618 + choices % 1000 * 618 / 1000);
  while (std::gcd(stride, choices) != 1) ++stride;

  std::vector<uint32_t> choice(fields_.size());
  size_t at = 0;
  for (uint8_t port = 1; port <= kPlanesMax; ++port) {
    if ((port_mask >> port & 1) == 0) continue;
    uint64_t number = seed % choices;
    for (uint32_t i = 0; i < each; ++i, ++at) {
      EvValue& ev = evs_[at];
      ev.port = port;
      if (mode_ == EvMode::kAuto) {
        const Entropy entropy = make_entropy(static_cast<Plane>(port - 1), static_cast<uint32_t>(number));
        store_be<uint16_t>(ev.bytes.data(), split_entropy(entropy).source_port);
      } else {
        uint64_t rest = number;
        for (size_t f = 0; f < fields_.size(); ++f) {
          const uint64_t range = uint64_t{fields_[f].max_val} - fields_[f].min_val + 1;
          choice[f] = fields_[f].min_val + static_cast<uint32_t>(rest % range);
          rest /= range;
        }
        ev.bytes = expand_ev(fields_, choice);
      }
      number += stride;  // both below 2^63
      if (number >= choices) number -= choices;
    }
  }
  return EvResult::kOk;
}

std::vector<EvEntry> EvProfile::entries() const {
  std::vector<EvEntry> all;
  if (state_ != ProfileState::kOnline) return all;
  if (mode_ == EvMode::kAuto && format_->mode() == EvFormatMode::kSrv6) return all;
  all.reserve(evs_.size());
  std::array<uint32_t, kPlanesMax> index{};
  for (size_t i = 0; i < evs_.size(); ++i) {
    EvEntry entry = to_entry(format_->mode(), evs_[i], index[evs_[i].port - 1]++);
    entry.denied = states_[i] == PathState::kDenied;
    all.push_back(entry);
  }
  return all;
}

// --------------------------------------------------------------------------------------------------- images

EvFormatProfile EvFormatProfile::restore(ProfileState state, bool has_mode, EvFormatMode mode,
                                         std::span<const uint8_t> widths) {
  EvFormatProfile format;
  format.state_ = state;
  format.has_mode_ = has_mode;
  format.mode_ = mode;
  format.widths_.assign(widths.begin(), widths.end());
  return format;
}

EvProfileImage EvProfile::image() const {
  return {state_,          has_mode_ ? mode_ : EvMode::kAuto,
          has_mode_,       has_min_active_,
          has_event_mask_, wanted_count_,
          min_active_,     event_mask_,
          fields_,         evs_,
          states_};
}

EvProfile EvProfile::restore(const EvProfileImage& image, EvFormatProfile* format) {
  EvProfile profile;
  profile.state_ = image.state;
  profile.mode_ = image.mode;
  profile.has_mode_ = image.has_mode;
  profile.has_min_active_ = image.has_min_active;
  profile.has_event_mask_ = image.has_event_mask;
  profile.wanted_count_ = image.wanted_count;
  profile.min_active_ = image.min_active;
  profile.event_mask_ = image.event_mask;
  profile.fields_ = image.fields;
  profile.evs_ = image.evs;
  profile.states_ = image.states;
  profile.format_ = format;
  if (format != nullptr && image.state == ProfileState::kOnline) format->add_user();
  return profile;
}

uint32_t EvProfile::allowed() const {
  return static_cast<uint32_t>(std::count(states_.begin(), states_.end(), PathState::kGood));
}

}  // namespace mrc
