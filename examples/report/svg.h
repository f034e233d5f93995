// SPDX-License-Identifier: BSD-2-Clause
// A plot as SVG: a file of its own, or a part of a page.
#pragma once

#include <string>

#include "examples/report/measure.h"

namespace mrc::report {

// Text as it may stand in HTML and SVG.
std::string escape(const std::string& text);
std::string to_svg(const Plot& plot);

}  // namespace mrc::report
