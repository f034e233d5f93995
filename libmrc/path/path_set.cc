// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/path/path_set.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <new>
#include <utility>

namespace mrc {

namespace {
// MRC 4.6 [P]: whoever has a port that is down says so ten times as often.
constexpr Nanoseconds kPortNewsLife = kSecond;
// A plane whose peer's port may be up again is asked at least so often: several times before the news expire,
// and seldom enough to be nothing for a host whose ports are down.
constexpr Nanoseconds kPortAskMax = 64 * kMillisecond;
}  // namespace

// ------------------------------------------------------------------------------------------------ set-up

void PathSet::reset(const PathSetConfig& config, uint64_t seed) {
  // MRC 1.7 [P]: the path bits start somewhere else in every set: senders shall not be in step.
  const uint32_t each = config.paths_per_plane + config.backups_per_plane;
  const auto start = static_cast<uint32_t>(PathRandom(seed)());
  std::vector<EvEntry> entries;
  entries.reserve(size_t{config.planes} * each);
  for (uint32_t plane = 0; plane < config.planes; ++plane)
    for (uint32_t i = 0; i < each; ++i)
      entries.push_back({.entropy = make_entropy(static_cast<Plane>(plane), i + start),
                         .plane = static_cast<Plane>(plane)});
  reset(config, std::move(entries), seed);
}

void PathSet::reset(const PathSetConfig& config, const EvEntries& ways, uint64_t seed) {
  // Not by a packet: ports come from the settings.
  assert(config.planes <= kPlanesMax);
  const std::vector<EvEntry>& entries = *ways;
  *this = PathSet{};
  config_ = config;
  mark_level_max_ = static_cast<uint8_t>(std::bit_width(config.mark_skip_turns_max));
  trim_level_ =
      static_cast<uint8_t>(std::bit_width(std::min(config.trim_skip_turns, config.mark_skip_turns_max)) - 1);
  random_ = PathRandom(seed);
  local_ports_ = remote_ports_ = static_cast<PlaneMask>((uint64_t{1} << config.planes) - 1);
  events_.resize(config.event_mask != 0 ? kEventsMax : 0);
  planes_.resize(config.planes);
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
      path.has_segment = entries[i].has_segment;
      path.profile_index = static_cast<uint16_t>(i);
      if (path.has_outer) ways_ = ways;
      if (entries[i].denied) path.state = PathState::kDenied;
      paths_.push_back(path);
    }
    info.count = static_cast<uint16_t>(paths_.size() - info.first);
    if (info.count > 0) share_ = std::min<uint32_t>(share_, info.count);
  }
  // Not by a packet: paths come from the settings.
  assert(paths_.size() < static_cast<uint16_t>(kNoPath));
  // A network may have fewer paths than were asked for: then the floor is lower too.
  const uint32_t slots = config.planes * share_;
  if (config.min_active == 0) config_.min_active = slots / kFloorPart;
  config_.min_active = std::clamp(config_.min_active, 1u, std::max(1u, slots));
  fill_slots();
  even_order_.resize(std::bit_ceil(share_));
}

PathSet& PathSet::none() {
  static PathSet empty;
  return empty;
}

bool PathSet::know_troubles() noexcept {
  if (!troubles_.empty()) return true;
  try {
    troubles_.resize(paths_.size());
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
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
  for (uint32_t plane = 0; plane < config_.planes; ++plane) {
    const PlaneMask bit = PlaneMask{1} << plane;
    PlaneInfo& info = planes_[plane];
    if ((usable & bit) != 0) {
      remote_ports_ |= bit;
    } else if ((remote_ports_ & bit) == 0) {
      info.news_until = now + kPortNewsLife;
    } else if (now >= info.trusted_until) {
      remote_ports_ &= ~bit;
      info.news_at = info.ask_at = now;
      info.news_until = now + kPortNewsLife;
      info.ask_backoff = probe_interval();
    }
  }
  refresh_ports(before, now);
}

bool PathSet::plane_answered(Plane plane, Nanoseconds sent_at, Nanoseconds now) {
  if (plane >= planes_.size() || (remote_ports_ >> plane & 1) != 0) return false;
  PlaneInfo& info = planes_[plane];
  if (sent_at <= info.news_at) return false;
  const PlaneMask before = port_planes();
  remote_ports_ |= PlaneMask{1} << plane;
  info.trusted_until = now + kPortNewsLife;
  refresh_ports(before, now);
  news_ |= kNewsOfPlanes;
  return true;
}

void PathSet::expire_port_news(Nanoseconds now) {
  const PlaneMask before = port_planes();
  for (uint32_t plane = 0; plane < config_.planes; ++plane)
    if (now >= planes_[plane].news_until) remote_ports_ |= PlaneMask{1} << plane;
  if (port_planes() == before) return;
  refresh_ports(before, now);
  news_ |= kNewsOfPlanes;
}

// A path of a plane whose peer's port is said to be down, to ask whether that is so.
PathId PathSet::take_port_question(Nanoseconds now) {
  for (PlaneMask doubted = local_ports_ & ~remote_ports_; doubted != 0; doubted &= doubted - 1) {
    PlaneInfo& info = planes_[__builtin_ctz(doubted)];
    if (now < info.ask_at) continue;
    info.ask_at = now + info.ask_backoff;
    info.ask_backoff = std::min(2 * info.ask_backoff, kPortAskMax);
    const size_t start = info.count > 0 ? random_() % info.count : 0;
    for (size_t i = 0; i < info.count; ++i) {
      const PathId id = PathId(info.first + (start + i) % info.count);
      if (at(id).state != PathState::kDenied) return id;
    }
  }
  return kNoPath;
}

void PathSet::enter(PathTotals& totals) {
  if (paths_.empty() || entered_++ > 0) return;
  totals_ = &totals;
  totals_->active += static_cast<uint32_t>(active_);
  totals_->all += static_cast<uint32_t>(places());
}

void PathSet::leave() {
  if (paths_.empty() || --entered_ > 0) return;
  totals_->active -= static_cast<uint32_t>(active_);
  totals_->all -= static_cast<uint32_t>(places());
  totals_ = nullptr;
}

// MRC 4.6: a plane is used if both ends have it.
void PathSet::refresh_ports(PlaneMask before, Nanoseconds now) {
  for (uint32_t i = 0; i < config_.planes; ++i) {
    const auto plane = static_cast<Plane>(i);
    const PlaneMask bit = PlaneMask{1} << plane;
    PlaneInfo& info = planes_[plane];
    if ((remote_ports_ & bit) != 0) info.news_until = info.ask_at = kNever;
    if (((before ^ port_planes()) & bit) == 0) continue;
    if ((before & bit) != 0) {
      change_active(-info.in_use);
      active_planes_ &= ~bit;
      info.working = kNoPath;
      continue;
    }
    // Back at once, those too that were given up when the link began to fail; no relapse is counted.
    change_active(info.in_use);
    if (info.in_use > 0) active_planes_ |= bit;
    info.silent_losses = 0;
    info.good_since = now;
    for (Path& path : paths_of(plane)) {
      path.unexplained = path.late = false;
      if (path.state == PathState::kAssumedBad) bring_back(path, now, false, &PathCounters::restored_port);
    }
  }
  keep_floor();
  refresh_next_probe();
}

// ---------------------------------------------------------------------------------------------- controller

void PathSet::deny(Path& path) {
  if (path.in_use()) count_in_use(path, -1);
  tally(&PathCounters::denied);
  if (path.state == PathState::kAssumedBad) tally(&PathCounters::denied_bad);
  path.state = PathState::kDenied;
  if (planes_[path.plane].working == id_of(path)) planes_[path.plane].working = kNoPath;
  if (path.slot == Path::kNoSlot) return;
  if (Path* substitute = backup(path.plane); substitute != nullptr) give_slot(path, *substitute);
}

namespace {
bool same_way(const EvEntry& a, const EvEntry& b) {
  return a.outer_destination == b.outer_destination && a.segment == b.segment;
}
}  // namespace

// A path keeps its plane and its form: what the profile changes of these comes with the next connection.
bool PathSet::follows(const Path& path, const std::vector<EvEntry>& entries) {
  if (path.profile_index >= entries.size()) return false;
  const EvEntry& entry = entries[path.profile_index];
  return entry.plane == path.plane && entry.has_outer == path.has_outer &&
         entry.has_segment == path.has_segment;
}

// Those that do not follow keep their old way.
EvEntries PathSet::ways_after(const EvEntries& wanted) const {
  if (ways_ == nullptr) return nullptr;
  std::shared_ptr<std::vector<EvEntry>> mixed;
  for (const Path& path : paths_) {
    if (follows(path, *wanted)) continue;
    if (mixed == nullptr) mixed = std::make_shared<std::vector<EvEntry>>(*wanted);
    if (mixed->size() <= path.profile_index) mixed->resize(path.profile_index + size_t{1});
    (*mixed)[path.profile_index] = way(path);
  }
  return mixed != nullptr ? mixed : wanted;
}

bool PathSet::can_follow(const std::vector<EvEntry>& entries) const {
  const auto has_plane = [this](const EvEntry& entry) { return entry.plane < config_.planes; };
  return static_cast<size_t>(std::count_if(entries.begin(), entries.end(), has_plane)) == paths_.size() &&
         std::all_of(paths_.begin(), paths_.end(), [&](const Path& path) { return follows(path, entries); });
}

size_t PathSet::follow(const EvEntries& wanted, Nanoseconds now) {
  const EvEntries before = std::exchange(ways_, ways_after(wanted));
  size_t changed = 0;
  for (Path& path : paths_) {
    if (!follows(path, *wanted)) continue;
    const EvEntry& entry = (*wanted)[path.profile_index];
    const bool moved = path.has_outer && !same_way((*before)[path.profile_index], entry);
    if (path.entropy != entry.entropy || moved) {
      path.entropy = entry.entropy;
      path.probe_successes_needed = Path::kProbeSuccesses;
      path.unexplained = false;
      path.lateness = 0;
      if (path.state == PathState::kAssumedBad) bring_back(path, now, false, &PathCounters::allowed);
      if (know_troubles()) trouble(path).good_since = now;
      ++changed;
    }
    if (entry.denied == (path.state == PathState::kDenied)) continue;
    entry.denied ? deny(path) : bring_back(path, now, false, &PathCounters::allowed);
    ++changed;
  }
  if (changed == 0) return 0;
  keep_floor();
  refresh_next_probe();
  return changed;
}

void PathSet::set_event_mask(uint8_t mask) {
  config_.event_mask = mask;
  if (mask != 0 && events_.empty()) events_.resize(kEventsMax);
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
  news_ |= kNewsOfEvents;
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
