// SPDX-License-Identifier: BSD-2-Clause
// What mrc_bench measures: numbers, each with the command that shows it, and rows that set two of them side
// by side.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mrc::bench {

// One number. Rows that need the same one share it: it is measured once per round.
struct Number {
  std::string command;           // for people who want to see it by themselves; of a target none
  std::function<double()> take;  // 0: it did not work
  std::vector<double> seen;      // by round
};
using NumberPointer = std::shared_ptr<Number>;

struct Row {
  std::string name;
  std::string unit;
  NumberPointer ours;
  NumberPointer reference;  // null: the number counts by itself
  std::string reference_name;
  // What the ratio should be.
  std::optional<double> at_least;
  std::optional<double> at_most;
};

// Of what worked; 0 if nothing did.
double median(std::vector<double> values);
// Of the medians; 0 if there is none.
double ratio_of(const Row& row);
// How far the ratios of the rounds are apart, of their median. (Without reference: the numbers.)
double spread_of(const Row& row);
// What is compared with what should be.
double judged(const Row& row);
bool as_wanted(const Row& row);

}  // namespace mrc::bench
