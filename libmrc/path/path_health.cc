// SPDX-License-Identifier: BSD-2-Clause
// Which paths are fit for use: what losses say about a path, what takes it out, and what brings it back.
#include <algorithm>
#include <bit>
#include <utility>

#include "libmrc/path/path_set.h"

namespace mrc {

namespace {
// 2^10 : 1 that the path is worse than the rest. Hundreds of paths are judged at a time, so less would take
// out some that are not.
constexpr uint32_t kSuspicionOut = 10 * 16;
// What is beyond is not kept: a path that the floor keeps must be able to clear itself.
constexpr uint32_t kSuspicionMax = 2 * kSuspicionOut;
// In a row, while other planes deliver: the plane is dead. Where one packet in ten is lost that is bad luck
// once in 10^8.
constexpr uint32_t kSilentLossesOut = 8;

// 16 * log2(x), linear between the powers of two; integers, so that every machine agrees.
uint32_t log2_16(uint32_t x) {
  const auto high = static_cast<uint32_t>(std::bit_width(x | 1)) - 1;
  const uint32_t fraction = high >= 4 ? x >> (high - 4) & 15 : x << (4 - high) & 15;
  return 16 * high + fraction;
}
}  // namespace

// --------------------------------------------------------------------------------------- loss and evidence

void PathSet::count_loss() {
  loss_rate_ += (kOne - loss_rate_) >> kLossRateShift;
}

// A bad path loses a fifth of its packets, or three times the usual, whichever is more.
uint32_t PathSet::loss_weight() const {
  const uint32_t usual = std::max(loss_rate_, kUsualLossMin);
  const uint32_t bad = std::clamp(kBadLossTimes * usual, kBadLossMin, kBadLossMax);
  return bad > usual ? log2_16(bad) - log2_16(usual) : 1;
}

uint32_t PathSet::delivery_weight() const {
  const uint32_t usual = std::min(loss_rate_, kUsualLossMax);
  const uint32_t bad = std::clamp(kBadLossTimes * usual, kBadLossMin, kBadLossMax);
  return std::max(1u, log2_16(kOne - usual) - log2_16(kOne - bad));
}

// A delivery on a path about which there was something to say.
void PathSet::clear(Path& path, uint64_t order) {
  const uint32_t relief = delivery_weight();
  path.late = false;
  path.suspicion = static_cast<uint16_t>(path.suspicion > relief ? path.suspicion - relief : 0);
  if (troubles_.empty() || order > trouble(path).lost_order) {
    // It carried something later: what it lost before was the usual kind.
    if (path.unexplained) count_loss();
    path.unexplained = false;
    path.reluctant = false;
  }
  if ((path.clean_deliveries & (Path::kForgetDeliveries - 1)) == 0)
    path.probe_successes_needed = std::max<uint8_t>(Path::kProbeSuccesses, path.probe_successes_needed / 2);
}

bool PathSet::plane_is_silent(const PlaneInfo& plane) const {
  return plane.silent_losses >= kSilentLossesOut;
}

bool PathSet::lost(PathId id, uint64_t order, Nanoseconds sent_at, Nanoseconds now) {
  Path& bad = path(id);
  PlaneInfo& plane = planes_[bad.plane];
  bad.late = false;  // settled
  if (know_troubles()) ++trouble(bad).losses;
  // MRC 4.6: what a port took with it is no one's loss, nor is what was known before the path came back.
  if (!port_is_up(bad.plane) || sent_at < plane.good_since || bad.state == PathState::kDenied) return false;
  if (!know_troubles() || sent_at < trouble(bad).good_since) return false;
  trouble(bad).lost_order = std::max(trouble(bad).lost_order, order);
  const uint32_t weight = loss_weight();  // against what was usual before it
  const bool silent = bad.delivered_order < order;
  if (silent) {
    bad.unexplained = true;
    if (order > plane.delivered_order && delivered_order_ > order) ++plane.silent_losses;
  } else {
    count_loss();
  }
  if (bad.state == PathState::kAssumedBad) {
    if (silent) bad.probe_successes = 0;
    return false;
  }
  bad.suspicion = static_cast<uint16_t>(std::min<uint32_t>(bad.suspicion + weight, kSuspicionMax));
  const bool out = bad.suspicion >= kSuspicionOut && take_out(bad, now, silent);
  if (plane_is_silent(plane)) empty_silent_plane(bad.plane, now);
  return out;
}

// Other planes deliver and this one does not: its remaining paths need not be tried one by one.
void PathSet::empty_silent_plane(Plane plane, Nanoseconds now) {
  for (Path& path : paths_of(plane)) {
    if (!path.in_use()) continue;
    if (active_ > floor()) {
      take_out(path, now, true);
    } else {
      path.reluctant = true;
    }
  }
}

bool PathSet::demote(PathId id, Nanoseconds now) {
  Path& bad = path(id);
  if (bad.state == PathState::kAssumedBad) bad.probe_successes = 0;
  if (bad.state == PathState::kAssumedBad || bad.state == PathState::kDenied) return false;
  if (!know_troubles() || !take_out(bad, now, true)) return false;
  tally(&PathCounters::told_bad);
  return true;
}

size_t PathSet::floor() const {
  const auto up = static_cast<size_t>(std::popcount(port_planes()));
  return (config_.min_active * up + config_.planes - 1) / config_.planes;
}

// `silent`: nothing sent after the lost packet is known to have arrived by this path.
bool PathSet::take_out(Path& bad, Nanoseconds now, bool silent) {
  if (bad.slot == Path::kNoSlot) {  // a backup
    assume_bad(bad, now);
    return true;
  }
  // MRC 12.R7, 4.5: a backup of the same plane takes over; not if the plane is dead, for it would be wasted.
  Path* substitute = plane_is_silent(planes_[bad.plane]) ? nullptr : backup(bad.plane);
  if (substitute == nullptr && active_ <= floor()) {
    // MRC 4.2: never below the floor. Another one comes back for it, or it stays and gets little to do.
    substitute = swap_candidate(bad, silent);
    if (substitute == nullptr) {
      bad.reluctant = silent;
      tally(&PathCounters::kept_floor);
      return false;
    }
    const bool known_to_work = substitute->probe_successes > 0;
    bring_back(*substitute, now, true, &PathCounters::restored_floor);
    substitute->reluctant = !known_to_work;
    if (substitute->slot != Path::kNoSlot) substitute = nullptr;  // it had a place of its own
  }
  assume_bad(bad, now);
  if (substitute != nullptr) give_slot(bad, *substitute);
  return true;
}

void PathSet::assume_bad(Path& bad, Nanoseconds now) {
  if (bad.in_use()) count_in_use(bad, -1);
  bad.state = PathState::kAssumedBad;
  tally(&PathCounters::assumed_bad);
  bad.reluctant = false;
  bad.suspicion = 0;
  bad.probe_successes = 0;
  PathTrouble& its = trouble(bad);
  its.demoted_at = now;
  its.probe_backoff = probe_interval();
  PlaneInfo& plane = planes_[bad.plane];
  if (plane.working == id_of(bad)) plane.working = kNoPath;
  // The first question is asked at once if it is known how long an answer takes: was it the path or bad luck?
  const Nanoseconds first = rtt_ != 0 ? rtt_ + random_() % rtt_ : kNever;
  const Nanoseconds regular = its.probe_backoff / 2 + random_() % its.probe_backoff;
  schedule_probe(bad, now + std::min(first, regular));
  report(bad);
}

Path* PathSet::backup(Plane plane) {
  const std::span<Path> all = paths_of(plane);
  const size_t start = random_() % all.size();
  for (size_t i = 0; i < all.size(); ++i) {
    Path& path = all[(start + i) % all.size()];
    if (path.slot == Path::kNoSlot && path.state == PathState::kGood) return &path;
  }
  return nullptr;
}

// At the floor: the path that is most likely better than `bad`. One that answers probes, of the same plane if
// possible; else, if nothing is known of `bad` either, the one that has been out longest. Null: keep `bad`.
Path* PathSet::swap_candidate(const Path& bad, bool silent) {
  Path* best = nullptr;
  auto better = [&](const Path& a, const Path& b) {
    const bool a_answers = a.probe_successes > 0;
    const bool b_answers = b.probe_successes > 0;
    if (a_answers != b_answers) return a_answers;
    if ((a.plane == bad.plane) != (b.plane == bad.plane)) return a.plane == bad.plane;
    return trouble(a).demoted_at < trouble(b).demoted_at;
  };
  for (Path& path : paths_) {
    if (path.state != PathState::kAssumedBad || !port_is_up(path.plane)) continue;
    if (path.plane != bad.plane && planes_[path.plane].in_use == share_) continue;  // no place there
    if (best == nullptr || better(path, *best)) best = &path;
  }
  return best != nullptr && (silent || best->probe_successes > 0) ? best : nullptr;
}

// ---------------------------------------------------------------------------------------------- coming back

void PathSet::bring_back(Path& good, Nanoseconds now, bool damp, uint64_t PathCounters::*why) {
  tally(why);
  good.state = PathState::kGood;
  good.suspicion = 0;
  good.mark_level = 0;
  good.clean_deliveries = 0;
  good.reluctant = good.late = false;
  if (know_troubles()) {
    trouble(good).probe_at = kNever;
    trouble(good).good_since = now;
  }
  // MRC 4.5 [P], flap damping: should it fail again, it has to prove more.
  if (damp)
    good.probe_successes_needed =
        static_cast<uint8_t>(std::min<unsigned>(Path::kProbeSuccessesMax, 2u * good.probe_successes_needed));
  take_slot(good);
  report(good);
}

// Good paths went, and those that are left were not enough to begin with: take bad ones, the best first.
void PathSet::keep_floor() {
  while (active_ < floor()) {
    Path* best = nullptr;
    for (Path& path : paths_) {
      if (path.state != PathState::kAssumedBad || !port_is_up(path.plane)) continue;
      if (planes_[path.plane].in_use == share_) continue;
      if (best == nullptr || std::pair(path.probe_successes, trouble(*best).demoted_at) >
                                 std::pair(best->probe_successes, trouble(path).demoted_at))
        best = &path;
    }
    if (best == nullptr) return;
    const bool known_to_work = best->probe_successes > 0;
    const Nanoseconds since = std::max(trouble(*best).good_since, planes_[best->plane].good_since);
    bring_back(*best, since, true, &PathCounters::restored_floor);
    best->reluctant = !known_to_work;
  }
}

// -------------------------------------------------------------------------------------------------- probes

void PathSet::schedule_probe(Path& bad, Nanoseconds at) {
  trouble(bad).probe_at = at;
  if (at >= next_probe_) return;
  next_probe_ = at;
  news_ |= kNewsOfProbes;
}

bool PathSet::probe_answered(PathId id, Nanoseconds now, bool ce, Nanoseconds took) {
  Path& probed = path(id);
  unanswered_probes_ = 0;
  works(probed, id);
  if (probed.unexplained) count_loss();
  probed.unexplained = false;
  probed.reluctant = false;
  if (probed.state != PathState::kAssumedBad || !port_is_up(probed.plane)) return false;
  planes_[probed.plane].silent_losses = 0;
  if (++probed.probe_successes < probed.probe_successes_needed) {
    // The round trip of this path: it carries nothing, and may be much faster than those that carry its load.
    PathTrouble& its = trouble(probed);
    its.probe_backoff =
        took != 0 ? std::max(config_.probe_interval, kProbeRoundTrips * took) : probe_interval();
    its.probe_at = now + its.probe_backoff / 2 + random_() % its.probe_backoff;
    refresh_next_probe();
    return false;
  }
  bring_back(probed, now, true, &PathCounters::restored_probe);
  if (ce) skip_once(id);  // MRC 4.2
  works(probed, id);
  // What broke this path may have broken its neighbours in the plane, and may be healed for them too: ask
  // soon.
  for (Path& other : paths_of(probed.plane)) {
    if (other.state != PathState::kAssumedBad) continue;
    PathTrouble& its = trouble(other);
    its.probe_backoff = probe_interval();
    its.probe_at = std::min(its.probe_at, now + random_() % its.probe_backoff);
  }
  refresh_next_probe();
  return true;
}

PathId PathSet::take_due_probe(Nanoseconds now) {
  if (now < next_probe_) return kNoPath;
  expire_port_news(now);
  if (const PathId question = take_port_question(now); question != kNoPath) {
    refresh_next_probe();
    ++unanswered_probes_;
    return question;
  }
  for (Path& due : paths_) {
    if (due.state != PathState::kAssumedBad || !port_is_up(due.plane)) continue;
    PathTrouble& its = trouble(due);
    if (its.probe_at > now) continue;
    its.probe_at = now + its.probe_backoff + random_() % its.probe_backoff;
    its.probe_backoff = std::min(2 * its.probe_backoff, config_.probe_interval_max);
    refresh_next_probe();
    ++unanswered_probes_;
    return id_of(due);
  }
  refresh_next_probe();
  return kNoPath;
}

void PathSet::refresh_next_probe() {
  const Nanoseconds before = std::exchange(next_probe_, kNever);
  for (size_t i = 0; i < troubles_.size(); ++i)
    if (paths_[i].state == PathState::kAssumedBad && port_is_up(paths_[i].plane))
      next_probe_ = std::min(next_probe_, troubles_[i].probe_at);
  for (uint32_t plane = 0; plane < config_.planes; ++plane) {
    const PlaneInfo& info = planes_[plane];
    const bool ask = (local_ports_ >> plane & 1) != 0;
    next_probe_ = std::min({next_probe_, info.news_until, ask ? info.ask_at : kNever});
  }
  if (next_probe_ < before) news_ |= kNewsOfProbes;
}

}  // namespace mrc
