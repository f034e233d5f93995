// SPDX-License-Identifier: BSD-2-Clause
// What the devices of a run directory count and have, as OpenMetrics text: for Prometheus and its kin.
#pragma once

#include <string>

namespace mrc {

// False: `text` says why there is none.
bool metrics_text(const std::string& run_directory, std::string* text);

// Of that text, in HTTP's words.
inline constexpr const char* kMetricsType = "application/openmetrics-text; version=1.0.0; charset=utf-8";

}  // namespace mrc
