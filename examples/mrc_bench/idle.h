// SPDX-License-Identifier: BSD-2-Clause
// What a program that does nothing takes of a CPU, with all of its threads.
#pragma once

#include <string>
#include <vector>

namespace mrc::bench {

// Percent. The program says a line when it has nothing more to do; then it is measured, and killed. 0: it did
// not work; the reason has been printed.
double idle_percent(const std::vector<std::string>& command, double seconds);

}  // namespace mrc::bench
