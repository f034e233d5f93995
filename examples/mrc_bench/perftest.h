// SPDX-License-Identifier: BSD-2-Clause
// Runs a program of perftest as server and client on this host through mrcrun, and reads its table.
#pragma once

#include <string>
#include <vector>

namespace mrc::bench {

struct PerftestRun {
  std::string mrcrun;
  std::vector<std::string> words;  // the program and its options
  size_t column = 0;               // of the number wanted, in the line that begins with the size
  std::string size;
  int cpu = -1;  // >= 0: both pinned there
  double seconds_max = 20;
};

// 0: it did not work; the reason has been printed.
double run_perftest(const PerftestRun& run);

}  // namespace mrc::bench
