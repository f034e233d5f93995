// SPDX-License-Identifier: BSD-2-Clause
// How much memory this process has needed at most.
#pragma once

#include <sys/resource.h>

namespace mrc::sim {

inline double peak_memory_gib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / (1024.0 * 1024.0);  // Linux counts in KiB
}

}  // namespace mrc::sim
