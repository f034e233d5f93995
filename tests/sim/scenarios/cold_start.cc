// SPDX-License-Identifier: BSD-2-Clause
// R9: some leaf-spine links are dead when a job starts, and no list says which. How many packets does every
// connection lose until it knows, and how long does it take?
#include <algorithm>

#include "tests/sim/scenarios/rc_baseline.h"

namespace mrc::sim {

namespace {

// The same links whatever the streams speak. How many they are.
uint32_t kill_links(World& world, double share, uint64_t seed) {
  Random random(mix(seed + 0xDEAD));
  uint32_t dead = 0;
  for (const Link& link : world.fabric().links()) {
    if (link.kind != Link::Kind::kSpine || !random.chance(share)) continue;
    world.faults().link_down(link, 0, kForever);
    ++dead;
  }
  return dead;
}

// Every host sends to one of the next rack, and every host receives. Those that receive.
std::vector<uint32_t> add_streams(World& world) {
  StreamConfig stream;
  stream.message_bytes = world.config().buffer_bytes;
  stream.messages = 0;
  stream.depth = 8;
  const uint32_t count = world.config().topology.host_count();
  std::vector<uint32_t> receivers;
  for (uint32_t from = 0; from < count; ++from) {
    world.add_stream(from, (from + world.config().topology.hosts_per_leaf) % count, stream);
    receivers.push_back(from);
  }
  return receivers;
}

void add_rc_rows(const WorldConfig& config, double dead_share, Picoseconds end, ScenarioResult* result,
                 Plot* plot) {
  for (const Transport& transport : rc_transports()) {
    World world(config.speaking_on_planes(transport));
    kill_links(world, dead_share, config.seed);
    Meter meter(world, add_streams(world), 50 * kPerMicrosecond);
    world.run_until(end / 2);
    std::vector<uint64_t> half;
    for (const auto& stream : world.streams()) half.push_back(stream->completed());
    world.run_until(end);
    uint32_t stuck = 0;
    for (size_t i = 0; i < half.size(); ++i) stuck += world.streams()[i]->completed() == half[i] ? 1 : 0;
    const auto count = static_cast<double>(half.size());
    const std::string name = transport.name() + "_";
    const uint64_t lost = world.fabric().core().trace.data_count(Fate::kLostDown);
    result->add(name + "lost_per_connection", static_cast<double>(lost) / count);
    result->add(name + "goodput_of_line_rate", meter.rate(end / 2, end) / (world.payload_gigabits() * count));
    result->add(name + "without_progress_in_the_second_half", stuck);
    plot->series.push_back(meter.series(transport.name(), end));
    add_message_times(world, name, result);
    result->add(name + "errors", world.failures());
  }
}

}  // namespace

ScenarioResult run_cold_start(const ScenarioOptions& options) {
  ScenarioResult result;
  WorldConfig config;
  const uint32_t hosts = options.hosts.value_or(options.quick ? 16 : 32);
  config.topology.tiers = 2;
  config.topology.planes = 4;
  config.topology.hosts_per_leaf = 8;
  config.topology.leaves = std::max(2u, (hosts + 7) / 8);
  config.topology.spines = 16;  // room for what is dead
  config.paths = 32;
  config.backups = 8;
  config.queue_pairs_per_host = 2;
  config.apply(options);
  config.buffer_bytes = options.size.value_or(256 << 10);
  const double dead_share = options.loss.value_or(0.03);
  World world(config);
  const uint32_t dead = kill_links(world, dead_share, options.seed);
  const uint32_t count = config.topology.host_count();
  Meter meter(world, add_streams(world), 50 * kPerMicrosecond);
  const Picoseconds end = (options.quick ? 2 : 6) * kPerMillisecond;
  const Picoseconds quiet = end / 2;  // from here on there should be next to no loss
  const Trace& trace = world.fabric().core().trace;
  Series losses{"data packets lost", {}};
  uint64_t lost_early = 0;
  uint64_t before = 0;
  for (Picoseconds at = 0; at < end; at += 100 * kPerMicrosecond) {
    world.run_until(at + 100 * kPerMicrosecond);
    const uint64_t lost = trace.data_count(Fate::kLostDown);
    losses.points.emplace_back(to_microseconds(at) / 1000, static_cast<double>(lost - before));
    before = lost;
    if (at + 100 * kPerMicrosecond <= quiet) lost_early = lost;
  }
  result.add("dead_links", dead);
  result.add("data_packets_lost", static_cast<double>(before));
  result.add("lost_per_connection", static_cast<double>(before) / count);
  result.add("lost_per_connection_in_the_second_half", static_cast<double>(before - lost_early) / count);
  result.add_at_least("goodput_of_line_rate", meter.rate(quiet, end) / (world.payload_gigabits() * count),
                      0.9);
  result.add_at_most("errors", world.failures(), 0);
  result.plots.push_back({"Losses after a cold start", "ms", "packets per 100 us", {losses}, true});
  add_message_times(world, "mrc_", &result);
  Plot plot{"Goodput after a cold start", "ms", "Gb/s", {meter.series("mrc", end)}, true};
  add_rc_rows(config, dead_share, end, &result, &plot);
  result.plots.push_back(std::move(plot));
  return result;
}

}  // namespace mrc::sim
