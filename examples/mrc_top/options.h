// SPDX-License-Identifier: BSD-2-Clause
// The command line of mrc_top.
#pragma once

#include <cstdint>

#include "examples/mrc_top/controls.h"

namespace mrc {

extern const char* const kTopUsage;

enum class TopMode { kTable, kOnce, kLines, kJson };

struct TopOptions {
  TopMode mode = TopMode::kTable;
  Controls controls;
  uint32_t pid = 0;
  int interval_ms = 0;
  double seconds = 0;
};

// The word that cannot be used; null: all is well.
const char* parse_options(int count, char** words, TopOptions* options);

}  // namespace mrc
