// SPDX-License-Identifier: BSD-2-Clause
// R7: two flows and two paths. At some time the second flow comes and is bound to path A: the first one has
// to see that by ECN alone and move to path B.
#include <algorithm>

#include "tests/sim/scenarios/rc_baseline.h"

namespace mrc::sim {

namespace {

// RC knows no path to be bound to: two queue pairs meet on one path or they do not, as the hash has it. So
// these are means over several networks, each with a hash of its own.
void add_rc_rows(const ScenarioOptions& options, const WorldConfig& config, StreamConfig stream,
                 Picoseconds second_starts, Picoseconds settled, Picoseconds end, ScenarioResult* result) {
  constexpr uint32_t kHashes = 8;
  for (const Transport& transport : rc_transports(options)) {
    double share[2] = {};  // of the flows
    double lowest = 1;
    uint32_t errors = 0;
    uint32_t unfinished = 0;
    std::vector<double> times;
    for (uint32_t i = 0; i < kHashes; ++i) {
      WorldConfig hashed = config.speaking_on_planes(transport);
      hashed.seed = config.seed + i;
      World world(hashed);
      for (uint32_t flow = 0; flow < 2; ++flow) {
        stream.start = flow == 0 ? 0 : second_starts;
        world.add_stream(flow, 2 + flow, stream);
      }
      Meter first(world, {2}, 50 * kPerMicrosecond);
      Meter second(world, {3}, 50 * kPerMicrosecond);
      world.run_until(end);
      const double peak = world.payload_gigabits();
      const double rates[2] = {first.rate(settled, end) / peak, second.rate(settled, end) / peak};
      for (int flow = 0; flow < 2; ++flow) share[flow] += rates[flow] / kHashes;
      lowest = std::min({lowest, rates[0], rates[1]});
      unfinished += drain(world);
      errors += world.failures();
      const std::vector<double> more = message_times(world);
      times.insert(times.end(), more.begin(), more.end());
    }
    const std::string name = transport.name() + "_";
    result->add(name + "first_of_peak", share[0]);
    result->add(name + "second_of_peak", share[1]);
    result->add(name + "lowest_of_peak", lowest);
    add_percentiles(result, name + "message", times, "us");
    result->add(name + "errors", errors);
    if (unfinished > 0) result->add(name + "unfinished", unfinished);
  }
}

}  // namespace

ScenarioResult run_two_flows(const ScenarioOptions& options) {
  ScenarioResult result;
  WorldConfig config;
  config.topology.tiers = 2;
  config.topology.leaves = 2;
  config.topology.hosts_per_leaf = 2;
  config.topology.spines = 2;
  config.paths = 2;
  config.srv6 = true;
  config.paths_at[1] = 1;
  config.apply(options);
  config.buffer_bytes = options.size.value_or(256 << 10);
  World world(config);
  StreamConfig stream;
  stream.message_bytes = config.buffer_bytes;
  stream.messages = 0;
  stream.depth = 8;
  const Picoseconds second_starts = 2 * kPerMillisecond;
  const Picoseconds settled = second_starts + kPerMillisecond;
  const Picoseconds end = settled + (options.quick ? 3 : 15) * kPerMillisecond;
  world.add_stream(0, 2, stream);
  stream.start = second_starts;
  world.add_stream(1, 3, stream);
  Meter first(world, {2}, 50 * kPerMicrosecond);
  Meter second(world, {3}, 50 * kPerMicrosecond);
  world.run_until(end);
  const double peak = world.payload_gigabits();
  const double alone = first.rate(second_starts / 2, second_starts);
  result.add("first_alone_of_peak", alone / peak);
  for (const Meter* each : {&first, &second}) {
    result.add_at_least(each == &first ? "first_of_peak" : "second_of_peak", each->rate(settled, end) / peak,
                        0.9);
    result.published("near the peak", "MRC paper, 5.2.5");
  }
  // Where the first flow's packets went since.
  const Link* by_a = world.fabric().find_link(Link::Kind::kSpine, 0, 0, 0);
  const Link* by_b = world.fabric().find_link(Link::Kind::kSpine, 0, 0, 1);
  const auto bytes = [&](const Link* link) {
    return static_cast<double>(world.fabric().channel(link->up_channel).counters().bytes_delivered);
  };
  result.add("bytes_by_path_b_of_a", bytes(by_b) / bytes(by_a));
  result.add("trimmed", static_cast<double>(world.fabric().core().trace.count(Fate::kTrimmed)));
  result.add_at_most("errors", world.failures(), 0);
  add_message_times(world, "mrc_", &result);
  add_rc_rows(options, config, stream, second_starts, settled, settled + 3 * kPerMillisecond, &result);
  result.plots.push_back({"The second flow starts on path A at 2 ms",
                          "ms",
                          "Gb/s",
                          {first.series("first flow", end), second.series("second flow, bound to A", end)},
                          true});
  return result;
}

}  // namespace mrc::sim
