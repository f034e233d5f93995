// SPDX-License-Identifier: BSD-2-Clause
// A plot as inline SVG.
#pragma once

#include <string>

#include "tests/sim/scenarios/scenario.h"

namespace mrc::sim {

std::string to_svg(const Plot& plot);

}  // namespace mrc::sim
