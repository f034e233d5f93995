// SPDX-License-Identifier: BSD-2-Clause
// A table: columns, and rows that are JSON objects with their keys; how rows are chosen, sorted and written.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace mrc {

struct Column {
  const char* key;
  const char* title;
  int width;         // negative: to the left
  int decimals = 0;  // of numbers that have some
};
using Columns = std::vector<Column>;

using Row = nlohmann::ordered_json;

// KEY=VALUE, KEY!=VALUE, KEY<NUMBER or KEY>NUMBER.
class RowFilter {
 public:
  // False: it is none.
  bool parse(std::string_view text);
  const std::string& key() const { return key_; }
  std::string text() const { return key_ + relation_ + value_; }
  bool lets_pass(const Row& row) const;

 private:
  std::string key_;
  std::string relation_;
  std::string value_;
};

// The largest first, and words in the order of the alphabet; or the other way round.
void sort_rows(const std::string& key, bool reversed, std::vector<Row>* rows);

// One cell, as wide as its column; without a row its title.
std::string cell_of(const Column& column, const Row* row);
// A line of the table, 80 columns at most; without a row its head.
std::string line_of(const Columns& columns, const Row* row);

}  // namespace mrc
