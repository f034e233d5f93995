// SPDX-License-Identifier: BSD-2-Clause
// mrc_sim run: one scenario from the command line.
#pragma once

#include <string>

#include "tests/sim/scenarios/scenario.h"

namespace mrc::sim {

extern const char* const kRunUsage;
// Arguments behind "run". The exit status: 0 all targets met, 1 one was missed, 2 wrong usage.
int run_main(int count, char** words);

// One option that all scenarios understand, with its value. Null: taken; otherwise what the value should be,
// or kUnknownOption.
extern const char* const kUnknownOption;
const char* parse_scenario_option(const std::string& word, const char* value, ScenarioOptions* options);

}  // namespace mrc::sim
