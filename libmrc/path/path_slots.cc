// SPDX-License-Identifier: BSD-2-Clause
// Which paths are in use: the slots of the rotation, and who sits in them.
#include <algorithm>
#include <utility>
#include <vector>

#include "libmrc/path/path_set.h"

namespace mrc {

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
      for (uint32_t i = 0; i < share_; ++i) std::swap(all[i], all[i + random_() % (allowed - i)]);
      std::sort(all.begin(), all.begin() + share_);  // neighbours stay neighbours, see PathTurns::shuffle()
    }
    for (uint32_t i = 0; i < share_; ++i) {
      const size_t slot = size_t{plane} * share_ + i;
      slots_[slot] = all[i];
      path(all[i]).slot = static_cast<uint16_t>(slot);
      if (path(all[i]).in_use()) count_in_use(path(all[i]), +1);
    }
  }
}

}  // namespace mrc
