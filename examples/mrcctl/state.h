// SPDX-License-Identifier: BSD-2-Clause
// mrcctl state: asks every running program of this run directory for the state of its engine.
#pragma once

#include <string>

namespace mrc {

// The exit status: 0 if all of them answered.
int show_state(const std::string& run_directory);

}  // namespace mrc
