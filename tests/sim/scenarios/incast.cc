// SPDX-License-Identifier: BSD-2-Clause
// R6: many to one, and what it does to a flow that goes somewhere else.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "tests/sim/scenarios/world.h"

namespace mrc::sim {

namespace {

struct Incast {
  std::string name;
  uint32_t senders = 0;
  uint64_t size = 0;
  CongestionAlgorithm controller = CongestionAlgorithm::kReceiverAware;
  bool hint = false;  // the senders know how many they are
  std::optional<double> target;
};

void run_one(const ScenarioOptions& options, const Incast& incast, ScenarioResult* result,
             std::vector<Plot>* plots) {
  WorldConfig config;
  uint32_t k = 4;
  while (k * k * k / 4 < incast.senders + 1) k += 2;
  config.topology = TopologyConfig::fat_tree(k);
  config.paths = 64;
  config.window_packets = 128;
  config.controller = incast.controller;
  config.expected_senders = incast.hint ? incast.senders : 0;
  config.apply(options);
  config.buffer_bytes = incast.size;
  config.queue_pairs_per_host = 1;
  config.queue_pairs_at[0] = incast.senders;
  for (uint32_t host = 0; host <= incast.senders; ++host) config.hosts.push_back(host);
  World world(config);
  StreamConfig stream;
  stream.message_bytes = incast.size;
  stream.depth = 1;
  for (uint32_t from = 1; from <= incast.senders; ++from) world.add_stream(from, 0, stream);
  Meter meter(world, {0}, 100 * kPerMicrosecond);
  const bool done = world.run_until_done(kPerSecond);
  std::vector<double> times;
  for (const auto& flow : world.streams()) times.push_back(to_microseconds(flow->finished_at()));
  const double finished = *std::max_element(times.begin(), times.end());
  // The last hop never idle, then the way back of the last acknowledgement.
  const double bits = static_cast<double>(incast.senders) * static_cast<double>(incast.size) * 8;
  const double ideal = bits / (world.payload_gigabits() * 1e3) + to_microseconds(world.rtt());
  const std::string name = incast.name + "_";
  const Trace& trace = world.fabric().core().trace;
  result->add(name + "ideal", ideal, "us");
  result->add(name + "finished", done ? finished : 1e9, "us");
  result->add(name + "of_ideal", done ? ideal / finished : 0).target = incast.target;
  add_percentiles(result, name + "flow", times, "us");
  result->add(name + "trimmed", static_cast<double>(trace.count(Fate::kTrimmed)));
  result->add(name + "dropped", static_cast<double>(trace.count(Fate::kDropQueue)));
  result->add(name + "retransmits", static_cast<double>(world.counters().retransmits()));
  result->add_at_most(name + "errors", world.failures(), 0);
  (*plots)[0].series.push_back(cdf(incast.name, times));
  (*plots)[1].series.push_back(meter.series(incast.name));
}

}  // namespace

ScenarioResult run_incast(const ScenarioOptions& options) {
  ScenarioResult result;
  result.plots = {{"Flow completion times under incast", "microseconds", "share", {}, false},
                  {"Goodput of the target", "ms", "Gb/s", {}, true}};
  const auto run = [&](const Incast& incast) { run_one(options, incast, &result, &result.plots); };
  if (options.hosts || options.size || options.controller) {
    const uint32_t senders = options.hosts.value_or(128) - 1;
    run({"incast",
         senders,
         options.size.value_or(2'000'000),
         CongestionAlgorithm::kReceiverAware,
         false,
         {}});
    return result;
  }
  if (options.quick) {
    run({"31_to_1_500KB", 31, 500'000, CongestionAlgorithm::kReceiverAware, false, 0.87});
    return result;
  }
  run({"127_to_1_2MB", 127, 2'000'000, CongestionAlgorithm::kReceiverAware, false, 0.966});
  run({"1023_to_1_100KB", 1023, 100'000, CongestionAlgorithm::kReceiverAware, false, 0.87});
  run({"1023_to_1_100KB_hint", 1023, 100'000, CongestionAlgorithm::kReceiverAware, true, 0.87});
  // What MRC's own controller does with it.
  run({"nscc_127_to_1_2MB", 127, 2'000'000, CongestionAlgorithm::kNscc, false, {}});
  run({"nscc_1023_to_1_100KB", 1023, 100'000, CongestionAlgorithm::kNscc, false, {}});
  return result;
}

namespace {

// Four racks of four, four spines. Seven senders of other racks to host 0; the victim goes to host 1 beside
// it.
struct VictimRun {
  std::string name;
  Transport transport;
  CongestionAlgorithm controller = CongestionAlgorithm::kNscc;
  bool judged = false;  // by the shares of the seven
};

void run_victim(const ScenarioOptions& options, const VictimRun& run, ScenarioResult* result, Plot* plot) {
  WorldConfig config;
  config.topology.tiers = 2;
  config.topology.leaves = 4;
  config.topology.hosts_per_leaf = 4;
  config.topology.spines = 4;
  config.paths = 64;
  config.window_packets = 512;
  config.queue_pairs_per_host = 16;
  config.controller = run.controller;
  config.apply(options);
  StreamConfig stream;
  stream.message_bytes = options.size.value_or(64 << 10);
  stream.messages = 0;
  stream.depth = 8;
  config.buffer_bytes = stream.message_bytes;
  const Picoseconds warm_up = 2 * kPerMillisecond;
  const Picoseconds end = warm_up + (options.quick ? 4 : 20) * kPerMillisecond;
  constexpr uint32_t kVictimFrom = 15;
  constexpr uint32_t kSenders[] = {4, 5, 6, 8, 9, 10, 12};
  double victim_rate[2] = {};
  for (const bool crowded : {false, true}) {
    World world(config.speaking(run.transport));
    world.add_stream(kVictimFrom, 1, stream);
    std::vector<Stream*> flows;
    if (crowded)
      for (const uint32_t from : kSenders) flows.push_back(&world.add_stream(from, 0, stream));
    Meter victim(world, {1}, 50 * kPerMicrosecond);
    Meter target(world, {0}, 50 * kPerMicrosecond);
    world.run_until(warm_up);
    std::vector<uint64_t> before;
    for (const Stream* flow : flows) before.push_back(flow->completed_bytes());
    world.run_until(end);
    victim_rate[crowded ? 1 : 0] = victim.rate(warm_up, end);
    if (!crowded) continue;
    plot->series.push_back(victim.series(run.name + ": victim"));
    plot->series.push_back(target.series(run.name + ": incast"));
    std::vector<double> shares;
    for (size_t i = 0; i < flows.size(); ++i)
      shares.push_back(static_cast<double>(flows[i]->completed_bytes() - before[i]) * 8000.0 /
                       static_cast<double>(end - warm_up));
    double mean = 0;
    for (const double share : shares) mean += share / static_cast<double>(shares.size());
    double worst = 0;
    for (const double share : shares) worst = std::max(worst, std::fabs(share - mean) / mean);
    result->add(run.name + "_incast_goodput", target.rate(warm_up, end), "Gb/s");
    result->add(run.name + "_incast_of_line_rate", target.rate(warm_up, end) / world.payload_gigabits());
    Row& off = result->add(run.name + "_shares_off_the_mean", worst);
    off.at_least = false;
    if (run.judged) off.target = 0.10;
    if (run.transport.protocol == Protocol::kMrc)
      result->add_at_most(run.name + "_errors", world.failures(), 0);
  }
  result->add(run.name + "_victim_alone", victim_rate[0], "Gb/s");
  result->add(run.name + "_victim_with_incast", victim_rate[1], "Gb/s");
  Row& row = result->add(run.name + "_victim_of_alone", victim_rate[1] / victim_rate[0]);
  if (run.transport.protocol == Protocol::kMrc) row.target = 0.97;
}

}  // namespace

ScenarioResult run_incast_victim(const ScenarioOptions& options) {
  ScenarioResult result;
  Plot plot{"Seven to one, and a victim", "ms", "Gb/s", {}, true};
  const Transport mrc{};
  std::vector<VictimRun> runs = {{"receiver_aware", mrc, CongestionAlgorithm::kReceiverAware, true},
                                 {"nscc", mrc, CongestionAlgorithm::kNscc, false}};
  if (options.controller) runs = {{"mrc", mrc, CongestionAlgorithm::kNscc, true}};
  if (!options.quick)
    for (const uint32_t queue_pairs : {1u, 8u}) {
      const Transport rc{Protocol::kRc, queue_pairs};
      runs.push_back({rc.name(), rc, CongestionAlgorithm::kNone, false});
    }
  for (const VictimRun& run : runs) run_victim(options, run, &result, &plot);
  result.plots.push_back(std::move(plot));
  return result;
}

}  // namespace mrc::sim
