// SPDX-License-Identifier: BSD-2-Clause
// The smallest network with choices: two hosts, each at a leaf of its own, and spines between them.
#pragma once

#include <cstdint>

#include "tests/sim/scenarios/world.h"

namespace mrc::sim {

// As many paths as spines. What a scenario wants otherwise it sets before it applies its options.
inline WorldConfig two_hosts(uint32_t planes, uint32_t spines) {
  WorldConfig config;
  config.topology.planes = planes;
  config.topology.leaves = 2;
  config.topology.hosts_per_leaf = 1;
  config.topology.spines = spines;
  config.paths = spines;
  return config;
}

// The same with 800 Gb/s, and paths by uSIDs: every spine carries something. With a hash the one that dies
// may have had no path.
inline WorldConfig two_fast_hosts(uint32_t paths, const ScenarioOptions& options) {
  WorldConfig config = two_hosts(8, 16);
  config.paths = paths;
  config.window_packets = 2048;
  config.srv6 = true;
  config.apply(options);
  config.buffer_bytes = options.size.value_or(1u << 20);
  return config;
}

// For tests.
inline WorldConfig two_hosts(uint32_t planes) {
  WorldConfig config = two_hosts(planes, 8);
  config.buffer_bytes = 1 << 20;
  config.apply({});
  return config;
}

}  // namespace mrc::sim
