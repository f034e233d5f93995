// SPDX-License-Identifier: BSD-2-Clause
// Programs that measure by themselves, perftest's, UCX's and our mrc_perf: each is started as server and
// client on this host, and its table is read.
#pragma once

#include <string>
#include <vector>

namespace mrc::bench {

using Words = std::vector<std::string>;

// A TCP port that probably nobody has, each time another.
unsigned next_port();

struct PerftestRun {
  Words command;      // the program, what it is started with, and its options
  std::string size;   // of a message
  size_t column = 0;  // of the number wanted, in the line that begins with the size
  int cpu = -1;       // >= 0: both pinned there
  double seconds_max = 20;
};
// 0: it did not work; the reason has been printed.
double run_perftest(const PerftestRun& run);

struct UcxRun {
  Words command;
  Words client_options;
  size_t column = 0;  // of the number wanted, in the line that begins with "Final:"
  double seconds_max = 20;
};
double run_ucx(const UcxRun& run);

struct MrcPerfRun {
  Words command;
  Words client_options;  // the server does what the client asks for
  std::string size;
  size_t column = 0;
  double seconds_max = 20;
};
double run_mrc_perf(const MrcPerfRun& run);

}  // namespace mrc::bench
