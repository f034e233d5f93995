// SPDX-License-Identifier: BSD-2-Clause
// mrc_sim: runs the shipped engine in a simulated network, in virtual time.
#include <cstdio>
#include <cstring>

#include "tests/sim/soak/soak_main.h"

namespace {

int usage() {
  std::fprintf(stderr, "usage:\n  %s", mrc::sim::kSoakUsage);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return usage();
  if (std::strcmp(argv[1], "soak") == 0) return mrc::sim::soak_main(argc - 2, argv + 2);
  return usage();
}
