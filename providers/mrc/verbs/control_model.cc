// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/verbs/control_model.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>

namespace mrc::provider {
namespace {

static_assert(sizeof(mrc_ctl_cc_nscc_cfg) <= sizeof ControlCongestion{}.config);
static_assert(kEvCountMax == kControlEvsEach && kEvFieldsMax == kControlFields &&
              kEvBytes == sizeof ControlEv{}.bytes);

// The page is the user's own, but a number in it is no reason to read behind it.
std::optional<ProfileState> state_in_page(uint8_t state) {
  if (state > static_cast<uint8_t>(ProfileState::kOnline)) return std::nullopt;
  return static_cast<ProfileState>(state);
}

bool is_mode(uint8_t mode) {
  return mode == 1 || mode == 2 || mode == 4;
}

void load_vendor(const uint8_t* from, VendorConfig* to) {
  std::memcpy(to->data(), from, to->size());
}

std::optional<EvProfileImage> image_of(const ControlPaths& from, const ControlState& state) {
  const auto at = state_in_page(from.state);
  if (!at || !is_mode(from.mode) || from.field_count > kControlFields || from.ev_count > kControlEvsEach ||
      from.first_ev > state.ev_count || from.ev_count > state.ev_count - from.first_ev ||
      from.wanted > kControlEvsEach)
    return std::nullopt;
  EvProfileImage image;
  image.state = *at;
  image.mode = static_cast<EvMode>(from.mode);
  image.has_mode = from.has_mode != 0;
  image.has_min_active = from.has_min_active != 0;
  image.has_event_mask = from.has_event_mask != 0;
  image.wanted_count = from.wanted;
  image.min_active = from.min_active;
  image.event_mask = from.event_mask;
  for (uint32_t i = 0; i < from.field_count; ++i) {
    const uint32_t* field = from.fields[i];
    image.fields.push_back({field[0], field[1], field[2], field[3], field[4]});
  }
  for (const ControlEv& ev : std::span(state.evs + from.first_ev, from.ev_count)) {
    EvValue value;
    std::memcpy(value.bytes.data(), ev.bytes, sizeof ev.bytes);
    value.port = ev.port;
    // Online, every EV has a port, unless the device chooses them itself.
    if (ev.port > kPlanesMax) return std::nullopt;
    image.evs.push_back(value);
    image.states.push_back(ev.denied != 0 ? PathState::kDenied : PathState::kGood);
  }
  return image;
}

void store_paths(uint64_t id, const PathsProfile& from, ControlState* state) {
  ControlPaths& to = state->paths[from.place];
  const EvProfileImage image = from.profile.image();
  to = {};
  to.used = 1;
  to.id = id;
  to.format = from.format;
  to.has_format = from.profile.format() != nullptr ? 1 : 0;
  to.state = static_cast<uint8_t>(image.state);
  to.mode = static_cast<uint8_t>(image.mode);
  to.has_mode = image.has_mode ? 1 : 0;
  to.has_min_active = image.has_min_active ? 1 : 0;
  to.has_event_mask = image.has_event_mask ? 1 : 0;
  to.event_mask = image.event_mask;
  to.wanted = image.wanted_count;
  to.min_active = image.min_active;
  for (const EvField& field : image.fields) {
    const uint32_t values[] = {field.width, field.init_val, field.min_val, field.max_val, field.mask};
    std::memcpy(to.fields[to.field_count++], values, sizeof values);
  }
  to.first_ev = state->ev_count;
  to.ev_count = static_cast<uint32_t>(image.evs.size());
  for (size_t i = 0; i < image.evs.size(); ++i) {
    ControlEv& ev = state->evs[state->ev_count++];
    std::memcpy(ev.bytes, image.evs[i].bytes.data(), sizeof ev.bytes);
    ev.port = image.evs[i].port;
    ev.denied = image.states[i] == PathState::kDenied ? 1 : 0;
  }
  std::memcpy(to.vendor, from.vendor.data(), sizeof to.vendor);
}

template <typename Profiles>
typename Profiles::mapped_type* placed(Profiles& profiles, uint64_t id) {
  if (const auto found = profiles.find(id); found != profiles.end()) return &found->second;
  for (uint32_t place = 0; place < kControlProfiles; ++place) {
    const auto taken = [place](const auto& entry) { return entry.second.place == place; };
    if (std::any_of(profiles.begin(), profiles.end(), taken)) continue;
    auto& made = profiles[id];
    made.place = place;
    return &made;
  }
  return nullptr;
}

}  // namespace

void ControlModel::load(const ControlState& state) {
  ports_disabled = state.ports_disabled;
  for (uint32_t i = 0; i < std::min(state.denied_link_count, kControlLinks); ++i)
    denied_links.push_back({state.denied_links[i].one, state.denied_links[i].other});
  for (const ControlFormat& from : state.formats) {
    const auto at = state_in_page(from.state);
    if (from.used == 0 || !at || !is_mode(from.mode) || from.field_count > kControlFields) continue;
    FormatProfile& to = formats[from.id];
    to.profile = EvFormatProfile::restore(*at, from.has_mode != 0, static_cast<EvFormatMode>(from.mode),
                                          {from.widths, from.field_count});
    load_vendor(from.vendor, &to.vendor);
  }
  for (uint32_t place = 0; place < kControlProfiles; ++place) {
    const ControlPaths& from = state.paths[place];
    if (from.used == 0) continue;
    const auto image = image_of(from, state);
    const auto format = formats.find(from.format);
    if (!image || (from.has_format != 0 && format == formats.end())) continue;
    PathsProfile& to = paths[from.id];
    to.place = place;
    to.format = from.format;
    to.profile = EvProfile::restore(*image, from.has_format != 0 ? &format->second.profile : nullptr);
    load_vendor(from.vendor, &to.vendor);
  }
  for (uint32_t place = 0; place < kControlProfiles; ++place) {
    const ControlCongestion& from = state.congestion[place];
    const auto at = state_in_page(from.state);
    if (from.used == 0 || !at) continue;
    CongestionProfile& to = congestion[from.id];
    to.place = place;
    to.state = *at;
    to.has_algorithm = from.has_algorithm != 0;
    to.nscc = from.algorithm != 0;
    if (from.has_config != 0) {
      to.config.emplace();
      std::memcpy(&*to.config, from.config, sizeof *to.config);
    }
    load_vendor(from.vendor, &to.vendor);
  }
}

int ControlModel::store(ControlState* state) const {
  if (evs() > kControlEvs) return E2BIG;
  if (formats.size() > kControlFormats || denied_links.size() > kControlLinks) return ENOMEM;
  state->ports_disabled = ports_disabled;
  state->denied_link_count = 0;
  for (const UsidLink& link : denied_links)
    state->denied_links[state->denied_link_count++] = {link.one, link.other};
  state->ev_count = 0;
  std::memset(state->formats, 0, sizeof state->formats);
  std::memset(state->paths, 0, sizeof state->paths);
  std::memset(state->congestion, 0, sizeof state->congestion);
  ControlFormat* format = state->formats;
  for (const auto& [id, from] : formats) {
    format->used = 1;
    format->id = id;
    format->state = static_cast<uint8_t>(from.profile.state());
    format->mode = static_cast<uint8_t>(from.profile.mode());
    format->has_mode = from.profile.has_mode() ? 1 : 0;
    for (const uint8_t width : from.profile.widths()) format->widths[format->field_count++] = width;
    std::memcpy(format->vendor, from.vendor.data(), sizeof format->vendor);
    ++format;
  }
  for (const auto& [id, from] : paths) store_paths(id, from, state);
  for (const auto& [id, from] : congestion) {
    ControlCongestion& to = state->congestion[from.place];
    to.used = 1;
    to.id = id;
    to.state = static_cast<uint8_t>(from.state);
    to.has_algorithm = from.has_algorithm ? 1 : 0;
    to.algorithm = from.nscc ? 1 : 0;
    to.has_config = from.config ? 1 : 0;
    if (from.config) std::memcpy(to.config, &*from.config, sizeof *from.config);
    std::memcpy(to.vendor, from.vendor.data(), sizeof to.vendor);
  }
  return 0;
}

void ControlModel::drop_empty() {
  const auto untold = [](const VendorConfig& vendor) { return vendor == VendorConfig{}; };
  std::erase_if(formats, [&](const auto& entry) {
    const EvFormatProfile& format = entry.second.profile;
    return format.state() == ProfileState::kInit && !format.has_mode() && untold(entry.second.vendor);
  });
  std::erase_if(paths, [&](const auto& entry) {
    const EvProfileImage image = entry.second.profile.image();
    return image.state == ProfileState::kInit && !image.has_mode &&
           entry.second.profile.format() == nullptr && image.wanted_count == 0 && !image.has_event_mask &&
           untold(entry.second.vendor);
  });
  std::erase_if(congestion, [&](const auto& entry) {
    const CongestionProfile& profile = entry.second;
    return profile.state == ProfileState::kInit && !profile.has_algorithm && untold(profile.vendor);
  });
}

uint32_t ControlModel::evs() const {
  uint32_t count = 0;
  for (const auto& [id, profile] : paths) count += profile.profile.count();
  return count;
}

FormatProfile* ControlModel::format(uint64_t id) {
  const auto found = formats.find(id);
  if (found != formats.end()) return &found->second;
  return formats.size() < kControlFormats ? &formats[id] : nullptr;
}

PathsProfile* ControlModel::path_profile(uint64_t id) {
  return placed(paths, id);
}

CongestionProfile* ControlModel::congestion_profile(uint64_t id) {
  return placed(congestion, id);
}

}  // namespace mrc::provider
