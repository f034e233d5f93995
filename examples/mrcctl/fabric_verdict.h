// SPDX-License-Identifier: BSD-2-Clause
// From what probes on many routes have lost to the links and switches that lose it. Pure: no clock, no
// device.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "examples/mrcctl/fabric_names.h"

namespace mrc {

struct RouteResult {
  std::vector<uint16_t> nodes;  // uSIDs in the order of the route
  uint32_t sent = 0;
  uint32_t answered = 0;
};

struct BadLink {
  FabricLink link;  // or a switch
  double loss = 0;  // of one passage, 0 to 1
  bool operator==(const BadLink&) const = default;
};

struct FabricVerdict {
  std::vector<BadLink> bad;
  std::set<FabricLink> good;
  std::set<FabricLink> unknown;  // behind bad ones
};

// A link is bad if routes over it lose more than `tolerated` (a part of 1) and more than the other bad links
// explain, and if no route over it is as good as it should be. Of several that could be, the one is taken
// that explains the most. A switch is bad if all its links are of which anything is known, and these are two
// or more.
FabricVerdict judge_fabric(const std::vector<RouteResult>& results, double tolerated);

}  // namespace mrc
