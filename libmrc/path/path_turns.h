// SPDX-License-Identifier: BSD-2-Clause
// Whose turn it is: the rotation of one queue pair over the paths of a set. What is known of the paths is the
// set's; a queue pair's own are its place in the rotation and the order of turns, drawn at random and anew
// now and then, so that queue pairs are not in step.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "libmrc/path/path_random.h"
#include "libmrc/path/path_set.h"

namespace mrc {

class PathTurns {
 public:
  // Made to measure for this set, which is the one that all calls below are about.
  void reset(PathSet& paths, uint64_t seed);

  // MRC 12.R5, 4.3: the next path of the rotation that is good and whose plane is in `usable`. A path in SKIP
  // misses one turn, or more if it is marked again and again; at most one turn is forgiven per packet.
  // kNoPath: no plane of `usable` has a path in use.
  PathId select(PathSet& paths, PlaneMask usable);
  // [P] For what goes a second time: of the next two turns of a plane the path whose answers come sooner, see
  // PathSet::answered_after(). The other one misses a turn. By source routes, which lead over all links
  // alike, simply the next: choosing would only make them uneven.
  PathId select_sooner(PathSet& paths, PlaneMask usable);
  // The next one that is in use, marked or not: for questions when nothing is heard. Marks are old news then,
  // and the path that was never marked may be so because it is dead.
  PathId next_in_use(PathSet& paths, PlaneMask usable);
  // Into the cache: the path that is likely to be selected next.
  [[gnu::always_inline]] void fetch_next(const PathSet& paths) const {
    if (order_.empty()) return;
    const PathId next = paths.in_slot(order_[first_of(plane_order_[plane_cursor_])]);
    if (next != kNoPath) __builtin_prefetch(&paths.at(next));
  }

 private:
  struct PlaneTurns {
    uint16_t cursor = 0;  // in its part of order_
    uint16_t next_stand_in = 0;
    uint8_t rounds = 0;
  };

  size_t first_of(Plane plane) const { return size_t{plane} * share_ + planes_[plane].cursor; }
  void shuffle(PathSet& paths, Plane plane);
  const std::vector<uint16_t>& draw_even_order(PathSet& paths);
  void shuffle_planes();
  Plane next_plane(PlaneMask usable);
  PathId next_turn(PathSet& paths, Plane plane);
  PathId select_among(PathSet& paths, PlaneMask usable, PathId first);
  PathId stand_in(const PathSet& paths, Plane plane);

  std::vector<uint16_t> order_;  // plane by plane: the set's slots in the order of their turns
  uint32_t share_ = 0;           // slots of a plane
  uint8_t plane_count_ = 0;
  uint8_t plane_cursor_ = 0;
  uint8_t plane_rounds_ = 0;
  std::array<Plane, kPlanesMax> plane_order_{};
  std::array<PlaneTurns, kPlanesMax> planes_{};
  PathRandom random_;
};

}  // namespace mrc
