// SPDX-License-Identifier: BSD-2-Clause
// Experiments with links: of the host, and between leaves and spines.
#include <algorithm>
#include <cstdint>

#include "examples/lab/experiment_scenario.h"

namespace mrc::lab {
namespace {

// How much less than its share of the links a flow may get.
constexpr double kShareKept = 0.93;

std::string nic_link(uint32_t plane) {
  const std::string number = std::to_string(plane);
  return "h1-p" + number + "l1";
}

Result nic_links() {
  Result result;
  std::vector<Phase> phases = {{"", "", 2}};
  for (uint32_t plane = 1; plane <= 3; ++plane)
    phases.push_back({nic_link(plane) + " down", nic_link(plane) + " down", 2.5});
  for (uint32_t plane = 3; plane >= 1; --plane)
    phases.push_back({nic_link(plane) + " up", nic_link(plane) + " up", 2.5});
  const std::vector<PhaseResult> found = run_scenario(phases, {}, &result);
  if (found.empty()) return result;
  result.tell("before", found[0].mean, "Gb/s");
  for (size_t i = 1; i < found.size(); ++i) {
    const int links = static_cast<int>(i <= 3 ? 4 - i : i - 2);
    const std::string name = phases[i].label + ": " + std::to_string(links) + " of 4 links, of before";
    const double share = links / 4.0;
    if (links == 4)
      result.at_least(name + ", 1 s after", found[i].settled_to_first, kRecovered);
    else if (links == 3 && i <= 3)
      result.at_least(name, found[i].mean_to_first, kOnePlaneDown);
    else
      result.at_least(name + ", 1 s after", found[i].settled_to_first, share * kShareKept);
  }
  return result;
}

Result nic_flap() {
  Result result;
  const std::vector<PhaseResult> found = run_scenario({{"", "", 2.5},
                                                       {"2 links down", "h1-p1l1 down, h1-p2l1 down", 3},
                                                       {"2 links up", "h1-p1l1 up, h1-p2l1 up", 3},
                                                       {"2 links down", "h1-p1l1 down, h1-p2l1 down", 2},
                                                       {"2 links up", "h1-p1l1 up, h1-p2l1 up", 3}},
                                                      {}, &result);
  if (found.empty()) return result;
  result.tell("before", found[0].mean, "Gb/s");
  result.at_least("half of the links down, of before, 1 s after", found[1].settled_to_first,
                  0.5 * kShareKept);
  result.at_least("all up again, of before, 1 s after", found[2].settled_to_first, kRecovered);
  result.at_least("all up again a second time, of before, 1 s after", found[4].settled_to_first, kRecovered);
  return result;
}

// 20 of the 32 links, such that each plane keeps one spine.
std::vector<std::string> links_to_cut() {
  std::vector<std::string> links;
  for (const char* leaf : {"l1", "l2"})
    for (const char* spine : {"s1", "s2", "s3"})
      for (const char* plane : {"p1", "p2", "p3", "p4"}) {
        std::string link = plane;
        link += leaf;
        link += "-";
        link += plane;
        link += spine;
        links.push_back(link);
      }
  links.resize(20);
  return links;
}

Result spine_links() {
  Result result;
  std::vector<Phase> phases = {{"", "", 2.5}};
  std::string mend;
  for (const std::string& link : links_to_cut()) {
    phases.push_back({phases.size() == 1 ? "20 links cut, one by one" : "", link + " down", 0.5});
    mend += (mend.empty() ? "" : ", ") + link + " up";
  }
  phases.push_back({"all up", mend, 3});
  const std::vector<PhaseResult> found = run_scenario(phases, {}, &result);
  if (found.empty()) return result;
  double worst = 1e9;
  double sum = 0;
  for (size_t i = 1; i + 1 < found.size(); ++i) {
    worst = std::min(worst, found[i].mean_to_first);
    sum += found[i].mean_to_first;
  }
  result.tell("before", found[0].mean, "Gb/s");
  result.at_least("while links are cut, of before, mean", sum / static_cast<double>(found.size() - 2), 0.9);
  result.tell("while links are cut, of before, worst half second", worst);
  result.at_least("all up again, of before, 1 s after", found.back().settled_to_first, kRecovered);
  return result;
}

}  // namespace

std::vector<Experiment> link_experiments() {
  return {
      {"nic_links", "NIC links removed one by one and restored",
       "One flow, h1 to h2, 4 planes. The links of h1 go down one after the other until one is left, and "
       "come back.",
       nic_links},
      {"nic_flap", "Half of the links flap",
       "One flow, h1 to h2. Two of the four links of h1 go down and come back, twice.", nic_flap},
      {"spine_links", "20 leaf-spine links cut in sequence",
       "One flow, h1 to h2. 20 of the 32 links between leaves and spines go down, one every half second, "
       "until each "
       "plane has one spine left; then all come back.",
       spine_links},
  };
}

}  // namespace mrc::lab
