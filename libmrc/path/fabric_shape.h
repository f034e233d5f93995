// SPDX-License-Identifier: BSD-2-Clause
// MRC 6: a fabric as its hosts know it: how many switches lead from leaf to leaf, and their uSIDs.
#pragma once

#include <cstdint>

#include "libmrc/path/usid_plan.h"

namespace mrc {

// What all hosts of a fabric know of it. Leaves are numbered pod by pod.
struct FabricShape {
  uint32_t block = 0;
  UsidPlan usids;
  uint32_t spines = 1;           // of a plane; with three tiers of a pod
  uint32_t leaves_per_pod = 0;   // 0: two tiers, which are one pod
  uint32_t cores_per_spine = 1;  // three tiers: uplinks of a spine, to cores of its own

  uint32_t pod_of(uint32_t leaf) const { return leaves_per_pod == 0 ? 0 : leaf / leaves_per_pod; }
};

// Where a host is: its leaf, the same on every plane, and its number there.
struct FabricPlace {
  uint32_t leaf = 0;
  uint32_t host = 0;
  friend bool operator==(const FabricPlace&, const FabricPlace&) = default;
};

}  // namespace mrc
