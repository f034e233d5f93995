// SPDX-License-Identifier: BSD-2-Clause
#include "examples/mrc_bench/idle.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "examples/shared/child_process.h"

namespace mrc::bench {
namespace {

constexpr double kSettles = 0.3;      // what opening takes is over
constexpr double kLeastShown = 1e-3;  // 0 would mean that nothing was measured

// The kernel counts it in nanoseconds.
double cpu_seconds(int pid) {
  double sum = 0;
  std::error_code ignored;
  const std::string threads = "/proc/" + std::to_string(pid) + "/task";
  for (const auto& thread : std::filesystem::directory_iterator(threads, ignored)) {
    std::ifstream file(thread.path() / "schedstat");
    double nanoseconds = 0;
    file >> nanoseconds;
    sum += nanoseconds * 1e-9;
  }
  return sum;
}

}  // namespace

double idle_percent(const std::vector<std::string>& command, double seconds) {
  Process process(command, -1, seconds + 20);
  std::string line;
  if (!process.read_line(&line)) {
    std::fprintf(stderr, "mrc_bench: %s does not become idle\n", command.back().c_str());
    return 0;
  }
  usleep(static_cast<useconds_t>(kSettles * 1e6));
  const double before = cpu_seconds(process.pid());
  const double since = seconds_now();
  usleep(static_cast<useconds_t>(seconds * 1e6));
  const double used = cpu_seconds(process.pid()) - before;
  if (before > 0 && used >= 0) return std::max(100 * used / (seconds_now() - since), kLeastShown);
  std::fprintf(stderr, "mrc_bench: %s has ended: %s\n", command.back().c_str(), line.c_str());
  return 0;
}

}  // namespace mrc::bench
