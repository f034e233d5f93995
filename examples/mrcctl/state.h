// SPDX-License-Identifier: BSD-2-Clause
// mrcctl state and mrcctl paths: ask every running program of this run directory for the state of its engine.
#pragma once

#include <string>

namespace mrc {

// The exit status: 0 if all of them answered.
int show_state(const std::string& run_directory, bool json);
// One line, or object, per path of every MRC queue pair.
int show_paths(const std::string& run_directory, bool json);

}  // namespace mrc
