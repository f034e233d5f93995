// SPDX-License-Identifier: BSD-2-Clause
// What this process has used: memory at most, processor time so far.
#pragma once

#include <sys/resource.h>

#include <ctime>

namespace mrc::sim {

inline double peak_memory_gib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / (1024.0 * 1024.0);  // Linux counts in KiB
}

inline double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace mrc::sim
