// SPDX-License-Identifier: BSD-2-Clause
// mrc_sim: runs the shipped engine in a simulated network, in virtual time.
#include <cstdio>
#include <cstring>
#include <string>

#include "examples/terminal/program_words.h"
#include "tests/sim/report/report_main.h"
#include "tests/sim/report/run_main.h"
#include "tests/sim/soak/soak_main.h"

namespace {

std::string usage() {
  return std::string("usage: mrc_sim soak | run | report ..., or mrc_sim --help | --version\n  ") +
         mrc::sim::kSoakUsage + "  " + mrc::sim::kRunUsage + "  " + mrc::sim::kReportUsage;
}

}  // namespace

int main(int argc, char** argv) {
  if (mrc::answer_words("mrc_sim", usage(), argc, argv)) return 0;
  if (argc < 2) {
    std::fputs(usage().c_str(), stderr);
    return mrc::kCalledWrongly;
  }
  if (std::strcmp(argv[1], "soak") == 0) return mrc::sim::soak_main(argc - 2, argv + 2);
  if (std::strcmp(argv[1], "run") == 0) return mrc::sim::run_main(argc - 2, argv + 2);
  if (std::strcmp(argv[1], "report") == 0) return mrc::sim::report_main(argc - 2, argv + 2);
  return mrc::refuse_word("mrc_sim", argv[1]);
}
