// SPDX-License-Identifier: BSD-2-Clause
// R7: two flows and two paths. At some time the second flow comes and is bound to path A: the first one has
// to see that by ECN alone and move to path B.
#include <algorithm>

#include "tests/sim/scenarios/world.h"

namespace mrc::sim {

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
  result.add_at_least("first_of_peak", first.rate(settled, end) / peak, 0.9);
  result.add_at_least("second_of_peak", second.rate(settled, end) / peak, 0.9);
  // Where the first flow's packets went since.
  const Link* by_a = world.fabric().find_link(Link::Kind::kSpine, 0, 0, 0);
  const Link* by_b = world.fabric().find_link(Link::Kind::kSpine, 0, 0, 1);
  const auto bytes = [&](const Link* link) {
    return static_cast<double>(world.fabric().channel(link->up_channel).counters().bytes_delivered);
  };
  result.add("bytes_by_path_b_of_a", bytes(by_b) / bytes(by_a));
  result.add("trimmed", static_cast<double>(world.fabric().core().trace.count(Fate::kTrimmed)));
  result.add_at_most("errors", world.failures(), 0);
  result.plots.push_back({"The second flow starts on path A at 2 ms",
                          "ms",
                          "Gb/s",
                          {first.series("first flow"), second.series("second flow, bound to A")},
                          true});
  return result;
}

}  // namespace mrc::sim
