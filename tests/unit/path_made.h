// SPDX-License-Identifier: BSD-2-Clause
// Path sets for tests: so many paths on so many planes, all alike; and one that is sprayed over, as a queue
// pair that has one to itself does it.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "libmrc/path/path_set.h"
#include "libmrc/path/path_turns.h"

namespace mrc {

class SprayedPaths : public PathSet {
 public:
  void reset(const PathSetConfig& config, uint64_t seed) {
    PathSet::reset(config, seed);
    turns_.reset(*this, ~seed);
  }
  void reset(const PathSetConfig& config, std::vector<EvEntry> entries, uint64_t seed) {
    PathSet::reset(config, std::move(entries), seed);
    turns_.reset(*this, ~seed);
  }
  void reset(const PathSetConfig& config, const EvEntries& entries, uint64_t seed) {
    PathSet::reset(config, entries, seed);
    turns_.reset(*this, ~seed);
  }
  PathId select(PlaneMask usable) { return turns_.select(*this, usable); }
  PathId select_sooner(PlaneMask usable) { return turns_.select_sooner(*this, usable); }
  PathId next_in_use(PlaneMask usable) { return turns_.next_in_use(*this, usable); }

 private:
  PathTurns turns_;
};

inline SprayedPaths make(uint32_t planes, uint32_t paths, uint32_t min_active = 1, uint64_t seed = 1) {
  PathSetConfig config;
  config.planes = planes;
  config.paths_per_plane = paths;
  config.min_active = min_active;
  SprayedPaths set;
  set.reset(config, seed);
  return set;
}

inline constexpr PlaneMask kAll = 0xFFFF;

}  // namespace mrc
