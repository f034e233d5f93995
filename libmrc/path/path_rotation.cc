// SPDX-License-Identifier: BSD-2-Clause
// Whose turn it is: the slots of the rotation, who sits in them, and marks, which cost turns.
#include <algorithm>
#include <bit>

#include "libmrc/path/path_set.h"

namespace mrc {

namespace {
// A path that is kept for the floor's sake, and may swallow everything, has one turn in so many: enough to
// hear of it soon, too few for what it loses to be felt.
constexpr uint8_t kReluctantTurns = 16;
// Flows that keep their order meet in the same way every round, so queues do not grow; every now and then
// they change it, lest two of them meet badly for ever.
constexpr uint64_t kRoundsPerOrder = 16;
// Where all paths are marked, so many of them are compared, and not more than one in sixteen: the best of all
// would be the best for every packet until its marks are known, and for every other sender, too.
constexpr uint32_t kComparedMax = 4;
constexpr uint32_t kPathsPerCompared = 16;
}  // namespace

// --------------------------------------------------------------------------------------------------- slots

void PathSet::count_in_use(const Path& path, int change) {
  PlaneInfo& plane = planes_[path.plane];
  plane.in_use = static_cast<uint16_t>(plane.in_use + change);
  if (!port_is_up(path.plane)) return;
  change_active(change);
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

// MRC 4.1: equal numbers per plane, chosen at random inside it.
void PathSet::fill_slots() {
  slots_.assign(size_t{config_.planes} * share_, kNoPath);
  order_.resize(slots_.size());
  plane_order_.resize(config_.planes);
  std::vector<PathId> all;
  for (uint32_t plane = 0; plane < config_.planes; ++plane) {
    all.clear();
    for (const Path& path : paths_of(static_cast<Plane>(plane)))
      if (path.state != PathState::kDenied) all.push_back(id_of(path));
    const size_t allowed = all.size();
    for (const Path& path : paths_of(static_cast<Plane>(plane)))
      if (path.state == PathState::kDenied) all.push_back(id_of(path));  // only if there is nothing else
    if (all.empty()) continue;
    if (allowed > share_) {
      for (uint32_t i = 0; i < share_; ++i) std::swap(all[i], all[i + random() % (allowed - i)]);
      std::sort(all.begin(), all.begin() + share_);  // neighbours stay neighbours, see shuffle()
    }
    for (uint32_t i = 0; i < share_; ++i) {
      const size_t slot = size_t{plane} * share_ + i;
      slots_[slot] = all[i];
      path(all[i]).slot = static_cast<uint16_t>(slot);
      if (path(all[i]).in_use()) count_in_use(path(all[i]), +1);
    }
  }
}

// MRC 12.R5 [P]: at random, but evenly at every scale: of any 2^n turns of a plane in a row that begin at a
// multiple of 2^n, each 2^n-th part of its paths has one. Neighbours in the list mostly share their first
// hops (a list by spine and core, a generated one), so single links see even traffic too, where a plain
// shuffle makes bursts.
void PathSet::shuffle(Plane plane) {
  draw_even_order();
  const size_t first = size_t{plane} * share_;
  size_t turn = first;
  for (const uint16_t slot : even_order_)
    if (slot < share_) order_[turn++] = static_cast<uint16_t>(first + slot);
}

void PathSet::shuffle_planes() {
  for (size_t i = config_.planes; i > 1; --i) std::swap(plane_order_[i - 1], plane_order_[random() % i]);
}

// Each step halves the parts: one half, drawn for each, comes in this round, the other half in the next.
void PathSet::draw_even_order() {
  even_order_.resize(std::bit_ceil(share_));
  even_order_[0] = 0;
  for (size_t parts = 1; parts < even_order_.size(); parts *= 2) {
    uint64_t bits = 0;
    for (size_t i = 0; i < parts; ++i) {
      if (i % 64 == 0) bits = random();
      const auto half = static_cast<uint16_t>(size_t{2} * even_order_[i] + (bits >> i % 64 & 1));
      even_order_[i] = half;
      even_order_[parts + i] = half ^ 1;
    }
  }
}

// ---------------------------------------------------------------------------------------------- selection

// The next plane of `usable`, which has one. A plane whose port is full is passed over; its paths lose no
// turn.
[[gnu::hot, gnu::always_inline]] inline Plane PathSet::next_plane(PlaneMask usable) {
  for (;;) {
    const Plane plane = plane_order_[plane_cursor_];
    if (++plane_cursor_ == config_.planes) {
      plane_cursor_ = 0;
      if (++plane_rounds_ % kRoundsPerOrder == 0) shuffle_planes();
    }
    if ((usable >> plane & 1) != 0) return plane;
  }
}

[[gnu::hot, gnu::always_inline]] inline PathId PathSet::next_turn(Plane plane) {
  PlaneInfo& info = planes_[plane];
  const PathId id = slots_[order_[size_t{plane} * share_ + info.cursor]];
  if (++info.cursor == share_) {
    info.cursor = 0;
    if (++info.rounds % kRoundsPerOrder == 0) shuffle(plane);
  }
  return id;
}

[[gnu::hot]] PathId PathSet::select(PlaneMask usable) {
  usable &= active_planes_;
  if (usable == 0) return kNoPath;
  const PathId next = next_turn(next_plane(usable));
  fetch_next();
  if (next != kNoPath && at(next).is_plain()) [[likely]]
    return next;
  return select_among(usable, next);
}

// The same where there is something about the first whose turn it is.
PathId PathSet::select_among(PlaneMask usable, PathId first) {
  const bool common = marks_are_common();
  bool forgiven = false;
  PathId second_choice = kNoPath;
  uint32_t compared = 0;
  const uint32_t compared_max = std::min(kComparedMax, share_ / kPathsPerCompared);
  // Two rounds: the end of one and the start of the next, newly shuffled, need not meet every path.
  for (size_t step = 0; step < 2 * order_.size(); ++step) {
    PathId id = step == 0 ? first : next_turn(next_plane(usable));
    if (id == kNoPath) continue;
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
      if (second_choice == kNoPath ||
          (++compared < compared_max && candidate.mark_level < at(second_choice).mark_level))
        second_choice = id;
      if (!forgiven) {
        if (--candidate.skip_turns == 0) forgive(candidate);
        forgiven = true;
      }
    }
  }
  // All that could carry it are marked or doubtful: take one anyway, of a few the one that is marked least.
  // (Any would do for the network as a whole. But whose paths mostly go by the fullest link would get less
  // than the others.) The next packet begins one turn later, or it would find the same one.
  next_turn(next_plane(usable));
  return second_choice;
}

PathId PathSet::next_in_use(PlaneMask usable) {
  usable &= active_planes_;
  if (usable == 0) return kNoPath;
  const Plane plane = next_plane(usable);
  const PathId id = next_turn(plane);
  return id != kNoPath && at(id).in_use() ? id : stand_in(plane);
}

// MRC 4.1: planes have equal shares, also one that has lost some of its paths: the others of it take the
// turn, in turn. Its link to the host is as fast as ever, and those of the other planes may be full. In the
// order of turns, which is another in every set and even over the list: many lose the same path at once.
PathId PathSet::stand_in(Plane plane) {
  PlaneInfo& info = planes_[plane];
  const size_t first = size_t{plane} * share_;
  PathId id = kNoPath;
  do {
    id = slots_[order_[first + info.next_stand_in % share_]];
    ++info.next_stand_in;
  } while (id == kNoPath || !at(id).in_use());  // an active plane has one
  return id;
}

PathId PathSet::control_path(Plane plane, Entropy heard, bool asked) {
  if (plane >= planes_.size() || planes_[plane].count == 0) {
    if (paths_.empty()) return kNoPath;
    plane = paths_[random() % paths_.size()].plane;
  }
  PlaneInfo& info = planes_[plane];
  if (info.working != kNoPath && info.working_uses < kWorkingUses) {
    // Whoever has to ask may have missed our answers: it is trusted this time, and then has to be seen again.
    info.working_uses = static_cast<uint8_t>(info.working_uses + (asked ? kWorkingUses : 1));
    return info.working;
  }
  // [P] What breaks a link mostly breaks both its directions: back by the path on which the peer was heard.
  // Mostly: every other question is answered by any other, lest one that only works one way is never found
  // out.
  const PathId same = heard == Entropy{} ? kNoPath : find(heard, plane);
  const bool other = asked && (++info.questions & 1) == 0;
  if (same != kNoPath && !other && at(same).state != PathState::kDenied) return same;
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
  if (plane >= planes_.size()) return kNoPath;
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
  busy.mark_level = static_cast<uint8_t>(std::clamp(busy.mark_level + 1, level + 1, mark_level_max_ + 0));
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

}  // namespace mrc
