// SPDX-License-Identifier: BSD-2-Clause
// All results on one page, with nothing loaded from elsewhere.
#pragma once

#include <string>
#include <vector>

#include "tests/sim/scenarios/scenario.h"

namespace mrc::sim {

struct TimedResult {
  ScenarioResult result;
  std::string summary;  // of the scenario
  double seconds = 0;   // of wall time
};

std::string escape(const std::string& text);
std::string to_html(const std::vector<TimedResult>& results);

}  // namespace mrc::sim
