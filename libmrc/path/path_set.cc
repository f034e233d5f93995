// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/path/path_set.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>

namespace mrc {

namespace {
constexpr uint32_t kSuspicionOut = 10 * 16;  // 2^10 : 1 that the path is worse than the rest
constexpr uint32_t kSilentLossesOut = 8;     // in a row, while other planes deliver: the plane is dead
constexpr uint8_t kReluctantTurns = 16;

// 16 * log2(x), linear between the powers of two; integers, so that every machine agrees.
uint32_t log2_16(uint32_t x) {
  const auto high = static_cast<uint32_t>(std::bit_width(x | 1)) - 1;
  const uint32_t fraction = high >= 4 ? x >> (high - 4) & 15 : x << (4 - high) & 15;
  return 16 * high + fraction;
}
}  // namespace

uint64_t PathSet::random() {
  // splitmix64: every seed, also 0 or 1, gives a sequence of its own.
  uint64_t z = (random_ += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

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
  shuffle();
}

// MRC 4.1: equal numbers per plane, chosen at random inside it.
void PathSet::fill_slots() {
  slots_.assign(size_t{config_.planes} * share_, kNoPath);
  order_.resize(slots_.size());
  std::vector<PathId> all;
  for (uint32_t plane = 0; plane < config_.planes; ++plane) {
    all.clear();
    for (const Path& path : paths_of(static_cast<Plane>(plane)))
      if (path.state != PathState::kDenied) all.push_back(id_of(path));
    const size_t allowed = all.size();
    for (const Path& path : paths_of(static_cast<Plane>(plane)))
      if (path.state == PathState::kDenied) all.push_back(id_of(path));  // only if there is nothing else
    if (all.empty()) continue;
    for (uint32_t i = 0; i < share_; ++i) {
      if (i < allowed && allowed > share_) std::swap(all[i], all[i + random() % (allowed - i)]);
      const size_t slot = size_t{plane} * share_ + i;
      slots_[slot] = all[i];
      path(all[i]).slot = static_cast<uint16_t>(slot);
      if (path(all[i]).in_use()) count_in_use(path(all[i]), +1);
    }
  }
}

void PathSet::shuffle() {
  const size_t planes = config_.planes;
  const size_t rounds = share_;
  for (size_t plane = 0; plane < planes; ++plane) {
    for (size_t i = 0; i < rounds; ++i)
      order_[i * planes + plane] = static_cast<uint16_t>(plane * rounds + i);
    for (size_t i = rounds; i > 1; --i)
      std::swap(order_[(i - 1) * planes + plane], order_[(random() % i) * planes + plane]);
  }
  for (size_t round = 0; round < rounds; ++round)
    for (size_t i = planes; i > 1; --i)
      std::swap(order_[round * planes + i - 1], order_[round * planes + random() % i]);
}

// ---------------------------------------------------------------------------------------------- selection

PathId PathSet::select(PlaneMask usable) {
  usable &= active_planes_;
  if (usable == 0) return kNoPath;
  const bool common = marks_are_common();
  bool forgiven = false;
  PathId second_choice = kNoPath;
  // Two rounds: the end of one and the start of the next, newly shuffled, need not meet every path.
  for (size_t step = 0; step < 2 * order_.size(); ++step) {
    PathId id = slots_[order_[cursor_]];
    if (++cursor_ == order_.size()) {
      cursor_ = 0;
      shuffle();
    }
    if (id == kNoPath || (usable >> at(id).plane & 1) == 0) continue;
    if (!at(id).in_use()) {
      id = stand_in(at(id).plane);
      if (at(id).reluctant) continue;
    }
    Path& candidate = path(id);
    if (common && candidate.state == PathState::kSkip) forgive(candidate);
    if (candidate.late) {
      if (second_choice == kNoPath) second_choice = id;
    } else if (candidate.state == PathState::kGood) {
      if (!candidate.reluctant || ++candidate.turns_missed % kReluctantTurns == 0) {
        if (candidate.mark_level > 1 && !common) miss_turns(candidate);
        return id;
      }
      if (second_choice == kNoPath) second_choice = id;
    } else if (candidate.state == PathState::kSkip) {
      if (second_choice == kNoPath) second_choice = id;
      if (!forgiven) {
        if (--candidate.skip_turns == 0) forgive(candidate);
        forgiven = true;
      }
    }
  }
  return second_choice;  // all that could carry it are marked or doubtful: take one anyway
}

// MRC 4.1: planes have equal shares, also one that has lost some of its paths: the others of it take the
// turn, in turn. Its link to the host is as fast as ever, and those of the other planes may be full.
PathId PathSet::stand_in(Plane plane) {
  PlaneInfo& info = planes_[plane];
  const size_t first = size_t{plane} * share_;
  PathId id = kNoPath;
  do {
    id = slots_[first + info.next_stand_in % share_];
    ++info.next_stand_in;
  } while (id == kNoPath || !at(id).in_use());  // an active plane has one
  return id;
}

PathId PathSet::control_path(Plane plane, Entropy heard) {
  if (planes_[plane].count == 0) {
    if (paths_.empty()) return kNoPath;
    plane = paths_[random() % paths_.size()].plane;
  }
  PlaneInfo& info = planes_[plane];
  if (info.working != kNoPath && info.working_uses < kWorkingUses) {
    ++info.working_uses;
    return info.working;
  }
  // [P] What breaks a link mostly breaks both its directions: back by the path on which the peer was heard.
  const PathId same = heard == Entropy{} ? kNoPath : find(heard, plane);
  if (same != kNoPath && at(same).state != PathState::kDenied) return same;
  // Nothing is known for sure: spread, so that one dead path does not swallow every answer.
  const size_t start = random() % info.count;
  PathId fallback = PathId(info.first + start);
  for (size_t i = 0; i < info.count; ++i) {
    const PathId id = PathId(info.first + (start + i) % info.count);
    if (at(id).state == PathState::kGood && !at(id).reluctant) return id;
    if (at(id).state != PathState::kDenied && at(fallback).state == PathState::kDenied) fallback = id;
  }
  return fallback;
}

PathId PathSet::find(Entropy entropy, Plane plane) const {
  if (plane >= config_.planes) return kNoPath;
  const PlaneInfo& info = planes_[plane];
  for (size_t i = info.first; i < size_t{info.first} + info.count; ++i)
    if (paths_[i].entropy == entropy) return PathId(i);
  return kNoPath;
}

// ---------------------------------------------------------------------------------------------------- ECN

// MRC 4.2 leaves it open how long SKIP lasts. One turn takes at most half of its packets off a path; one that
// belongs to somebody else, such as a flow that has no other, has to be left nearly alone. So every mark in a
// row doubles what is missed, and every answer without one takes a doubling back. From the second mark on a
// path gets single packets until their answers are better: a whole round trip of them would be too late.
void PathSet::skip(Path& busy, uint8_t level) {
  if (marks_are_common()) return;  // MRC 5.4: the last hop marks everything; no path is better
  busy.mark_level = static_cast<uint8_t>(std::clamp(busy.mark_level + 1, level + 1, kMarkLevelMax + 0));
  // MRC 4.3 [P]: a mark on a path that already skips does not add another turn.
  if (busy.state == PathState::kGood) miss_turns(busy);
}

void PathSet::miss_turns(Path& busy) {
  busy.state = PathState::kSkip;
  busy.skip_turns = static_cast<uint8_t>(1u << (busy.mark_level - 1));
  tally(&PathCounters::skipped);
}

void PathSet::forgive(Path& busy) {
  busy.state = PathState::kGood;
  tally(&PathCounters::forgiven);
}

void PathSet::unmarked(uint32_t packets) {
  for (uint32_t left = std::min(packets, kMarksMemory); left > 0; --left) marks_ -= marks_ >> kMarksShift;
}

void PathSet::marked(PathId id, bool ce) {
  if (!ce) {
    marks_ -= marks_ >> kMarksShift;
    if (path(id).mark_level > 0) --path(id).mark_level;
    return;
  }
  marks_ += (kMarksOne - marks_) >> kMarksShift;
  skip_once(id);
}

// --------------------------------------------------------------------------------------- loss and evidence

void PathSet::count_loss() {
  loss_rate_ += (kOne - loss_rate_) >> kLossRateShift;
}

// A bad path loses a fifth of its packets, or three times the usual, whichever is more.
uint32_t PathSet::loss_weight() const {
  const uint32_t usual = std::max(loss_rate_, 1u << 10);
  const uint32_t bad = std::clamp(3 * usual, kOne / 5, kOne / 10 * 9);
  return bad > usual ? log2_16(bad) - log2_16(usual) : 1;
}

uint32_t PathSet::delivery_weight() const {
  const uint32_t usual = std::min(loss_rate_, kOne / 10 * 8);
  const uint32_t bad = std::clamp(3 * usual, kOne / 5, kOne / 10 * 9);
  return std::max(1u, log2_16(kOne - usual) - log2_16(kOne - bad));
}

// A delivery on a path about which there was something to say.
void PathSet::clear(Path& path, uint64_t order) {
  const uint32_t relief = delivery_weight();
  path.late = false;
  path.suspicion = static_cast<uint16_t>(path.suspicion > relief ? path.suspicion - relief : 0);
  if (order > path.lost_order) {
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
  // MRC 4.6: what a port took with it is no one's loss, nor is what was known before the path came back.
  if (!port_is_up(bad.plane) || sent_at < bad.good_since || bad.state == PathState::kDenied) return false;
  bad.lost_order = std::max(bad.lost_order, order);
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
  bad.suspicion = static_cast<uint16_t>(std::min<uint32_t>(bad.suspicion + loss_weight(), 2 * kSuspicionOut));
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
  return take_out(bad, now, true);
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
  bad.demoted_at = now;
  bad.probe_successes = 0;
  bad.probe_backoff = probe_interval();
  PlaneInfo& plane = planes_[bad.plane];
  if (plane.working == id_of(bad)) plane.working = kNoPath;
  // The first question is asked at once if it is known how long an answer takes: was it the path or bad luck?
  const Nanoseconds first = rtt_ != 0 ? rtt_ + random() % rtt_ : kNever;
  const Nanoseconds regular = bad.probe_backoff / 2 + random() % bad.probe_backoff;
  schedule_probe(bad, now + std::min(first, regular));
  report(bad);
}

Path* PathSet::backup(Plane plane) {
  const std::span<Path> all = paths_of(plane);
  const size_t start = random() % all.size();
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
    return a.demoted_at < b.demoted_at;
  };
  for (Path& path : paths_) {
    if (path.state != PathState::kAssumedBad || !port_is_up(path.plane)) continue;
    if (path.plane != bad.plane && planes_[path.plane].in_use == share_) continue;  // no place there
    if (best == nullptr || better(path, *best)) best = &path;
  }
  return best != nullptr && (silent || best->probe_successes > 0) ? best : nullptr;
}

// --------------------------------------------------------------------------------------------------- slots

void PathSet::count_in_use(const Path& path, int change) {
  PlaneInfo& plane = planes_[path.plane];
  plane.in_use = static_cast<uint16_t>(plane.in_use + change);
  if (!port_is_up(path.plane)) return;
  active_ += static_cast<size_t>(change);
  const PlaneMask bit = PlaneMask{1} << path.plane;
  active_planes_ = plane.in_use > 0 ? active_planes_ | bit : active_planes_ & ~bit;
}

// `from` is out of use, `to` is good and has no slot.
void PathSet::give_slot(Path& from, Path& to) {
  to.slot = from.slot;
  from.slot = Path::kNoSlot;
  slots_[to.slot] = id_of(to);
  count_in_use(to, +1);
}

// A path that is good again uses its slot, or that of a path that is still bad, or waits as a backup.
void PathSet::take_slot(Path& good) {
  if (good.slot != Path::kNoSlot) {
    count_in_use(good, +1);
    return;
  }
  for (Path& other : paths_of(good.plane)) {
    if (other.slot == Path::kNoSlot || other.in_use()) continue;
    give_slot(other, good);
    return;
  }
}

void PathSet::bring_back(Path& good, Nanoseconds now, bool damp, uint64_t PathCounters::*why) {
  tally(why);
  good.state = PathState::kGood;
  good.probe_at = kNever;
  good.suspicion = 0;
  good.mark_level = 0;
  good.clean_deliveries = 0;
  good.reluctant = good.late = false;
  good.good_since = now;
  // MRC 4.5 [P], flap damping: should it fail again, it has to prove more.
  if (damp)
    good.probe_successes_needed =
        static_cast<uint8_t>(std::min<unsigned>(Path::kProbeSuccessesMax, 2u * good.probe_successes_needed));
  take_slot(good);
  report(good);
}

// -------------------------------------------------------------------------------------------------- probes

void PathSet::schedule_probe(Path& bad, Nanoseconds at) {
  bad.probe_at = at;
  next_probe_ = std::min(next_probe_, at);
}

bool PathSet::probe_answered(PathId id, Nanoseconds now, bool ce) {
  Path& probed = path(id);
  works(probed, id);
  if (probed.unexplained) count_loss();
  probed.unexplained = false;
  probed.reluctant = false;
  if (probed.state != PathState::kAssumedBad || !port_is_up(probed.plane)) return false;
  planes_[probed.plane].silent_losses = 0;
  if (++probed.probe_successes < probed.probe_successes_needed) {
    probed.probe_backoff = probe_interval();
    probed.probe_at = now + probed.probe_backoff / 2 + random() % probed.probe_backoff;
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
    other.probe_backoff = probe_interval();
    other.probe_at = std::min(other.probe_at, now + random() % other.probe_backoff);
  }
  refresh_next_probe();
  return true;
}

PathId PathSet::take_due_probe(Nanoseconds now) {
  if (now < next_probe_) return kNoPath;
  for (Path& due : paths_) {
    if (due.state != PathState::kAssumedBad || due.probe_at > now || !port_is_up(due.plane)) continue;
    due.probe_at = now + due.probe_backoff + random() % due.probe_backoff;
    due.probe_backoff = std::min(2 * due.probe_backoff, config_.probe_interval_max);
    refresh_next_probe();
    return id_of(due);
  }
  refresh_next_probe();
  return kNoPath;
}

void PathSet::refresh_next_probe() {
  next_probe_ = kNever;
  for (const Path& path : paths_)
    if (path.state == PathState::kAssumedBad && port_is_up(path.plane))
      next_probe_ = std::min(next_probe_, path.probe_at);
}

PathId PathSet::take_reverse_probe(Nanoseconds now) {
  if (now < reverse_probe_at_) return kNoPath;
  reverse_probe_at_ = now + std::max(rtt_, config_.probe_interval / 4);
  const bool heard = sending_heard_;
  sending_heard_ = false;
  if (heard || active_ == 0) return kNoPath;
  // Any plane, any good path of it.
  size_t skip = random() % active_;
  for (const Path& path : paths_)
    if (path.in_use() && port_is_up(path.plane) && skip-- == 0) return id_of(path);
  return kNoPath;
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

// Good paths went, and those that are left were not enough to begin with: take bad ones, the best first.
void PathSet::keep_floor() {
  while (active_ < floor()) {
    Path* best = nullptr;
    for (Path& path : paths_) {
      if (path.state != PathState::kAssumedBad || !port_is_up(path.plane)) continue;
      if (planes_[path.plane].in_use == share_) continue;
      if (best == nullptr || std::pair(path.probe_successes, best->demoted_at) >
                                 std::pair(best->probe_successes, path.demoted_at))
        best = &path;
    }
    if (best == nullptr) return;
    const bool known_to_work = best->probe_successes > 0;
    bring_back(*best, best->good_since, true, &PathCounters::restored_floor);
    best->reluctant = !known_to_work;
  }
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
