// SPDX-License-Identifier: BSD-2-Clause
// R6: fifteen to one. All at once with 2 MB each, as the UEC's simulator has it; and one more flow every few
// milliseconds, as the paper had it with DCQCN.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/sim/scenarios/world.h"

namespace mrc::sim {

namespace {

constexpr uint32_t kSenders = 15;
constexpr const char* kHtsim = "UEC simulator, 15:1, 2 MB";
constexpr const char* kPaper = "MRC paper, fig. 22, DCQCN";

struct FifteenRun {
  std::string name;
  Transport transport;
  CongestionAlgorithm controller = CongestionAlgorithm::kNscc;
  bool marks = true;  // the last hop marks
  bool mrc() const { return transport.protocol == Protocol::kMrc; }
};

// Four racks of four and four spines.
WorldConfig sixteen_hosts(const ScenarioOptions& options, const FifteenRun& run) {
  WorldConfig config;
  config.topology.leaves = config.topology.hosts_per_leaf = config.topology.spines = 4;
  config.paths = 64;
  config.window_packets = 256;
  config.queue_pairs_per_host = 1;
  config.queue_pairs_at[0] = kSenders;
  config.controller = run.controller;
  config.ecn_last_hop = run.marks;
  config.apply(options);
  return config.speaking(run.transport);
}

void at_once(const ScenarioOptions& options, const FifteenRun& run, ScenarioResult* result, Plot* plot) {
  WorldConfig config = sixteen_hosts(options, run);
  config.buffer_bytes = options.size.value_or(2'000'000);
  World world(config);
  StreamConfig stream;
  stream.message_bytes = config.buffer_bytes;
  stream.depth = 1;
  for (uint32_t from = 1; from <= kSenders; ++from) world.add_stream(from, 0, stream);
  const bool done = world.run_until_done(run.mrc() ? kPerSecond : kPerSecond / 10);
  std::vector<double> times;
  for (const auto& flow : world.streams())
    times.push_back(flow->done() ? to_microseconds(flow->finished_at()) : 1e9);
  const auto [first, last] = std::minmax_element(times.begin(), times.end());
  const double bits = kSenders * static_cast<double>(config.buffer_bytes) * 8;
  const double ideal = bits / (world.payload_gigabits() * 1e3) + to_microseconds(world.rtt());
  const double line = config.topology.planes * config.topology.host_gigabits * 1e3;
  const std::string name = "at_once_" + run.name + "_";
  result->add(name + "finished", *last, "us");
  result->add(name + "of_ideal", done ? ideal / *last : 0);
  if (run.mrc()) result->rows.back().target = 0.95;
  result->add(name + "of_line_rate", done ? bits / line / *last : 0);
  if (run.mrc()) result->published("0.97", kHtsim);
  result->add(name + "last_of_first_flow", *last / *first);
  if (run.mrc()) result->published("1.95", kHtsim);
  const Trace& trace = world.fabric().core().trace;
  result->add(name + "trimmed", static_cast<double>(trace.count(Fate::kTrimmed)));
  result->add(name + "dropped", static_cast<double>(trace.count(Fate::kDropQueue)));
  add_pauses(result, name, world);
  if (run.mrc()) result->add_at_most(name + "errors", world.failures(), 0);
  plot->series.push_back(cdf(run.name, times));
}

void one_by_one(const ScenarioOptions& options, const FifteenRun& run, ScenarioResult* result, Plot* plot) {
  WorldConfig config = sixteen_hosts(options, run);
  config.buffer_bytes = 64 << 10;
  World world(config);
  const Picoseconds step = (options.quick ? 500 : 2000) * kPerMicrosecond;
  StreamConfig stream;
  stream.message_bytes = config.buffer_bytes;
  stream.messages = 0;
  stream.depth = 8;
  for (uint32_t from = 1; from <= kSenders; ++from) {
    stream.start = (from - 1) * step;
    world.add_stream(from, 0, stream);
  }
  Meter meter(world, {0}, 20 * kPerMicrosecond);
  const Picoseconds shared = (kSenders + 2) * step;  // for the last one to get its share
  const Picoseconds end = shared + 4 * step;
  world.run_until(shared);
  std::vector<uint64_t> before;
  for (const auto& flow : world.streams()) before.push_back(flow->completed_bytes());
  world.run_until(end);
  double lowest = INFINITY;
  for (uint32_t flows = 0; flows < kSenders; ++flows)  // without the first half of a step: somebody is new
    lowest = std::min(lowest, meter.rate(flows * step + step / 2, (flows + 1) * step));
  std::vector<double> rates;
  double sum = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    rates.push_back(static_cast<double>(world.streams()[i]->completed_bytes() - before[i]));
    sum += rates.back();
  }
  const std::string name = "one_by_one_" + run.name + "_";
  const double peak = world.payload_gigabits();
  result->add(name + "goodput", meter.rate(step / 2, end) / peak);
  if (run.mrc()) result->rows.back().target = 0.95;
  result->published("1.0, 0.9 or 0.8, by DCQCN's settings", kPaper);
  result->add(name + "lowest_step", lowest / peak);
  result->add(name + "slowest_of_mean_of_15", *std::min_element(rates.begin(), rates.end()) * kSenders / sum);
  const Trace& trace = world.fabric().core().trace;
  result->add(name + "trimmed", static_cast<double>(trace.count(Fate::kTrimmed)));
  result->add(name + "dropped", static_cast<double>(trace.count(Fate::kDropQueue)));
  add_pauses(result, name, world);
  if (run.mrc()) result->add_at_most(name + "errors", world.failures(), 0);
  plot->series.push_back(meter.series(run.name, end));
}

}  // namespace

ScenarioResult run_incast15(const ScenarioOptions& options) {
  ScenarioResult result;
  Plot times{"Fifteen to one at once: completion of the flows", "microseconds", "share", {}, false};
  Plot rates{"Fifteen to one, one after the other", "ms", "Gb/s", {}, true};
  std::vector<FifteenRun> runs = {{"nscc", {}, CongestionAlgorithm::kNscc, true},
                                  {"receiver_aware", {}, CongestionAlgorithm::kReceiverAware, true}};
  if (options.controller) runs = {{*options.controller, {}, CongestionAlgorithm::kNscc, true}};
  for (const Transport& transport : baselines(options, options.quick))
    runs.push_back({transport.name(), transport, CongestionAlgorithm::kNone, false});
  for (const FifteenRun& run : runs) at_once(options, run, &result, &times);
  for (const FifteenRun& run : runs) one_by_one(options, run, &result, &rates);
  result.plots = {std::move(times), std::move(rates)};
  return result;
}

}  // namespace mrc::sim
