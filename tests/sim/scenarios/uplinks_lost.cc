// SPDX-License-Identifier: BSD-2-Clause
// R3: a leaf with four uplinks loses three of them, one after the other, while one of its hosts sends to
// another rack. Uplinks as fast as the host: one is enough. Uplinks of a quarter: what is left is the limit.
#include <algorithm>
#include <string>
#include <vector>

#include "tests/sim/scenarios/rc_baseline.h"

namespace mrc::sim {

namespace {

constexpr uint32_t kUplinks = 4;
constexpr Picoseconds kUplinkSample = 20 * kPerMicrosecond;

// MRC's paths are static: to it a dead uplink is a hole until it has found out. For RC the leaf's hash leaves
// it out at once, and the answers' way back is spared, as if routing had converged in no time.
void cut_uplink(World& world, const Link& link, Picoseconds at) {
  if (world.config().transport.protocol == Protocol::kMrc) {
    world.faults().link_down(link, at, kForever);
    return;
  }
  Fault fault;
  fault.kind = FaultKind::kDown;
  fault.begin = at;
  fault.channels = {link.up_channel};
  world.faults().add(std::move(fault));
}

void run_uplinks(const ScenarioOptions& options, const Transport& transport, double uplink_share,
                 ScenarioResult* result, Plot* plot) {
  WorldConfig config;
  config.topology.leaves = 2;
  config.topology.hosts_per_leaf = 1;
  config.topology.spines = kUplinks;
  config.paths = kUplinks;
  config.srv6 = true;
  config.topology.host_gigabits = 400;
  config.window_packets = 1024;
  config.apply(options);
  config.topology.spine_gigabits = config.topology.host_gigabits * uplink_share;
  WorldConfig spoken = config.speaking(transport);
  spoken.lossy_wires = true;
  spoken.topology.reroute = transport.protocol == Protocol::kRc;
  spoken.buffer_bytes = options.size.value_or(256 << 10);
  World world(spoken);
  world.add_stream(0, 1, endless(spoken));
  Meter meter(world, {1}, kUplinkSample);
  const Picoseconds step = (options.quick ? 2 : 5) * kPerMillisecond;
  for (uint32_t spine = 0; spine + 1 < kUplinks; ++spine)
    cut_uplink(world, *world.fabric().find_link(Link::Kind::kSpine, 0, 0, spine), (spine + 1) * step);
  const Picoseconds end = kUplinks * step;
  world.run_until(end);
  const bool wide = uplink_share == 1;
  const bool mrc = transport.protocol == Protocol::kMrc;
  const std::string name = (wide ? "fast_uplinks_" : "slow_uplinks_") + transport.name() + "_";
  for (uint32_t lost = 0; lost < kUplinks; ++lost) {
    const double capacity = world.payload_gigabits() * std::min(1.0, uplink_share * (kUplinks - lost));
    const std::string left = name + std::to_string(kUplinks - lost) + "_left_";
    // With the time that it takes to find out, and once that is over.
    if (lost > 0)
      result->add(left + "at_first_of_capacity", meter.rate(lost * step, lost * step + step / 2) / capacity);
    Row& row =
        result->add(left + "of_capacity", meter.rate(lost * step + step / 2, (lost + 1) * step) / capacity);
    if (!mrc) continue;
    row.target = wide ? 0.95 : 0.8;
    if (lost + 1 == kUplinks)
      result->published(wide ? "no loss of throughput" : "follows the capacity", "MRC paper, fig. 19");
  }
  if (mrc)
    result->add(name + "packets_lost",
                static_cast<double>(world.fabric().core().trace.data_count(Fate::kLostDown)));
  plot->series.push_back(meter.series(name.substr(0, name.size() - 1), end));
  add_message_times(world, name, result);
  if (mrc) {
    result->add_at_most(name + "errors", world.failures(), 0);
  } else {
    result->add(name + "errors", world.failures());
  }
}

}  // namespace

ScenarioResult run_uplinks_lost(const ScenarioOptions& options) {
  ScenarioResult result;
  Plot plot{"Three of four uplinks go, one after the other", "ms", "Gb/s", {}, true};
  for (const double uplink_share : {1.0, 1.0 / kUplinks})
    for (const Transport& transport : all_transports(options, !options.quick))
      run_uplinks(options, transport, uplink_share, &result, &plot);
  result.plots.push_back(std::move(plot));
  return result;
}

}  // namespace mrc::sim
