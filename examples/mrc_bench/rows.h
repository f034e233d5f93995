// SPDX-License-Identifier: BSD-2-Clause
// Which rows there are.
#pragma once

#include <string>
#include <vector>

#include "examples/mrc_bench/row.h"

namespace mrc::bench {

struct Scale {
  double seconds = 1;      // of measuring, for each number
  bool bare_only = false;  // only what needs neither verbs nor perftest
  std::string scratch;     // a folder for settings files, which the caller takes away
};

std::vector<Row> make_rows(const Scale& scale);

}  // namespace mrc::bench
