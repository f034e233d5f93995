// SPDX-License-Identifier: BSD-2-Clause
// What an experiment is: a function that runs programs over a lab of its own, breaks something under them and
// says in rows and curves what happened.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "examples/report/measure.h"

namespace mrc::lab {

using report::Row;

struct Result {
  std::vector<Row> rows;
  report::Plot plot = {.x_label = "seconds", .y_label = "Gb/s of payload"};
  std::string trouble;  // why it could not be done; then the rows mean nothing

  void at_least(std::string name, double value, double target, std::string unit = {}) {
    rows.push_back({std::move(name), value, std::move(unit), target, true});
  }
  void at_most(std::string name, double value, double target, std::string unit = {}) {
    rows.push_back({std::move(name), value, std::move(unit), target, false});
  }
  void tell(std::string name, double value, std::string unit = {}) {
    rows.push_back({std::move(name), value, std::move(unit)});
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
