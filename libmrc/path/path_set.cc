// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/path/path_set.h"

#include <algorithm>

namespace mrc {

uint64_t PathSet::random() {
  // splitmix64: every seed, also 0 or 1, gives a sequence of its own.
  uint64_t z = (random_ += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

void PathSet::reset(const PathSetConfig& config, uint64_t seed) {
  config_ = config;
  random_ = seed;
  cursor_ = 0;
  next_probe_ = kNever;
  const size_t count = static_cast<size_t>(config.planes) * config.paths_per_plane;
  paths_.assign(count, Path{});
  order_.resize(count);
  active_ = count;
  active_in_plane_.assign(config.planes, config.paths_per_plane);
  active_planes_ = static_cast<PlaneMask>((uint64_t{1} << config.planes) - 1);
  const auto start = static_cast<uint32_t>(random());
  for (size_t i = 0; i < count; ++i) {
    Path& path = paths_[i];
    path.plane = static_cast<Plane>(i / config.paths_per_plane);
    // MRC 1.7 [P]: within the dynamic port range, since over IPv4 only the source port carries the EV: 4 bits
    // of plane, 10 of path. The path bits start somewhere else in every set: senders shall not be in step.
    const auto index = static_cast<uint32_t>(i % config.paths_per_plane);
    path.entropy = Entropy{0xC000u | static_cast<uint32_t>(path.plane) << 10 | ((index + start) & 0x3FF)};
  }
  shuffle();
}

void PathSet::shuffle() {
  const size_t planes = config_.planes;
  const size_t rounds = config_.paths_per_plane;
  for (size_t plane = 0; plane < planes; ++plane) {
    for (size_t i = 0; i < rounds; ++i) order_[i * planes + plane] = PathId(plane * rounds + i);
    for (size_t i = rounds; i > 1; --i)
      std::swap(order_[(i - 1) * planes + plane], order_[(random() % i) * planes + plane]);
  }
  for (size_t round = 0; round < rounds; ++round)
    for (size_t i = planes; i > 1; --i)
      std::swap(order_[round * planes + i - 1], order_[round * planes + random() % i]);
}

PathId PathSet::select(PlaneMask usable) {
  if ((usable & active_planes_) == 0) return kNoPath;
  bool forgiven = false;
  PathId skipped = kNoPath;
  for (size_t step = 0; step < order_.size(); ++step) {
    const PathId id = order_[cursor_];
    if (++cursor_ == order_.size()) {
      cursor_ = 0;
      shuffle();
    }
    Path& candidate = path(id);
    if ((usable >> candidate.plane & 1) == 0) continue;
    if (candidate.state == PathState::kGood) return id;
    if (candidate.state != PathState::kSkip) continue;
    skipped = id;
    if (!forgiven) {
      candidate.state = PathState::kGood;
      forgiven = true;
    }
  }
  return skipped;  // all that could carry it are marked: take one anyway
}

PathId PathSet::control_path(Plane plane) {
  const size_t first = static_cast<size_t>(plane) * config_.paths_per_plane;
  const size_t start = random() % config_.paths_per_plane;
  for (size_t i = 0; i < config_.paths_per_plane; ++i) {
    const size_t at = first + (start + i) % config_.paths_per_plane;
    if (paths_[at].state == PathState::kGood) return PathId(at);
  }
  return PathId(first + start);
}

PathId PathSet::find(Entropy entropy, Plane plane) const {
  const size_t first = static_cast<size_t>(plane) * config_.paths_per_plane;
  for (size_t i = first; i < first + config_.paths_per_plane && i < paths_.size(); ++i)
    if (paths_[i].entropy == entropy) return PathId(i);
  return kNoPath;
}

void PathSet::set_active(PathId id, bool active) {
  uint32_t& in_plane = active_in_plane_[path(id).plane];
  if (active) {
    ++active_;
    ++in_plane;
    active_planes_ |= PlaneMask{1} << path(id).plane;
  } else {
    --active_;
    if (--in_plane == 0) active_planes_ &= ~(PlaneMask{1} << path(id).plane);
  }
}

void PathSet::skip_once(PathId id) {
  // MRC 4.3 [P]: a mark on a path that already skips does not add another turn.
  if (path(id).state == PathState::kGood) path(id).state = PathState::kSkip;
}

bool PathSet::demote(PathId id, Nanoseconds now) {
  Path& bad = path(id);
  if (bad.state == PathState::kAssumedBad) {
    bad.probe_successes = 0;
    return false;
  }
  if (bad.state == PathState::kDenied) return false;
  if (active_ <= config_.min_active) {
    // MRC 4.2: never below the floor. The path that has been out longest takes its place instead.
    PathId oldest = kNoPath;
    for (size_t i = 0; i < paths_.size(); ++i)
      if (paths_[i].state == PathState::kAssumedBad &&
          (oldest == kNoPath || paths_[i].demoted_at < at(oldest).demoted_at))
        oldest = PathId(i);
    if (oldest == kNoPath) return false;
    restore(oldest);
  }
  bad.state = PathState::kAssumedBad;
  bad.demoted_at = now;
  bad.probe_successes = 0;
  bad.probe_backoff = config_.probe_interval;
  bad.probe_at = now + config_.probe_interval / 2 + random() % config_.probe_interval;
  set_active(id, false);
  if (bad.probe_at < next_probe_) next_probe_ = bad.probe_at;
  return true;
}

void PathSet::restore(PathId id) {
  Path& good = path(id);
  good.state = PathState::kGood;
  good.probe_at = kNever;
  // Flap damping: should it fail again, it has to prove more.
  good.probe_successes_needed =
      static_cast<uint8_t>(std::min<unsigned>(Path::kProbeSuccessesMax, 2u * good.probe_successes_needed));
  set_active(id, true);
  refresh_next_probe();
}

bool PathSet::probe_answered(PathId id, Nanoseconds now) {
  Path& probed = path(id);
  if (probed.state != PathState::kAssumedBad) return false;
  if (++probed.probe_successes < probed.probe_successes_needed) {
    probed.probe_backoff = config_.probe_interval;
    probed.probe_at = now + config_.probe_interval / 2 + random() % config_.probe_interval;
    refresh_next_probe();
    return false;
  }
  restore(id);
  // What broke this path may have broken its neighbours in the plane, and may be healed for them too: ask
  // soon.
  for (Path& other : paths_) {
    if (other.plane != probed.plane || other.state != PathState::kAssumedBad) continue;
    other.probe_backoff = config_.probe_interval;
    other.probe_at = std::min(other.probe_at, now + random() % config_.probe_interval);
    next_probe_ = std::min(next_probe_, other.probe_at);
  }
  return true;
}

PathId PathSet::take_due_probe(Nanoseconds now) {
  if (now < next_probe_) return kNoPath;
  for (size_t i = 0; i < paths_.size(); ++i) {
    Path& due = paths_[i];
    if (due.state != PathState::kAssumedBad || due.probe_at > now) continue;
    due.probe_at = now + due.probe_backoff + random() % due.probe_backoff;
    due.probe_backoff = std::min(2 * due.probe_backoff, config_.probe_interval_max);
    refresh_next_probe();
    return PathId(i);
  }
  refresh_next_probe();
  return kNoPath;
}

void PathSet::refresh_next_probe() {
  next_probe_ = kNever;
  for (const Path& path : paths_)
    if (path.state == PathState::kAssumedBad) next_probe_ = std::min(next_probe_, path.probe_at);
}

}  // namespace mrc
