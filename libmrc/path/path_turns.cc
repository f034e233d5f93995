// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/path/path_turns.h"

#include <algorithm>
#include <utility>

namespace mrc {

namespace {
// A path that is kept for the floor's sake, and may swallow everything, has one turn in so many: enough to
// hear of it soon, too few for what it loses to be felt.
constexpr uint8_t kReluctantTurns = 16;  // Path::turns_missed counts them, and has four bits
// Flows that keep their order meet in the same way every round, so queues do not grow; every now and then
// they change it, lest two of them meet badly for ever.
constexpr uint8_t kRoundsPerOrder = 16;
// Where all paths are marked, so many of them are compared, and not more than one in sixteen: the best of all
// would be the best for every packet until its marks are known, and for every other sender, too.
constexpr uint32_t kComparedMax = 4;
constexpr uint32_t kPathsPerCompared = 16;
}  // namespace

// --------------------------------------------------------------------------------------------------- order

void PathTurns::reset(PathSet& paths, uint64_t seed) {
  *this = PathTurns{};
  share_ = paths.share();
  plane_count_ = static_cast<uint8_t>(paths.planes());
  random_ = PathRandom(seed);
  order_.resize(paths.places());
  for (Plane plane = 0; plane < plane_count_; ++plane) {
    plane_order_[plane] = plane;
    shuffle(paths, plane);
  }
  shuffle_planes();
}

// MRC 12.R5 [P]: at random, but evenly at every scale: of any 2^n turns of a plane in a row that begin at a
// multiple of 2^n, each 2^n-th part of its paths has one. Neighbours in the list mostly share their first
// hops (a list by spine and core, a generated one), so single links see even traffic too, where a plain
// shuffle makes bursts.
void PathTurns::shuffle(PathSet& paths, Plane plane) {
  const size_t first = size_t{plane} * share_;
  size_t turn = first;
  for (const uint16_t slot : draw_even_order(paths))
    if (slot < share_) order_[turn++] = static_cast<uint16_t>(first + slot);
}

// Each step halves the parts: one half, drawn for each, comes in this round, the other half in the next.
const std::vector<uint16_t>& PathTurns::draw_even_order(PathSet& paths) {
  std::vector<uint16_t>& order = paths.even_order_;
  order[0] = 0;
  for (size_t parts = 1; parts < order.size(); parts *= 2) {
    uint64_t bits = 0;
    for (size_t i = 0; i < parts; ++i) {
      if (i % 64 == 0) bits = random_();
      const auto half = static_cast<uint16_t>(size_t{2} * order[i] + (bits >> i % 64 & 1));
      order[i] = half;
      order[parts + i] = half ^ 1;
    }
  }
  return order;
}

void PathTurns::shuffle_planes() {
  for (size_t i = plane_count_; i > 1; --i) std::swap(plane_order_[i - 1], plane_order_[random_() % i]);
}

// ---------------------------------------------------------------------------------------------- selection

// The next plane of `usable`, which has one. A plane whose port is full is passed over; its paths lose no
// turn.
[[gnu::hot, gnu::always_inline]] inline Plane PathTurns::next_plane(PlaneMask usable) {
  for (;;) {
    const Plane plane = plane_order_[plane_cursor_];
    if (++plane_cursor_ == plane_count_) {
      plane_cursor_ = 0;
      if (++plane_rounds_ % kRoundsPerOrder == 0) shuffle_planes();
    }
    if ((usable >> plane & 1) != 0) return plane;
  }
}

[[gnu::hot, gnu::always_inline]] inline PathId PathTurns::next_turn(PathSet& paths, Plane plane) {
  PlaneTurns& turns = planes_[plane];
  const PathId id = paths.in_slot(order_[first_of(plane)]);
  if (++turns.cursor == share_) {
    turns.cursor = 0;
    if (++turns.rounds % kRoundsPerOrder == 0) shuffle(paths, plane);
  }
  return id;
}

[[gnu::hot]] PathId PathTurns::select(PathSet& paths, PlaneMask usable) {
  usable &= paths.active_planes();
  if (usable == 0) return kNoPath;
  const PathId next = next_turn(paths, next_plane(usable));
  fetch_next(paths);
  if (next != kNoPath && paths.at(next).is_plain()) [[likely]]
    return next;
  return select_among(paths, usable, next);
}

// The same where there is something about the first whose turn it is.
PathId PathTurns::select_among(PathSet& paths, PlaneMask usable, PathId first) {
  const bool common = paths.marks_are_common();
  bool forgiven = false;
  PathId second_choice = kNoPath;
  uint32_t compared = 0;
  const uint32_t compared_max = std::min(kComparedMax, share_ / kPathsPerCompared);
  // Two rounds: the end of one and the start of the next, newly shuffled, need not meet every path.
  for (size_t step = 0; step < 2 * order_.size(); ++step) {
    PathId id = step == 0 ? first : next_turn(paths, next_plane(usable));
    if (id == kNoPath) continue;
    if (!paths.at(id).in_use()) {
      id = stand_in(paths, paths.at(id).plane);
      if (paths.at(id).reluctant) continue;
    }
    Path& candidate = paths.path(id);
    if (common && candidate.state == PathState::kSkip) paths.forgive(candidate);
    if (candidate.late) {
      if (second_choice == kNoPath) second_choice = id;
    } else if (candidate.state == PathState::kGood) {
      if (!candidate.reluctant || ++candidate.turns_missed % kReluctantTurns == 0) {
        if (candidate.mark_level > 1 && !common) paths.miss_turns(candidate);
        return id;
      }
      if (second_choice == kNoPath) second_choice = id;
    } else if (candidate.state == PathState::kSkip) {
      if (second_choice == kNoPath ||
          (++compared < compared_max && candidate.mark_level < paths.at(second_choice).mark_level))
        second_choice = id;
      if (!forgiven) {
        if (--candidate.skip_turns == 0) paths.forgive(candidate);
        forgiven = true;
      }
    }
  }
  // All that could carry it are marked or doubtful: take one anyway, of a few the one that is marked least.
  // (Any would do for the network as a whole. But whose paths mostly go by the fullest link would get less
  // than the others.) The next packet begins one turn later, or it would find the same one.
  next_turn(paths, next_plane(usable));
  return second_choice;
}

PathId PathTurns::select_sooner(PathSet& paths, PlaneMask usable) {
  const PathId first = select(paths, usable);
  if (first == kNoPath || paths.has_ways()) return first;
  const PathId second = next_turn(paths, paths.at(first).plane);
  if (second == kNoPath || !paths.at(second).is_plain()) return first;
  return paths.at(second).lateness < paths.at(first).lateness ? second : first;
}

PathId PathTurns::next_in_use(PathSet& paths, PlaneMask usable) {
  usable &= paths.active_planes();
  if (usable == 0) return kNoPath;
  const Plane plane = next_plane(usable);
  const PathId id = next_turn(paths, plane);
  return id != kNoPath && paths.at(id).in_use() ? id : stand_in(paths, plane);
}

// MRC 4.1: planes have equal shares, also one that has lost some of its paths: the others of it take the
// turn, in turn. Its link to the host is as fast as ever, and those of the other planes may be full. In the
// order of turns, which is another for every queue pair and even over the list: many lose the same path at
// once.
PathId PathTurns::stand_in(const PathSet& paths, Plane plane) {
  PlaneTurns& turns = planes_[plane];
  const size_t first = size_t{plane} * share_;
  PathId id = kNoPath;
  do {
    id = paths.in_slot(order_[first + turns.next_stand_in % share_]);
    ++turns.next_stand_in;
  } while (id == kNoPath || !paths.at(id).in_use());  // an active plane has one
  return id;
}

}  // namespace mrc
