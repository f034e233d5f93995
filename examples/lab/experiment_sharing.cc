// SPDX-License-Identifier: BSD-2-Clause
// Several flows: two on one path, and many to one host beside a victim.
#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "examples/lab/experiment_scenario.h"

namespace mrc::lab {
namespace {

constexpr int kMbit = 60;
constexpr double kStartSecondsMax = 30;

// One plane with two spines. The first flow has both; the second is given the first spine alone.
Result two_flows() {
  Result result;
  ExperimentLab lab({.hosts = 4, .planes = 1, .leaves = 2, .spines = 2});
  const std::string rate = " rate " + std::to_string(kMbit) + "mbit";
  lab.fault("p1l1:p1s1" + rate + ", p1l1:p1s2" + rate + ", p1l2:h2" + rate + ", p1l2:h4" + rate);
  lab.change_setting("h3", "srv6", "spines", "1");
  // The usual window would make a queue before h2 that marks all packets, whatever path they took.
  for (const char* sender : {"h1", "h3"})
    lab.change_setting(sender, "congestion", "link_rate_mbps", std::to_string(2 * kMbit));
  result.trouble = lab.trouble();
  if (!result.trouble.empty()) return result;
  Flow first(&lab, "h1", "h2", write_flow(16));
  Timeline timeline(&lab, {{"h1 to h2, both spines", "h2"}, {"h3 to h4, forced on p1s1", "h4"}});
  timeline.watch(4.5);
  const double alone_end = timeline.now();
  timeline.mark("second flow starts");
  Flow second(&lab, "h3", "h4", write_flow(8));
  timeline.watch(2.5);
  const double together = timeline.now();
  const uint64_t on_first = lab.frames("p1l1:p1s1");
  const uint64_t on_second = lab.frames("p1l1:p1s2");
  timeline.watch(4);
  const double end = timeline.now();
  const double share_of_second =
      static_cast<double>(lab.frames("p1l1:p1s2") - on_second) /
      static_cast<double>(
          std::max<uint64_t>(1, lab.frames("p1l1:p1s2") - on_second + lab.frames("p1l1:p1s1") - on_first));
  const std::string said = second.finish() + first.finish();
  if (!said.empty()) std::fprintf(stderr, "%s\n", said.c_str());
  timeline.put_into(&result);
  const double before = timeline.mean(0, alone_end - 2.5, alone_end);
  const double capacity = kMbit * 1e-3;
  result.tell("first flow alone", before, "Gb/s");
  result.at_least("first flow beside the second, of before",
                  before > 0 ? timeline.mean(0, together, end) / before : 0, 0.85);
  result.at_least("second flow, of its link", timeline.mean(1, together, end) / capacity, 0.8);
  result.tell("share of all packets on the free spine", share_of_second);
  result.at_most("error completions and failed programs", said.empty() ? 0 : 1, 0);
  return result;
}

// h1, h3, h5, h7 (leaf 1) and h6, h8, h10 (leaf 2) all send to h2; h9 sends to h4, which hangs on the leaf of
// h2.
Result incast() {
  Result result;
  const std::vector<std::string> senders = {"h1", "h3", "h5", "h7", "h6", "h8", "h10"};
  ExperimentLab lab({.hosts = 10, .planes = 2, .leaves = 2, .spines = 2});
  lab.fault("paths rate " + std::to_string(kMbit / 2) + "mbit");
  result.trouble = lab.trouble();
  if (!result.trouble.empty()) return result;
  std::vector<Watched> watched = {{"victim, h9 to h4", "h4"}, {"7 senders to h2, sum", "h2"}};
  for (const std::string& sender : senders) watched.push_back({sender, sender, true});
  Flow victim(&lab, "h9", "h4", write_flow(56));
  Timeline timeline(&lab, watched);
  timeline.watch(4.5);
  const double alone_end = timeline.now();
  timeline.mark("7:1 incast starts");
  std::vector<std::unique_ptr<Flow>> flows;
  for (const std::string& sender : senders)
    flows.push_back(std::make_unique<Flow>(&lab, sender, "h2", write_flow(42)));
  const auto all_send = [&] {
    for (size_t i = 2; i < watched.size(); ++i)
      if (timeline.mean(i, timeline.now() - 0.5, timeline.now()) <= 0) return false;
    return true;
  };
  // 15 programs share the CPUs of one machine: that takes its time.
  for (const double latest = timeline.now() + kStartSecondsMax; !all_send() && timeline.now() < latest;)
    timeline.watch(0.5);
  timeline.watch(2);
  const double begin = timeline.now();
  timeline.watch(5);
  const double end = timeline.now();
  std::string said;
  for (auto& flow : flows) said += flow->finish();
  said += victim.finish();
  if (!said.empty()) std::fprintf(stderr, "%s\n", said.c_str());
  timeline.put_into(&result);
  result.plot.series.resize(2);  // the senders would only hide the rest
  const double before = timeline.mean(0, alone_end - 2.5, alone_end);
  double least = 1e9;
  double most = 0;
  double sum = 0;
  double squares = 0;
  for (size_t i = 2; i < watched.size(); ++i) {
    const double share = timeline.mean(i, begin, end);
    least = std::min(least, share);
    most = std::max(most, share);
    sum += share;
    squares += share * share;
  }
  result.tell("victim alone", before, "Gb/s");
  result.at_least("victim during the incast, of before",
                  before > 0 ? timeline.mean(0, begin, end) / before : 0, 0.9);
  result.at_least("7 senders together, of the receiver's links",
                  timeline.mean(1, begin, end) / (kMbit * 1e-3), 0.8);
  result.at_least("fairness among the 7 (Jain)", squares > 0 ? sum * sum / (7 * squares) : 0, 0.8);
  result.tell("slowest sender, of the fastest", most > 0 ? least / most : 0);
  result.at_most("error completions and failed programs", said.empty() ? 0 : 1, 0);
  return result;
}

}  // namespace

std::vector<Experiment> sharing_experiments() {
  return {
      {"two_flows", "Two flows forced on one path",
       "One plane with two spines, all links alike. h1 sends to h2 over both spines; then h3 sends to h4, "
       "forced on the "
       "first spine. The first flow has to move to the second.",
       two_flows},
      {"incast", "7:1 incast with a victim",
       "10 hosts, 2 planes. h9 sends to h4; then seven hosts send to h2, which hangs on the same leaf as h4. "
       "Links as slow as these keep 0.1 s of queue, and a sender corrects its window once in a round trip: "
       "in the 5 s that are "
       "measured there are 50, and the slowest is another one in the next 5 s.",
       incast},
  };
}

}  // namespace mrc::lab
