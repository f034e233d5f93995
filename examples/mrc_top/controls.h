// SPDX-License-Identifier: BSD-2-Clause
// What whoever looks has chosen, on the command line and then by keys: view, columns, order, filters.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "examples/mrc_top/rows.h"
#include "examples/mrc_top/views.h"

namespace mrc {

// Keys that are no letters.
enum Key : int { kNoKey = -1, kKeyUp = 256, kKeyDown, kKeyLeft, kKeyRight, kKeyPageUp, kKeyPageDown };

class Controls {
 public:
  enum class Effect { kNone, kShow, kRead, kQuit };

  // False: there is no such view, column or filter. Views forget what the next does not have.
  bool choose_view(std::string_view word);
  bool choose_sort(std::string_view key);
  bool add_filter(std::string_view text);
  void show_causes() { causes_ = true; }

  const View& view() const { return *view_; }
  const Columns& columns() const { return causes_ ? view_->causes : view_->columns; }
  const std::string& sort() const { return sort_; }  // empty: as they come
  // Leaves out what the filters do not let pass, and sorts.
  void apply(std::vector<Row>* rows) const;

  // `page`: so many rows are seen at once.
  Effect on_key(int key, size_t page);
  bool paused() const { return paused_; }
  bool wants_help() const { return help_; }
  // The first row to be seen, of so many.
  size_t first_row(size_t rows, size_t page);
  // "by qp, sorted by lost, plane=1".
  std::string summary() const;
  // A filter that is being typed, or what was wrong with the last one; else empty.
  std::string prompt() const;

 private:
  Effect type(int key);
  void move_sort(int by);

  const View* view_ = &all_views()[0];
  bool causes_ = false;
  std::string sort_;
  bool reversed_ = false;
  std::vector<RowFilter> filters_;
  bool paused_ = false;
  bool help_ = false;
  bool typing_ = false;
  std::string typed_;
  std::string trouble_;
  size_t first_ = 0;
};

// What keys do, line by line.
extern const std::vector<const char*> kKeyHelp;

}  // namespace mrc
