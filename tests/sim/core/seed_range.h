// SPDX-License-Identifier: BSD-2-Clause
// "5" or "1..20": the seeds of a command.
#pragma once

#include <cstdint>

namespace mrc::sim {

struct SeedRange {
  uint64_t first = 1;
  uint64_t last = 0;

  bool empty() const { return last < first; }
  uint64_t count() const { return empty() ? 0 : last - first + 1; }
};

// False: the text is no range, or has no seed in it.
bool parse_seeds(const char* text, SeedRange* range);

}  // namespace mrc::sim
