// SPDX-License-Identifier: BSD-2-Clause
// The rows of mrc_bench for people, for programs and for docs/performance.md.
#pragma once

#include <vector>

#include "examples/mrc_bench/row.h"

namespace mrc::bench {

// `seconds`: that all rounds took.
void print_table(const std::vector<Row>& rows, double seconds);
void print_json(const std::vector<Row>& rows, double seconds);
void print_markdown(const std::vector<Row>& rows, double seconds);

}  // namespace mrc::bench
