// SPDX-License-Identifier: BSD-2-Clause
// mrc_sim: runs the shipped engine in virtual time.
//   mrc_sim soak --seeds A..B [--jobs N] [--verbose]
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/sim/soak.h"

namespace {

struct SoakOptions {
  uint64_t first = 1;
  uint64_t last = 200;
  unsigned jobs = 1;
  bool verbose = false;
};

int usage() {
  std::fprintf(stderr, "usage: mrc_sim soak --seeds A..B [--jobs N] [--verbose]\n");
  return 2;
}

bool parse(int count, char** words, SoakOptions* options) {
  for (int i = 0; i < count; ++i) {
    const std::string word = words[i];
    char* end = nullptr;
    if (word == "--verbose") {
      options->verbose = true;
    } else if (word == "--seeds" && i + 1 < count) {
      options->first = options->last = std::strtoull(words[++i], &end, 10);
      if (std::strncmp(end, "..", 2) == 0) options->last = std::strtoull(end + 2, &end, 10);
      if (*end != 0 || options->last < options->first) return false;
    } else if (word == "--jobs" && i + 1 < count) {
      options->jobs = static_cast<unsigned>(std::strtoul(words[++i], &end, 10));
      if (*end != 0 || options->jobs < 1 || options->jobs > 64) return false;
    } else {
      return false;
    }
  }
  return true;
}

// Every jobs-th seed, starting at `start`; the number that failed, at most 100.
int run_share(const SoakOptions& options, uint64_t start) {
  int failed = 0;
  for (uint64_t seed = start; seed <= options.last; seed += options.jobs) {
    const mrc::sim::SoakResult result = mrc::sim::run_soak_seed(seed);
    if (options.verbose || !result.ok)
      std::printf(
          "seed %llu: %s%s\n  %s\n  %llu messages, %llu frames, %llu retransmits, %.3f ms virtual, trace "
          "%016llx\n",
          static_cast<unsigned long long>(seed), result.ok ? "ok" : "FAILED: ", result.failure.c_str(),
          result.setting.c_str(), static_cast<unsigned long long>(result.messages),
          static_cast<unsigned long long>(result.frames), static_cast<unsigned long long>(result.retransmits),
          static_cast<double>(result.virtual_ns) / 1e6, static_cast<unsigned long long>(result.trace));
    if (!result.ok) {
      std::printf("  replay: mrc_sim soak --seeds %llu --verbose\n", static_cast<unsigned long long>(seed));
      if (++failed == 100) break;
    }
    std::fflush(stdout);
  }
  return failed;
}

int soak(const SoakOptions& options) {
  std::printf("soak: seeds %llu..%llu, %u jobs\n", static_cast<unsigned long long>(options.first),
              static_cast<unsigned long long>(options.last), options.jobs);
  std::fflush(stdout);
  for (unsigned job = 0; job < options.jobs; ++job) {
    const pid_t child = fork();
    if (child < 0) {
      std::fprintf(stderr, "mrc_sim: fork: %s\n", std::strerror(errno));
      return 1;
    }
    if (child == 0) std::exit(run_share(options, options.first + job));
  }
  bool failed = false;
  for (int status; wait(&status) > 0;) failed |= !WIFEXITED(status) || WEXITSTATUS(status) != 0;
  std::printf("soak: %s\n", failed ? "FAILED" : "all seeds passed");
  return failed ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  SoakOptions options;
  if (argc < 2 || std::strcmp(argv[1], "soak") != 0 || !parse(argc - 2, argv + 2, &options)) return usage();
  return soak(options);
}
