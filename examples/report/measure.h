// SPDX-License-Identifier: BSD-2-Clause
// What an experiment has found, in the simulator or in the lab: rows with their targets, and plots.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mrc::report {

struct Row {
  std::string name;
  double value = 0;
  std::string unit = {};
  std::optional<double> target = std::nullopt;  // none: told for comparison only
  bool at_least = true;                         // the target is a lower bound; otherwise an upper one
  std::string published = {};                   // what others found for the same, with their source

  bool ok() const { return !target || (at_least ? value >= *target : value <= *target); }
};

struct Series {
  std::string name;
  std::vector<std::pair<double, double>> points;
};

// Something that happened at one x.
struct Mark {
  double x;
  std::string text;
};

struct Plot {
  std::string title = {};
  std::string x_label = {};
  std::string y_label = {};
  std::vector<Series> series = {};
  bool steps = false;  // lines that keep their value until the next point
  std::vector<Mark> marks = {};
  std::vector<std::string> categories = {};  // if there are some, x counts them
};

// 12345.678 -> "12345.7": as many digits as mean something.
std::string format_value(double value);
// ">= 0.95"; empty without a target.
std::string format_target(const Row& row);

}  // namespace mrc::report
