// SPDX-License-Identifier: BSD-2-Clause
// The tables of mrc_top: by process, device, queue pair, plane and EV.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "examples/mrc_top/readings.h"
#include "examples/mrc_top/rows.h"

namespace mrc {

struct View {
  const char* word;
  Columns columns;
  Columns causes;                 // instead: why packets are sent again
  std::vector<const char*> more;  // keys of its rows that are no columns
  bool needs_state;               // of the processes
  std::vector<Row> (*rows)(const Readings& readings);

  bool has_key(std::string_view key) const;
};

std::span<const View> all_views();
// Null: there is none of that name.
const View* find_view(std::string_view word);

}  // namespace mrc
