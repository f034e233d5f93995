// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/soak/soak_main.h"

#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <vector>

#include "examples/terminal/progress_line.h"
#include "tests/sim/core/seed_range.h"
#include "tests/sim/soak/soak.h"

namespace mrc::sim {

const char* const kSoakUsage =
    "mrc_sim soak --seeds A..B [--jobs N] [--verbose] [--trace [--twice]] [--once] [--operations NAME,...] "
    "[--controllers N]\n"
    "    --trace   prints every packet: time, channel, fate, opcode, PSN, EV (one seed; --twice: of two "
    "runs)\n"
    "    --once    runs every seed once; otherwise twice, and compares the hashes of the two traces\n"
    "    --controllers N  draws from the first N of: none nscc receiver_aware\n"
    "    --operations  all, or some of: write write_imm send send_imm read compare_swap fetch_add flush\n";

namespace {

struct Options {
  SeedRange seeds;
  unsigned jobs = 1;
  bool verbose = false;
  bool once = false;
  bool trace = false;
  std::string drawn_from;  // the words that change what a seed draws, for the command that replays it
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
  Coverage coverage;
};
static_assert(std::is_trivially_copyable_v<Share>);
constexpr uint64_t kFailuresMax = 20;     // per process; then it stops
constexpr unsigned kHangSeconds = 120;    // of CPU time: a machine that stands still is no hang
constexpr uint64_t kSeedsCoverAll = 500;  // so many seeds meet everything there is

bool parse(int count, char** words, Options* options) {
  bool twice = false;
  for (int i = 0; i < count; ++i) {
    const std::string word = words[i];
    const bool has_value = i + 1 < count;
    char* end = nullptr;
    if (word == "--verbose") {
      options->verbose = true;
    } else if (word == "--once") {
      options->once = true;
    } else if (word == "--twice") {
      twice = true;
    } else if (word == "--trace") {
      options->trace = options->verbose = true;
    } else if (word == "--seeds" && has_value) {
      if (!parse_seeds(words[++i], &options->seeds)) return false;
    } else if (word == "--jobs" && has_value) {
      options->jobs = static_cast<unsigned>(std::strtoul(words[++i], &end, 10));
      if (*end != 0 || options->jobs < 1 || options->jobs > 64) return false;
    } else if (word == "--controllers" && has_value) {
      options->soak.controllers = static_cast<uint32_t>(std::strtoul(words[++i], &end, 10));
      if (*end != 0 || options->soak.controllers < 1 || options->soak.controllers > 3) return false;
      options->drawn_from += " --controllers " + std::string(words[i]);
    } else if (word == "--operations" && has_value) {
      if (!parse_operations(words[++i], &options->soak.operations)) return false;
      options->drawn_from += " --operations " + std::string(words[i]);
    } else {
      std::fprintf(stderr, "mrc_sim: soak: '%s' is not known here, or its value is missing\n", words[i]);
      return false;
    }
  }
  if (options->trace) {
    options->soak.trace = stdout;
    options->once = !twice;
    std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);  // all of it is there should the engine crash
  }
  return !options->seeds.empty() && (!options->trace || options->seeds.count() == 1);
}

std::string replay_command(const Options& options, uint64_t seed) {
  return "mrc_sim soak --seeds " + std::to_string(seed) + options.drawn_from + " --trace";
}

void print(const Options& options, uint64_t seed, const SoakResult& result) {
  std::printf("seed %" PRIu64 ": %s%s\n  %s\n", seed, result.ok ? "ok" : "FAILED: ", result.failure.c_str(),
              result.setting.c_str());
  std::printf("  %" PRIu64 " messages, %" PRIu64 " frames (%" PRIu64 " lost or dropped), %" PRIu64
              " retransmits, %.3f ms virtual, trace %016" PRIx64 "\n",
              result.messages, result.frames, result.frames_gone, result.retransmits,
              to_microseconds(result.virtual_time) / 1000, result.trace);
  if (!result.ok)
    std::printf("  replay: %s%s\n", replay_command(options, seed).c_str(), result.differs ? " --twice" : "");
  std::fflush(stdout);
}

// What to say should the seed that is running not come to its end; written before it starts.
char epitaph[2][400];
size_t epitaph_bytes[2];

void prepare_epitaphs(const Options& options, uint64_t seed) {
  const std::string what[2] = {"hangs, no result within " + std::to_string(kHangSeconds) + " s of CPU time",
                               "crashed: an assertion, or memory that is not its own"};
  for (int i = 0; i < 2; ++i) {
    const std::string text = "seed " + std::to_string(seed) + ": FAILED: " + what[i] +
                             "\n  replay: " + replay_command(options, seed) + "\n";
    epitaph_bytes[i] = text.copy(epitaph[i], sizeof epitaph[i]);
  }
}

// From now on; 0: none.
void watch_for_hang(unsigned seconds) {
  const itimerval limit = {{}, {static_cast<time_t>(seconds), 0}};
  setitimer(ITIMER_PROF, &limit, nullptr);
}

// The engine does not come back from a call.
void on_hang(int) {
  _exit(write(STDOUT_FILENO, epitaph[0], epitaph_bytes[0]) > 0 ? 3 : 4);
}

constexpr int kCrashes[] = {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};
struct sigaction before_crash[std::size(kCrashes)];

// Says which seed it was; then what would have happened without this (a core, a sanitizer's report).
void on_crash(int signal) {
  if (write(STDOUT_FILENO, epitaph[1], epitaph_bytes[1]) < 0) _exit(4);
  for (size_t i = 0; i < std::size(kCrashes); ++i)
    if (kCrashes[i] == signal) sigaction(signal, &before_crash[i], nullptr);
}

void watch_for_crashes() {
  struct sigaction action = {};
  action.sa_handler = on_crash;
  for (size_t i = 0; i < std::size(kCrashes); ++i) sigaction(kCrashes[i], &action, &before_crash[i]);
}

// How many seeds all processes have done, in memory that they share.
class SeedsDone {
 public:
  SeedsDone()
      : page_(mmap(nullptr, sizeof(Count), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (page_ == MAP_FAILED) throw std::bad_alloc();
    count_ = new (page_) Count(0);
  }
  ~SeedsDone() { munmap(page_, sizeof(Count)); }
  SeedsDone(const SeedsDone&) = delete;
  SeedsDone& operator=(const SeedsDone&) = delete;

  using Count = std::atomic<uint64_t>;
  static_assert(Count::is_always_lock_free);  // a lock would not be shared
  Count& count() { return *count_; }

 private:
  void* page_;
  Count* count_;
};

// Every jobs-th seed, starting at `start`.
Share run_share(const Options& options, uint64_t start, SeedsDone& done) {
  Share share;
  std::signal(SIGPROF, on_hang);
  watch_for_crashes();
  for (uint64_t seed = start; seed <= options.seeds.last && share.failed < kFailuresMax;
       seed += options.jobs) {
    prepare_epitaphs(options, seed);
    watch_for_hang(options.trace ? 0 : kHangSeconds);
    SoakResult result = run_soak_seed(seed, options.soak);
    if (result.ok && !options.once && run_soak_seed(seed, options.soak).trace != result.trace) {
      result.ok = false;
      result.differs = true;
      result.failure = "the second run differs from the first";
    }
    if (options.verbose || !result.ok) {
      if (!options.verbose) ProgressLine::give_way();
      print(options, seed, result);
    }
    ++share.seeds;
    ++done.count();
    if (!result.ok) ++share.failed;
    share.messages += result.messages;
    share.frames += result.frames;
    share.frames_gone += result.frames_gone;
    share.retransmits += result.retransmits;
    share.errors += result.errors;
    share.events += result.events;
    share.coverage.add(result.coverage);
  }
  watch_for_hang(0);
  return share;
}

// Where every seed is printed, that says enough.
std::unique_ptr<ProgressLine> show_progress(const Options& options, SeedsDone& done) {
  if (options.verbose) return nullptr;
  auto progress = std::make_unique<ProgressLine>("seed", options.seeds.count());
  progress->follow(&done.count());
  return progress;
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
  sum->coverage.add(share.coverage);
}

// One process per job. False: one of them did not come to its end.
bool run_jobs(const Options& options, Share* sum, SeedsDone& done) {
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
    const Share share = run_share(options, options.seeds.first + job, done);
    std::fflush(stdout);
    _exit(write(ends[1], &share, sizeof share) == sizeof share ? 0 : 1);
  }
  close(ends[1]);
  const auto progress = show_progress(options, done);
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
  SeedsDone done;
  bool all = true;
  if (options.jobs == 1) {
    const auto progress = show_progress(options, done);
    sum = run_share(options, options.seeds.first, done);
  } else {
    all = run_jobs(options, &sum, done);
  }
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - started;
  std::printf("soak: %" PRIu64 " seeds, %" PRIu64 " failed; %" PRIu64 " messages, %" PRIu64
              " frames, %" PRIu64 " lost or dropped, %" PRIu64 " retransmits, %" PRIu64
              " connections that were cut off ended with an error; %" PRIu64 " events, %.1f s\n",
              sum.seeds, sum.failed, sum.messages, sum.frames, sum.frames_gone, sum.retransmits, sum.errors,
              sum.events, taken.count());
  if (sum.seeds > 1) std::printf("%s\n", sum.coverage.summary().c_str());
  // A checker that never sees what it is for finds nothing.
  const bool covered =
      sum.seeds < kSeedsCoverAll || !options.drawn_from.empty() || sum.coverage.missing().empty();
  if (!covered) std::printf("soak: FAILED: no seed met%s\n", sum.coverage.missing().c_str());
  if (!all) std::printf("soak: a process ended early (an assertion or a crash, see above)\n");
  return sum.failed == 0 && all && covered ? 0 : 1;
}

}  // namespace mrc::sim
