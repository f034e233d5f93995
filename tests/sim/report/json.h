// SPDX-License-Identifier: BSD-2-Clause
// A scenario's result as text: JSON for programs, a table for people.
#pragma once

#include <string>

#include "tests/sim/scenarios/scenario.h"

namespace mrc::sim {

// {"scenario","seed","rows":[{"name","value","unit","target","ok"}]}
std::string to_json(const ScenarioResult& result);
std::string to_table(const ScenarioResult& result);

// Parts of it.
std::string json_text(const std::string& text);
std::string json_number(double value);
// ,"target", "bound" and "published", the last two where there are some.
std::string json_target(const Row& row);

}  // namespace mrc::sim
