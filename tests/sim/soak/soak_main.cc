// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/soak/soak_main.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tests/sim/soak/soak.h"

namespace mrc::sim {

const char* const kSoakUsage =
    "mrc_sim soak --seeds A..B [--jobs N] [--verbose] [--trace] [--once] [--operations NAME,...] "
    "[--controllers N]\n"
    "    --trace   prints every packet: time, channel, fate, opcode, PSN, EV (one seed)\n"
    "    --once    runs every seed once; otherwise twice, and compares the hashes of the two traces\n"
    "    --controllers N  draws from the first N of: none nscc receiver_aware\n"
    "    --operations  all, or some of: write write_imm send send_imm read compare_swap fetch_add\n";

namespace {

struct Options {
  uint64_t first = 1;
  uint64_t last = 0;
  unsigned jobs = 1;
  bool verbose = false;
  bool once = false;
  bool trace = false;
  SoakOptions soak;
};

// What one process did. Sent through a pipe as it is.
struct Share {
  uint64_t seeds = 0;
  uint64_t failed = 0;
  uint64_t messages = 0;
  uint64_t frames = 0;
  uint64_t frames_gone = 0;
  uint64_t retransmits = 0;
  uint64_t errors = 0;
  uint64_t events = 0;
};
constexpr uint64_t kFailuresMax = 20;  // per process; then it stops
constexpr unsigned kHangSeconds = 120;

bool parse(int count, char** words, Options* options) {
  for (int i = 0; i < count; ++i) {
    const std::string word = words[i];
    const bool has_value = i + 1 < count;
    char* end = nullptr;
    if (word == "--verbose") {
      options->verbose = true;
    } else if (word == "--once") {
      options->once = true;
    } else if (word == "--trace") {
      options->trace = options->once = options->verbose = true;
    } else if (word == "--seeds" && has_value) {
      options->first = options->last = std::strtoull(words[++i], &end, 10);
      if (std::strncmp(end, "..", 2) == 0) options->last = std::strtoull(end + 2, &end, 10);
      if (*end != 0) return false;
    } else if (word == "--jobs" && has_value) {
      options->jobs = static_cast<unsigned>(std::strtoul(words[++i], &end, 10));
      if (*end != 0 || options->jobs < 1 || options->jobs > 64) return false;
    } else if (word == "--controllers" && has_value) {
      options->soak.controllers = static_cast<uint32_t>(std::strtoul(words[++i], &end, 10));
      if (*end != 0 || options->soak.controllers < 1 || options->soak.controllers > 3) return false;
    } else if (word == "--operations" && has_value) {
      if (!parse_operations(words[++i], &options->soak.operations)) return false;
    } else {
      return false;
    }
  }
  if (options->trace) options->soak.trace = stdout;
  return options->last >= options->first && (!options->trace || options->first == options->last);
}

void print(uint64_t seed, const SoakResult& result) {
  std::printf("seed %" PRIu64 ": %s%s\n  %s\n", seed, result.ok ? "ok" : "FAILED: ", result.failure.c_str(),
              result.setting.c_str());
  std::printf("  %" PRIu64 " messages, %" PRIu64 " frames (%" PRIu64 " lost or dropped), %" PRIu64
              " retransmits, %.3f ms virtual, trace %016" PRIx64 "\n",
              result.messages, result.frames, result.frames_gone, result.retransmits,
              to_microseconds(result.virtual_time) / 1000, result.trace);
  if (!result.ok) std::printf("  replay: mrc_sim soak --seeds %" PRIu64 " --trace\n", seed);
  std::fflush(stdout);
}

uint64_t running_seed = 0;

// The engine does not come back from a call.
void on_hang(int) {
  char text[160];
  const int length = std::snprintf(text, sizeof text,
                                   "seed %" PRIu64
                                   ": FAILED: hangs, no result within %u s\n  replay: mrc_sim soak "
                                   "--seeds %" PRIu64 " --trace\n",
                                   running_seed, kHangSeconds, running_seed);
  _exit(write(STDOUT_FILENO, text, static_cast<size_t>(length)) > 0 ? 3 : 4);
}

// Every jobs-th seed, starting at `start`.
Share run_share(const Options& options, uint64_t start) {
  Share share;
  std::signal(SIGALRM, on_hang);
  for (uint64_t seed = start; seed <= options.last && share.failed < kFailuresMax; seed += options.jobs) {
    running_seed = seed;
    alarm(options.trace ? 0 : kHangSeconds);
    SoakResult result = run_soak_seed(seed, options.soak);
    if (result.ok && !options.once && run_soak_seed(seed, options.soak).trace != result.trace) {
      result.ok = false;
      result.failure = "the second run differs from the first";
    }
    if (options.verbose || !result.ok) print(seed, result);
    ++share.seeds;
    if (!result.ok) ++share.failed;
    share.messages += result.messages;
    share.frames += result.frames;
    share.frames_gone += result.frames_gone;
    share.retransmits += result.retransmits;
    share.errors += result.errors;
    share.events += result.events;
  }
  alarm(0);
  return share;
}

void add(Share* sum, const Share& share) {
  sum->seeds += share.seeds;
  sum->failed += share.failed;
  sum->messages += share.messages;
  sum->frames += share.frames;
  sum->frames_gone += share.frames_gone;
  sum->retransmits += share.retransmits;
  sum->errors += share.errors;
  sum->events += share.events;
}

// One process per job. False: one of them did not come to its end.
bool run_jobs(const Options& options, Share* sum) {
  int ends[2];
  if (pipe(ends) != 0) {
    std::fprintf(stderr, "mrc_sim: pipe: %s\n", std::strerror(errno));
    return false;
  }
  std::fflush(stdout);
  for (unsigned job = 0; job < options.jobs; ++job) {
    const pid_t child = fork();
    if (child < 0) {
      std::fprintf(stderr, "mrc_sim: fork: %s\n", std::strerror(errno));
      return false;
    }
    if (child > 0) continue;
    const Share share = run_share(options, options.first + job);
    std::fflush(stdout);
    _exit(write(ends[1], &share, sizeof share) == sizeof share ? 0 : 1);
  }
  close(ends[1]);
  bool all = true;
  Share share;
  while (read(ends[0], &share, sizeof share) == sizeof share) add(sum, share);
  for (int status; wait(&status) > 0;) all &= WIFEXITED(status) && WEXITSTATUS(status) == 0;
  close(ends[0]);
  return all;
}

}  // namespace

int soak_main(int count, char** words) {
  Options options;
  if (!parse(count, words, &options)) {
    std::fprintf(stderr, "usage: %s", kSoakUsage);
    return 2;
  }
  const auto started = std::chrono::steady_clock::now();
  Share sum;
  bool all = true;
  if (options.jobs == 1) {
    sum = run_share(options, options.first);
  } else {
    all = run_jobs(options, &sum);
  }
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - started;
  std::printf("soak: %" PRIu64 " seeds, %" PRIu64 " failed; %" PRIu64 " messages, %" PRIu64
              " frames, %" PRIu64 " lost or dropped, %" PRIu64 " retransmits, %" PRIu64
              " connections that were cut off ended with an error; %" PRIu64 " events, %.1f s\n",
              sum.seeds, sum.failed, sum.messages, sum.frames, sum.frames_gone, sum.retransmits, sum.errors,
              sum.events, taken.count());
  if (!all)
    std::printf("soak: a process ended early (an assertion or a crash); run with --jobs 1 to see it\n");
  return sum.failed == 0 && all ? 0 : 1;
}

}  // namespace mrc::sim
