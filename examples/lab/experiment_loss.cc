// SPDX-License-Identifier: BSD-2-Clause
// Loss on all paths, for MRC and for plain RoCEv2 RC over the same fabric.
#include <algorithm>
#include <cstdio>
#include <utility>

#include "examples/lab/experiment_scenario.h"

namespace mrc::lab {
namespace {

constexpr double kSeconds = 4;

// Gb/s after the start; -1: failed, and result->trouble says how.
double throughput(const std::string& loss, const std::string& transport, Result* result) {
  ExperimentLab lab(usual_shape());
  lab.fault("paths rate " + std::to_string(kLinkMbit) + "mbit, paths loss " + loss);
  Flow::Options options = write_flow(kSeconds + 1);
  if (!transport.empty()) options.environment = {"MRC_TRANSPORT=" + transport};
  Flow flow(&lab, "h1", "h2", options);
  Timeline timeline(&lab, {{"h1 to h2", "h2"}});
  if (timeline.wait_for_traffic(10)) {
    timeline.watch(0.5);
    timeline.watch(kSeconds - 1);
  }
  const double end = timeline.now();
  const std::string said = flow.finish();
  if (!lab.trouble().empty()) result->trouble = lab.trouble();
  if (!said.empty()) std::fprintf(stderr, "%s\n", said.c_str());
  return said.empty() ? timeline.mean(0, end - (kSeconds - 1), end) : -1;
}

void sweep(const std::string& transport, const std::string& name, Result* result) {
  const std::vector<std::pair<std::string, double>> losses = {
      {"0%", 0}, {"0.01%", 0}, {"0.1%", 0.95}, {"1%", 0.8}};
  report::Series curve{name, {}};
  double lossless = 0;
  for (size_t i = 0; i < losses.size(); ++i) {
    const auto& [loss, target] = losses[i];
    const double found = throughput(loss, transport, result);
    if (i == 0) lossless = found;
    const double share = lossless > 0 ? std::max(0.0, found) / lossless : 0;
    curve.points.emplace_back(static_cast<double>(i), std::max(0.0, found));
    result->tell(name + ", loss " + loss, found, "Gb/s");
    if (transport.empty() && target > 0)
      result->at_least(name + ", loss " + loss + ", of lossless", share, target);
    else if (i > 0)
      result->tell(name + ", loss " + loss + ", of lossless", share);
    if (transport.empty())
      result->at_most(name + ", loss " + loss + ": failed programs", found < 0 ? 1 : 0, 0);
  }
  result->plot.series.push_back(std::move(curve));
}

Result loss_sweep() {
  Result result;
  result.plot.x_label = "loss on every path";
  result.plot.categories = {"0 %", "0.01 %", "0.1 %", "1 %"};
  sweep("", "mrc", &result);
  sweep("rc", "rc", &result);
  return result;
}

}  // namespace

std::vector<Experiment> loss_experiments() {
  return {{"loss", "Loss on all paths: MRC and RC",
           "One flow, h1 to h2. Every path loses packets at random at its last hop, in both directions. The "
           "same with "
           "plain RoCEv2 RC (MRC_TRANSPORT=rc), which goes back to the lost packet and uses one path.",
           loss_sweep}};
}

}  // namespace mrc::lab
