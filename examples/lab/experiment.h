// SPDX-License-Identifier: BSD-2-Clause
// What an experiment is: a function that runs programs over a lab of its own, breaks something under them and
// says in rows and curves what happened.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mrc::lab {

struct Row {
  std::string name;
  double value = 0;
  std::optional<double> target;  // none: told for comparison only
  bool at_most = false;          // the target is an upper bound, not a lower one
  std::string unit;
  bool ok() const { return !target || (at_most ? value <= *target : value >= *target); }
};

struct Point {
  double seconds;
  double value;
};

struct Curve {
  std::string name;
  std::vector<Point> points;
};

struct Mark {
  double seconds;
  std::string text;
};

struct Result {
  std::vector<Row> rows;
  // The plot: values over time, or over what `x_label` says.
  std::vector<Curve> curves;
  std::vector<Mark> marks;
  std::string x_label = "seconds";
  std::string y_label = "Gb/s of payload";
  bool x_is_category = false;  // x counts the texts of `categories`
  std::vector<std::string> categories;
  std::string trouble;  // why it could not be done; then the rows mean nothing

  void at_least(std::string name, double value, double target, std::string unit = {}) {
    rows.push_back({std::move(name), value, target, false, std::move(unit)});
  }
  void at_most(std::string name, double value, double target, std::string unit = {}) {
    rows.push_back({std::move(name), value, target, true, std::move(unit)});
  }
  void tell(std::string name, double value, std::string unit = {}) {
    rows.push_back({std::move(name), value, std::nullopt, false, std::move(unit)});
  }
};

struct Experiment {
  std::string name;
  std::string title;
  std::string description;  // of what is done, for the report
  std::function<Result()> run;
};

const std::vector<Experiment>& experiments();
// The parts of the list, one per file.
std::vector<Experiment> link_experiments();
std::vector<Experiment> switch_experiments();
std::vector<Experiment> loss_experiments();
std::vector<Experiment> sharing_experiments();

// mrc_lab experiment ...
int run_experiments(char** words);

}  // namespace mrc::lab
