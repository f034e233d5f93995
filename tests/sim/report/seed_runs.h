// SPDX-License-Identifier: BSD-2-Clause
// A scenario with many seeds, each in a process of its own: several at once, and what one uses or breaks is
// not another's.
#pragma once

#include "tests/sim/core/seed_range.h"
#include "tests/sim/report/seed_summary.h"

namespace mrc::sim {

// Throws std::invalid_argument for what the scenario refuses, std::runtime_error if there are no processes.
SeedSummary run_seeds(const Scenario& scenario, const ScenarioOptions& options, const SeedRange& seeds,
                      unsigned jobs);

}  // namespace mrc::sim
