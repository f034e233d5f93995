// SPDX-License-Identifier: BSD-2-Clause
#include "examples/report/measure.h"

#include <cmath>
#include <cstdio>

namespace mrc::report {

std::string format_value(double value) {
  char text[40];
  if (value == std::floor(value) && std::fabs(value) < 1e15) {
    std::snprintf(text, sizeof text, "%.0f", value);
  } else {
    std::snprintf(text, sizeof text, std::fabs(value) < 10 ? "%.4f" : "%.1f", value);
  }
  return text;
}

std::string format_target(const Row& row) {
  if (!row.target) return {};
  char text[40];
  std::snprintf(text, sizeof text, "%s %g", row.at_least ? ">=" : "<=", *row.target);
  return text;
}

}  // namespace mrc::report
