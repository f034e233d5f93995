// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/path/path_set.h"

#include <cassert>

namespace mrc {

// ------------------------------------------------------------------------------------------------ set-up

void PathSet::reset(const PathSetConfig& config, uint64_t seed) {
  // MRC 1.7 [P]: the path bits start somewhere else in every set: senders shall not be in step.
  const uint32_t each = config.paths_per_plane + config.backups_per_plane;
  random_ = seed;
  const auto start = static_cast<uint32_t>(random());
  std::vector<EvEntry> entries;
  entries.reserve(size_t{config.planes} * each);
  for (uint32_t plane = 0; plane < config.planes; ++plane)
    for (uint32_t i = 0; i < each; ++i)
      entries.push_back({.entropy = make_entropy(static_cast<Plane>(plane), i + start),
                         .plane = static_cast<Plane>(plane)});
  reset(config, entries, seed);
}

void PathSet::reset(const PathSetConfig& config, std::span<const EvEntry> entries, uint64_t seed) {
  assert(config.planes <= kPlanesMax);
  *this = PathSet{};
  config_ = config;
  random_ = seed;
  local_ports_ = remote_ports_ = static_cast<PlaneMask>((uint64_t{1} << config.planes) - 1);
  events_.resize(config.event_mask != 0 ? config.events_max : 0);
  paths_.reserve(entries.size());
  share_ = config.paths_per_plane;
  for (uint32_t plane = 0; plane < config.planes; ++plane) {
    PlaneInfo& info = planes_[plane];
    info.first = static_cast<uint16_t>(paths_.size());
    for (size_t i = 0; i < entries.size(); ++i) {
      if (entries[i].plane != plane) continue;
      Path path;
      path.entropy = entries[i].entropy;
      path.plane = entries[i].plane;
      path.has_outer = entries[i].has_outer;
      path.outer_destination = entries[i].outer_destination;
      path.has_segment = entries[i].has_segment;
      path.segment = entries[i].segment;
      path.profile_index = static_cast<uint16_t>(i);
      if (entries[i].denied) path.state = PathState::kDenied;
      paths_.push_back(path);
    }
    info.count = static_cast<uint16_t>(paths_.size() - info.first);
    if (info.count > 0) share_ = std::min<uint32_t>(share_, info.count);
  }
  assert(paths_.size() < static_cast<uint16_t>(kNoPath));
  // A network may have fewer paths than were asked for: then the floor is lower too.
  const uint32_t slots = config.planes * share_;
  if (config.min_active == 0) config_.min_active = slots / 4;
  config_.min_active = std::clamp(config_.min_active, 1u, std::max(1u, slots));
  fill_slots();
  for (uint32_t plane = 0; plane < config.planes; ++plane) {
    plane_order_[plane] = static_cast<Plane>(plane);
    shuffle(static_cast<Plane>(plane));
  }
  shuffle_planes();
}

// --------------------------------------------------------------------------------------------------- ports

void PathSet::port_down(Plane plane) {
  const PlaneMask before = port_planes();
  local_ports_ &= ~(PlaneMask{1} << plane);
  refresh_ports(before, 0);
}

void PathSet::port_up(Plane plane, Nanoseconds now) {
  const PlaneMask before = port_planes();
  if (plane < config_.planes) local_ports_ |= PlaneMask{1} << plane;
  refresh_ports(before, now);
}

void PathSet::set_remote_ports(PlaneMask usable, Nanoseconds now) {
  const PlaneMask before = port_planes();
  remote_ports_ = usable;
  refresh_ports(before, now);
}

// MRC 4.6: a plane is used if both ends have it.
void PathSet::refresh_ports(PlaneMask before, Nanoseconds now) {
  for (uint32_t i = 0; i < config_.planes; ++i) {
    const auto plane = static_cast<Plane>(i);
    const PlaneMask bit = PlaneMask{1} << plane;
    PlaneInfo& info = planes_[plane];
    if (((before ^ port_planes()) & bit) == 0) continue;
    if ((before & bit) != 0) {
      active_ -= info.in_use;
      active_planes_ &= ~bit;
      info.working = kNoPath;
      continue;
    }
    // Back at once, those too that were given up when the link began to fail; no relapse is counted.
    active_ += info.in_use;
    if (info.in_use > 0) active_planes_ |= bit;
    info.silent_losses = 0;
    for (Path& path : paths_of(plane)) {
      path.good_since = now;
      path.unexplained = false;
      if (path.state == PathState::kAssumedBad) bring_back(path, now, false, &PathCounters::restored_port);
    }
  }
  keep_floor();
  refresh_next_probe();
}

// ---------------------------------------------------------------------------------------------- controller

size_t PathSet::deny(Entropy entropy) {
  size_t changed = 0;
  for (Path& path : paths_) {
    if (path.entropy != entropy || path.state == PathState::kDenied) continue;
    if (path.in_use()) count_in_use(path, -1);
    tally(&PathCounters::denied);
    if (path.state == PathState::kAssumedBad) tally(&PathCounters::denied_bad);
    path.state = PathState::kDenied;
    if (planes_[path.plane].working == id_of(path)) planes_[path.plane].working = kNoPath;
    ++changed;
    if (path.slot == Path::kNoSlot) continue;
    if (Path* substitute = backup(path.plane); substitute != nullptr) give_slot(path, *substitute);
  }
  if (changed == 0) return 0;
  keep_floor();
  refresh_next_probe();
  return changed;
}

size_t PathSet::allow(Entropy entropy, Nanoseconds now) {
  size_t changed = 0;
  for (Path& path : paths_) {
    if (path.entropy != entropy || path.state != PathState::kDenied) continue;
    bring_back(path, now, false, &PathCounters::allowed);
    ++changed;
  }
  return changed;
}

void PathSet::report(const Path& path) {
  const uint8_t bit = path.state == PathState::kAssumedBad ? kPathEventAssumedBad : kPathEventGood;
  if ((config_.event_mask & bit) == 0) return;
  if (event_count_ == events_.size()) {
    ++events_dropped_;
    ++dropped_since_;
    return;
  }
  events_[(event_first_ + event_count_++) % events_.size()] = {id_of(path), path.state, dropped_since_};
  dropped_since_ = 0;
}

bool PathSet::take_event(PathEvent* event) {
  if (event_count_ == 0) return false;
  *event = events_[event_first_];
  event_first_ = (event_first_ + 1) % events_.size();
  --event_count_;
  return true;
}

}  // namespace mrc
