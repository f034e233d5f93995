// SPDX-License-Identifier: BSD-2-Clause
// Experiments with switches that die without a word, and with a path that loses some packets.
#include "examples/lab/experiment_scenario.h"

namespace mrc::lab {
namespace {

Result dead_switch(const std::string& name, double target_while_dead) {
  Result result;
  const std::vector<PhaseResult> found = run_scenario(
      {{"", "", 2.5}, {name + " dead", name + " blackhole", 4}, {name + " back", name + " up", 3.5}}, {},
      &result);
  if (found.empty()) return result;
  result.tell("before", found[0].mean, "Gb/s");
  result.at_least("while " + name + " is dead, of before", found[1].mean_to_first, target_while_dead);
  result.tell("while " + name + " is dead, of before, 1 s after", found[1].settled_to_first);
  result.at_least(name + " back, of before, 1 s after", found[2].settled_to_first, kRecovered);
  return result;
}

// The 16 paths are 4 planes by 4 spines; one loses a fifth.
Result bad_path() {
  Result result;
  const std::vector<PhaseResult> found = run_scenario({{"", "", 2.5},
                                                       {"path by p1s1 loses 20 %", "p1l1:p1s1 loss 20%", 4},
                                                       {"path well again", "p1l1:p1s1 loss 0", 3}},
                                                      {}, &result);
  if (found.empty()) return result;
  result.tell("before", found[0].mean, "Gb/s");
  result.at_least("one path of 16 loses 20 %, of before", found[1].mean_to_first, 0.9);
  result.at_least("one path of 16 loses 20 %, of before, 1 s after", found[1].settled_to_first, kRecovered);
  result.at_least("path well again, of before, 1 s after", found[2].settled_to_first, kRecovered);
  return result;
}

}  // namespace

std::vector<Experiment> switch_experiments() {
  return {
      {"leaf_dead", "A leaf dies and comes back",
       "One flow, h1 to h2. The leaf of plane 1 at h1 forwards nothing any more, while its links look "
       "healthy.",
       [] { return dead_switch("p1l1", kOnePlaneDown); }},
      {"spine_dead", "A spine dies and comes back",
       "One flow, h1 to h2. Spine 1 of plane 1 forwards nothing any more, while its links look healthy.",
       [] { return dead_switch("p1s1", 0.9); }},
      {"bad_path", "One path of 16 drops 20 %",
       "One flow, h1 to h2, 16 paths (4 planes, 4 spines). One of them loses every fifth packet.", bad_path},
  };
}

}  // namespace mrc::lab
