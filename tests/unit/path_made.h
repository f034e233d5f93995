// SPDX-License-Identifier: BSD-2-Clause
// Path sets for tests: so many paths on so many planes, all alike.
#pragma once

#include <cstdint>

#include "libmrc/path/path_set.h"

namespace mrc {

inline PathSet make(uint32_t planes, uint32_t paths, uint32_t min_active = 1, uint64_t seed = 1) {
  PathSetConfig config;
  config.planes = planes;
  config.paths_per_plane = paths;
  config.min_active = min_active;
  PathSet set;
  set.reset(config, seed);
  return set;
}

inline constexpr PlaneMask kAll = 0xFFFF;

}  // namespace mrc
