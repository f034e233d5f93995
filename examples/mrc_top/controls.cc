// SPDX-License-Identifier: BSD-2-Clause
#include "examples/mrc_top/controls.h"

#include <algorithm>

namespace mrc {

const std::vector<const char*> kKeyHelp = {
    "1 2 3 4 5   by process, device, queue pair, plane, EV; Tab: the next of them",
    "c           why packets are sent again, in place of other columns; and back",
    "< >         sort by the column to the left or right, also with the arrows",
    "r           the other way round;  n: not sorted",
    "/           only rows with KEY=VALUE, KEY!=VALUE, KEY<NUMBER or KEY>NUMBER; the",
    "            keys are those of --json;  x: all rows again",
    "up down     move in the rows, also with Page up and Page down",
    "Space       stop and go on",
    "h ?         this text and back;  q: end",
    "",
    "GAP: later packets arrived.  TIMEO: nothing was heard.  TRIM: by a switch.",
    "NACK: the receiver had no room.  PORT: a port went down.",
    "OTHER: the acknowledgement was lost, or no receive was posted.",
};

bool Controls::choose_view(std::string_view word) {
  const View* view = find_view(word);
  if (view == nullptr) return false;
  view_ = view;
  if (!view_->has_key(sort_)) sort_.clear();
  std::erase_if(filters_, [&](const RowFilter& filter) { return !view_->has_key(filter.key()); });
  first_ = 0;
  return true;
}

bool Controls::choose_sort(std::string_view key) {
  if (!view_->has_key(key)) return false;
  sort_ = key;
  return true;
}

bool Controls::add_filter(std::string_view text) {
  RowFilter filter;
  if (!filter.parse(text) || !view_->has_key(filter.key())) return false;
  filters_.push_back(std::move(filter));
  first_ = 0;
  return true;
}

void Controls::apply(std::vector<Row>* rows) const {
  for (const RowFilter& filter : filters_)
    std::erase_if(*rows, [&](const Row& row) { return !filter.lets_pass(row); });
  if (!sort_.empty()) sort_rows(sort_, reversed_, rows);
}

// From a key that is no column it goes to the first one.
void Controls::move_sort(int by) {
  const Columns& all = columns();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Column& column) { return sort_ == column.key; });
  const auto count = static_cast<int>(all.size());
  const int at = found != all.end() ? static_cast<int>(found - all.begin()) + by : 0;
  sort_ = all[static_cast<size_t>((at + count) % count)].key;
}

Controls::Effect Controls::type(int key) {
  constexpr int kEscape = 27;
  constexpr int kDelete = 127;
  constexpr size_t kLongest = 60;
  if (key == '\n' || key == '\r') {
    typing_ = false;
    if (!typed_.empty() && !add_filter(typed_)) trouble_ = "no filter of this view: " + typed_;
  } else if (key == kEscape) {
    typing_ = false;
  } else if (key == kDelete || key == '\b') {
    if (!typed_.empty()) typed_.pop_back();
  } else if (key >= ' ' && key < kDelete && typed_.size() < kLongest) {
    typed_ += static_cast<char>(key);
  }
  return Effect::kShow;
}

Controls::Effect Controls::on_key(int key, size_t page) {
  trouble_.clear();
  if (typing_) return type(key);
  const std::span<const View> views = all_views();
  switch (key) {
    case 'q':
      return Effect::kQuit;
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
      choose_view(views[static_cast<size_t>(key - '1')].word);
      return Effect::kRead;
    case '\t':
      choose_view(views[static_cast<size_t>(view_ - views.data() + 1) % views.size()].word);
      return Effect::kRead;
    case 'c':
      causes_ = !causes_;
      break;
    case '<':
    case kKeyLeft:
      move_sort(-1);
      break;
    case '>':
    case kKeyRight:
      move_sort(1);
      break;
    case 'r':
      reversed_ = !reversed_;
      break;
    case 'n':
      sort_.clear();
      break;
    case '/':
      typing_ = true;
      typed_.clear();
      break;
    case 'x':
      filters_.clear();
      break;
    case kKeyUp:
      first_ -= std::min<size_t>(first_, 1);
      break;
    case kKeyDown:
      ++first_;
      break;
    case kKeyPageUp:
      first_ -= std::min(first_, page);
      break;
    case kKeyPageDown:
      first_ += page;
      break;
    case ' ':
      paused_ = !paused_;
      break;
    case 'h':
    case '?':
      help_ = !help_;
      break;
    default:
      return Effect::kNone;
  }
  return Effect::kShow;
}

size_t Controls::first_row(size_t rows, size_t page) {
  first_ = std::min(first_, rows > page ? rows - page : 0);
  return first_;
}

std::string Controls::summary() const {
  std::string text = std::string("by ") + view_->word;
  if (!sort_.empty()) text += (reversed_ ? ", sorted up by " : ", sorted by ") + sort_;
  for (const RowFilter& filter : filters_) text += ", " + filter.text();
  if (paused_) text += ", stopped";
  return text;
}

std::string Controls::prompt() const {
  return typing_ ? "only rows with: " + typed_ + "_" : trouble_;
}

}  // namespace mrc
