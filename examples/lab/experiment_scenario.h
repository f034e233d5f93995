// SPDX-License-Identifier: BSD-2-Clause
// The usual experiment: one flow from h1 to h2, phases in which something is broken or mended; first with
// ib_write_bw for the throughput, then with write_check for every byte.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "examples/lab/experiment.h"
#include "examples/lab/experiment_timeline.h"

namespace mrc::lab {

// 2 hosts, 4 planes of 2 leaves and 4 spines.
Shape usual_shape();
// What each link from a leaf down to its host carries: little enough that the network is the bottleneck and
// not the machine that all of it runs on.
inline constexpr int kLinkMbit = 60;
std::string limit_host_links(int mbit = kLinkMbit);

// What is asked of the throughput, of what it was before.
inline constexpr double kOnePlaneDown = 0.7;
inline constexpr double kRecovered = 0.95;

struct Phase {
  std::string label;
  std::string steps;  // at its beginning; may be empty
  double seconds = 3;
};

struct PhaseResult {
  double begin = 0;
  double end = 0;
  double mean = 0;              // Gb/s of the whole phase
  double mean_after_1s = 0;     // without its first second
  double mean_to_first = 0;     // mean / mean of the first phase
  double settled_to_first = 0;  // mean_after_1s / mean of the first phase
};

struct ScenarioOptions {
  Shape shape = usual_shape();
  std::string prepare = limit_host_links();
  bool check_bytes = true;
};

// Adds curves and marks, and the rows "error completions" and "wrong or lost bytes". Empty if something went
// wrong; then result->trouble says what.
std::vector<PhaseResult> run_scenario(const std::vector<Phase>& phases, const ScenarioOptions& options,
                                      Result* result);

}  // namespace mrc::lab
