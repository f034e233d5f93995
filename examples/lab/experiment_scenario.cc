// SPDX-License-Identifier: BSD-2-Clause
#include "examples/lab/experiment_scenario.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace mrc::lab {
namespace {

constexpr double kSettleSeconds = 1;        // "back within 1 s"
constexpr double kCheckedPhaseSeconds = 1;  // the second round is shorter
constexpr double kTrafficSeconds = 15;

double sum_of_seconds(const std::vector<Phase>& phases) {
  double sum = 0;
  for (const Phase& phase : phases) sum += phase.seconds;
  return sum;
}

std::vector<PhaseResult> evaluate(const Timeline& timeline, std::vector<PhaseResult> phases) {
  for (PhaseResult& phase : phases) {
    phase.mean = timeline.mean(0, phase.begin, phase.end);
    phase.mean_after_1s = timeline.mean(0, std::min(phase.begin + kSettleSeconds, phase.end), phase.end);
    const double before = phases.front().mean;
    if (before <= 0) continue;
    phase.mean_to_first = phase.mean / before;
    phase.settled_to_first = phase.mean_after_1s / before;
  }
  return phases;
}

std::vector<PhaseResult> measure(const std::vector<Phase>& phases, const ScenarioOptions& options,
                                 Result* result) {
  ExperimentLab lab(options.shape);
  if (!options.prepare.empty()) lab.fault(options.prepare);
  result->trouble = lab.trouble();
  if (!result->trouble.empty()) return {};
  Flow flow(&lab, "h1", "h2", write_flow(sum_of_seconds(phases) + 2));
  Timeline timeline(&lab, {{"h1 to h2", "h2"}});
  if (!timeline.wait_for_traffic(kTrafficSeconds)) {
    lab.fault("all clear");
    result->trouble = "no traffic: " + flow.finish();
    return {};
  }
  std::vector<PhaseResult> results;
  timeline.watch(0.5);  // the window opens
  for (const Phase& phase : phases) {
    if (!phase.steps.empty()) timeline.fault(phase.steps, phase.label);
    PhaseResult one;
    one.begin = timeline.now();
    timeline.watch(phase.seconds);
    one.end = timeline.now();
    results.push_back(one);
  }
  const std::string said = flow.finish();
  if (!said.empty()) std::fprintf(stderr, "%s\n", said.c_str());
  timeline.put_into(result);
  if (options.prepare == limit_host_links())
    result->tell("before, of what the links carry", timeline.mean(0, results[0].begin, results[0].end) /
                                                        (kLinkMbit * 1e-3 * options.shape.planes));
  result->at_most("error completions and failed programs", said.empty() ? 0 : 1, 0);
  result->trouble = lab.trouble();
  return evaluate(timeline, std::move(results));
}

void check_bytes(const std::vector<Phase>& phases, const ScenarioOptions& options, Result* result) {
  ExperimentLab lab(options.shape);
  if (!options.prepare.empty()) lab.fault(options.prepare);
  Flow flow(&lab, "h1", "h2", checked_flow(kCheckedPhaseSeconds * static_cast<double>(phases.size()) + 1));
  Timeline timeline(&lab, {{"h1 to h2", "h2"}});
  timeline.wait_for_traffic(kTrafficSeconds);
  for (const Phase& phase : phases) {
    if (!phase.steps.empty()) lab.fault(phase.steps);
    timeline.watch(std::min(phase.seconds, kCheckedPhaseSeconds));
  }
  const std::string said = flow.finish();
  if (!said.empty()) std::fprintf(stderr, "%s\n", said.c_str());
  result->at_most("programs that found a wrong or lost byte", said.empty() ? 0 : 1, 0);
}

}  // namespace

Shape usual_shape() {
  return {.hosts = 2, .planes = 4, .leaves = 2, .spines = 4};
}

std::string limit_host_links(int mbit) {
  return "paths rate " + std::to_string(mbit) + "mbit";
}

std::vector<PhaseResult> run_scenario(const std::vector<Phase>& phases, const ScenarioOptions& options,
                                      Result* result) {
  std::vector<PhaseResult> results = measure(phases, options, result);
  if (options.check_bytes && result->trouble.empty()) check_bytes(phases, options, result);
  return result->trouble.empty() ? results : std::vector<PhaseResult>();
}

}  // namespace mrc::lab
