// SPDX-License-Identifier: BSD-2-Clause
// The tables of mrc_top besides that of processes: by device, queue pair, plane and EV. A table is a list of
// columns and rows of JSON objects with their keys.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "examples/shared/stats_pages.h"

namespace mrc {

struct Column {
  const char* key;
  const char* title;
  int width;         // negative: to the left
  int decimals = 0;  // of numbers that have some
};

using Row = nlohmann::ordered_json;

// Makes the rows of one view from one reading to the next.
class View {
 public:
  // Of "device", "qp", "plane", "ev"; others are not known.
  static bool is_known(std::string_view word);
  View(std::string word, std::string run_directory);

  const std::vector<Column>& columns() const { return *columns_; }
  // Of these processes, since the last call. The first has no rates.
  std::vector<Row> read(const std::vector<ProcessStats>& processes);

 private:
  // A process when it was last seen.
  // NOLINTNEXTLINE(bugprone-exception-escape): an empty json takes no memory
  struct Before {
    uint64_t time_ns = 0;
    nlohmann::json state;
    ProcessStats stats;
  };
  using Readings = std::map<std::pair<uint32_t, uint32_t>, Before>;  // by pid and slot

  std::vector<Row> by_device(const Readings& now) const;
  std::vector<Row> by_queue_pair(const Readings& now) const;
  std::vector<Row> by_plane(const Readings& now) const;
  std::vector<Row> by_ev(const Readings& now) const;
  const Before* before(const Readings::value_type& now) const;

  const std::string word_;
  const std::string run_directory_;
  const std::vector<Column>* columns_;
  Readings last_;
};

// KEY=VALUE, KEY!=VALUE, KEY<NUMBER or KEY>NUMBER.
class RowFilter {
 public:
  // False: it is none, or there is no such column.
  bool parse(std::string_view text, const std::vector<Column>& columns);
  bool lets_pass(const Row& row) const;

 private:
  std::string key_;
  std::string relation_;
  std::string value_;
};

// The largest first; words in the order of the alphabet. False: there is no such column.
bool sort_rows(const std::string& key, const std::vector<Column>& columns, std::vector<Row>* rows);

// A line of the table, 80 columns at most; without a row its head.
std::string line_of(const std::vector<Column>& columns, const Row* row);

}  // namespace mrc
