// SPDX-License-Identifier: BSD-2-Clause
// Starting and ending a lab, and running a program in it.
#pragma once

#include <string>
#include <vector>

#include "examples/lab/state.h"
#include "examples/lab/topology.h"

namespace mrc::lab {

// Exit codes beside 0 and 1.
inline constexpr int kNoNamespaces = 3;  // this system lets nobody make namespaces

// Returns when the lab is ready; with `foreground` not before it has ended.
int bring_up(const State& state, const Shape& shape, bool foreground);
int take_down(const State& state);
// Runs a program in a host (with mrc0) or a switch; gives its exit status, or 128 + the signal that ended it.
int run_inside(const State& state, const std::string& node, char** command);

}  // namespace mrc::lab
