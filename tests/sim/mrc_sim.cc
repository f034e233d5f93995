// SPDX-License-Identifier: BSD-2-Clause
// mrc_sim: runs the shipped engine in a simulated network, in virtual time.
#include <cstdio>
#include <cstring>

#include "tests/sim/report/report_main.h"
#include "tests/sim/scenarios/run_main.h"
#include "tests/sim/soak/soak_main.h"

namespace {

int usage() {
  std::fprintf(stderr, "usage:\n  %s  %s  %s", mrc::sim::kSoakUsage, mrc::sim::kRunUsage,
               mrc::sim::kReportUsage);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return usage();
  if (std::strcmp(argv[1], "soak") == 0) return mrc::sim::soak_main(argc - 2, argv + 2);
  if (std::strcmp(argv[1], "run") == 0) return mrc::sim::run_main(argc - 2, argv + 2);
  if (std::strcmp(argv[1], "report") == 0) return mrc::sim::report_main(argc - 2, argv + 2);
  return usage();
}
