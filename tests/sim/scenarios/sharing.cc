// SPDX-License-Identifier: BSD-2-Clause
// R6: how evenly flows share what is too small for all of them: the link of one host (the paper's seven to
// one), links that are free for each (its permutation), or the uplinks of a leaf, which no switch divides for
// them.
#include <algorithm>
#include <string>
#include <vector>

#include "tests/sim/scenarios/world.h"

namespace mrc::sim {

namespace {

constexpr const char* kShared = "almost perfectly shared";
constexpr const char* kSharedIn = "MRC paper, fig. 18";
constexpr const char* kPermutedIn = "MRC paper, fig. 20";

struct SharingRun {
  std::string name;
  Transport transport;
  CongestionAlgorithm controller = CongestionAlgorithm::kNscc;
  bool marks = false;   // the last hop marks
  bool judged = false;  // by its shares
};

struct Flow {
  uint32_t from;
  uint32_t to;
};

// Four racks of four and four spines, as in the paper: seven hosts of other racks send to host 0.
std::vector<Flow> seven_to_one(TopologyConfig* topology) {
  topology->leaves = topology->hosts_per_leaf = topology->spines = 4;
  std::vector<Flow> flows;
  for (const uint32_t from : {4u, 5u, 6u, 8u, 9u, 10u, 12u}) flows.push_back({from, 0});
  return flows;
}

// Eight hosts of a leaf with four uplinks, each to a host of its own behind the other leaf.
std::vector<Flow> eight_by_four_uplinks(TopologyConfig* topology) {
  topology->leaves = 2;
  topology->hosts_per_leaf = 8;
  topology->spines = 4;
  std::vector<Flow> flows;
  for (uint32_t host = 0; host < 8; ++host) flows.push_back({host, 8 + host});
  return flows;
}

// The paper's permutation: the eight hosts of two racks each send to one of the two others.
std::vector<Flow> eight_to_eight(TopologyConfig* topology) {
  topology->leaves = topology->hosts_per_leaf = topology->spines = 4;
  std::vector<Flow> flows;
  for (uint32_t host = 0; host < 8; ++host) flows.push_back({host, 8 + host});
  return flows;
}

enum class Place : uint8_t { kHost, kPairs, kUplinks, kUplinksByHash };

std::string name_of(Place place) {
  constexpr const char* kNames[] = {"host_", "eight_to_eight_", "uplinks_", "hashed_uplinks_"};
  return kNames[static_cast<size_t>(place)];
}

// Of the slowest flow, to the mean. In the fifth of the time that the small form takes, chance counts for
// more.
double target_of(Place place, bool quick) {
  if (place == Place::kHost || place == Place::kPairs) return 0.9;
  if (place == Place::kUplinks) return quick ? 0.8 : 0.9;
  return quick ? 0.6 : 0.8;
}

void run_shares(const ScenarioOptions& options, const SharingRun& run, Place place, ScenarioResult* result) {
  WorldConfig config;
  config.srv6 = place == Place::kUplinks || place == Place::kPairs;  // as in the paper
  const std::vector<Flow> flows = place == Place::kHost    ? seven_to_one(&config.topology)
                                  : place == Place::kPairs ? eight_to_eight(&config.topology)
                                                           : eight_by_four_uplinks(&config.topology);
  config.paths = 64;
  config.window_packets = 512;
  config.queue_pairs_per_host = 16;
  config.controller = run.controller;
  config.ecn_last_hop = run.marks;
  config.apply(options);
  StreamConfig stream;
  stream.message_bytes = options.size.value_or(64 << 10);
  stream.messages = 0;
  stream.depth = 8;
  config.buffer_bytes = stream.message_bytes;
  World world(config.speaking(run.transport));
  for (const Flow& flow : flows) world.add_stream(flow.from, flow.to, stream);
  const Picoseconds warm_up = 2 * kPerMillisecond;
  const Picoseconds end = warm_up + (options.quick ? 4 : 20) * kPerMillisecond;
  world.run_until(warm_up);
  std::vector<uint64_t> before;
  for (const auto& flow : world.streams()) before.push_back(flow->completed_bytes());
  world.run_until(end);
  std::vector<double> rates;
  double sum = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    rates.push_back(static_cast<double>(world.streams()[i]->completed_bytes() - before[i]) * 8000.0 /
                    static_cast<double>(end - warm_up));
    sum += rates.back();
  }
  const auto [slowest, fastest] = std::minmax_element(rates.begin(), rates.end());
  const double mean = sum / static_cast<double>(rates.size());
  const double shared =
      world.payload_gigabits() * (place == Place::kHost    ? 1
                                  : place == Place::kPairs ? static_cast<double>(flows.size())
                                                           : config.topology.spines);
  const std::string name = name_of(place) + run.name + "_";
  result->add(name + "goodput_of_capacity", sum / shared);
  result->add(name + "slowest", *slowest, "Gb/s");
  result->add(name + "fastest", *fastest, "Gb/s");
  Row& row = result->add(name + "slowest_of_mean", *slowest / mean);
  if (run.judged) row.target = target_of(place, options.quick);
  if (run.transport.protocol == Protocol::kMrc) {
    if (place == Place::kHost) result->published(kShared, kSharedIn);
    result->add_at_most(name + "errors", world.failures(), 0);
  }
  add_pauses(result, name, world);
  if (place != Place::kPairs) return;
  const double line = config.topology.planes * config.topology.host_gigabits;
  result->add(name + "slowest_of_line_rate", *slowest / line);
  if (run.transport.protocol == Protocol::kMrc)
    result->published("0.975: 390 of 400 Gb/s", kPermutedIn);
  else if (run.transport.network == RcNetwork::kDcqcn && run.transport.queue_pairs == 1)
    result->published("1/2 to 1/3 for some", kPermutedIn);
}

}  // namespace

ScenarioResult run_sharing(const ScenarioOptions& options) {
  ScenarioResult result;
  const Transport mrc{};
  std::vector<SharingRun> runs = {{"nscc_marks", mrc, CongestionAlgorithm::kNscc, true, true},
                                  {"nscc", mrc, CongestionAlgorithm::kNscc, false, false},
                                  {"receiver_aware", mrc, CongestionAlgorithm::kReceiverAware, false, true}};
  if (options.controller) runs = {{*options.controller, mrc}};
  for (const Transport& transport : baselines(options, options.quick))
    runs.push_back({transport.name(), transport, CongestionAlgorithm::kNone, false, false});
  for (const Place place : {Place::kHost, Place::kPairs, Place::kUplinks, Place::kUplinksByHash})
    for (const SharingRun& run : runs) {
      const bool mrc_only = place == Place::kUplinks;  // RC goes by the hash
      if (!mrc_only || run.transport.protocol == Protocol::kMrc) run_shares(options, run, place, &result);
    }
  return result;
}

}  // namespace mrc::sim
