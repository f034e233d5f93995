// SPDX-License-Identifier: BSD-2-Clause
#include "examples/mrc_top/rows.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace mrc {
namespace {

std::string text_of(const Row& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

bool RowFilter::parse(std::string_view text) {
  const size_t at = text.find_first_of("!=<>");
  if (at == std::string_view::npos || at == 0) return false;
  key_ = text.substr(0, at);
  const size_t relation = text.substr(at, 2) == "!=" ? 2 : 1;
  relation_ = text.substr(at, relation);
  value_ = text.substr(at + relation);
  if (relation_ == "!") return false;
  if (relation_ == "=" || relation_ == "!=") return true;
  char* end = nullptr;
  std::strtod(value_.c_str(), &end);
  return !value_.empty() && *end == '\0';
}

bool RowFilter::lets_pass(const Row& row) const {
  const auto found = row.find(key_);
  if (found == row.end()) return false;
  if (relation_ == "=" || relation_ == "!=") return (text_of(*found) == value_) == (relation_ == "=");
  if (!found->is_number()) return false;
  const double number = found->get<double>();
  const double limit = std::strtod(value_.c_str(), nullptr);
  return relation_ == "<" ? number < limit : number > limit;
}

void sort_rows(const std::string& key, bool reversed, std::vector<Row>* rows) {
  const auto comes_first = [&](const Row& left, const Row& right) {
    const Row& one = left.at(key);
    const Row& other = right.at(key);
    if (one.is_number() && other.is_number()) return one.get<double>() > other.get<double>();
    return text_of(one) < text_of(other);
  };
  std::stable_sort(rows->begin(), rows->end(), [&](const Row& left, const Row& right) {
    return reversed ? comes_first(right, left) : comes_first(left, right);
  });
}

std::string cell_of(const Column& column, const Row* row) {
  char cell[64];
  const Row* value = row != nullptr ? &row->at(column.key) : nullptr;
  if (value != nullptr && value->is_number())
    std::snprintf(cell, sizeof cell, "%*.*f", column.width, column.decimals, value->get<double>());
  else
    std::snprintf(cell, sizeof cell, "%*.*s", column.width, std::abs(column.width),
                  value != nullptr ? text_of(*value).c_str() : column.title);
  return cell;
}

std::string line_of(const Columns& columns, const Row* row) {
  std::string line;
  for (const Column& column : columns) line += (line.empty() ? "" : " ") + cell_of(column, row);
  return line;
}

}  // namespace mrc
