// SPDX-License-Identifier: BSD-2-Clause
// An experiment's plot as an SVG picture.
#pragma once

#include <string>

#include "examples/lab/experiment.h"

namespace mrc::lab {

std::string plot(const std::string& title, const Result& result);

}  // namespace mrc::lab
