// SPDX-License-Identifier: BSD-2-Clause
// R9: some leaf-spine links are dead when a job starts, and no list says which. How many packets does every
// connection lose until it knows, and how long does it take?
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "tests/sim/scenarios/rc_baseline.h"

namespace mrc::sim {

namespace {

constexpr const char* kFewLost = "fewer than 5, share of dead links not told";
constexpr const char* kFewLostIn = "MRC paper, fig. 4";

WorldConfig cold_network(const ScenarioOptions& options) {
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
  return config;
}

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

// As many as the share says, and at least one.
uint32_t kill_so_many(World& world, double share, uint64_t seed) {
  std::vector<const Link*> links;
  for (const Link& link : world.fabric().links())
    if (link.kind == Link::Kind::kSpine) links.push_back(&link);
  Random random(mix(seed + 0xDEAD));
  const auto dead = std::max(1u, static_cast<uint32_t>(share * static_cast<double>(links.size()) + 0.5));
  for (uint32_t i = 0; i < std::min<size_t>(dead, links.size()); ++i) {
    std::swap(links[i], links[i + random.below(links.size() - i)]);
    world.faults().link_down(*links[i], 0, kForever);
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

void add_rc_rows(const ScenarioOptions& options, const WorldConfig& config, double dead_share,
                 Picoseconds end, ScenarioResult* result, Plot* plot) {
  for (const Transport& transport : rc_transports(options)) {
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
  const WorldConfig config = cold_network(options);
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
  result.published(kFewLost, kFewLostIn);
  result.add("lost_per_connection_in_the_second_half", static_cast<double>(before - lost_early) / count);
  result.add_at_least("goodput_of_line_rate", meter.rate(quiet, end) / (world.payload_gigabits() * count),
                      0.9);
  result.add_at_most("errors", world.failures(), 0);
  result.plots.push_back({"Losses after a cold start", "ms", "packets per 100 us", {losses}, true});
  add_message_times(world, "mrc_", &result);
  Plot plot{"Goodput after a cold start", "ms", "Gb/s", {meter.series("mrc", end)}, true};
  add_rc_rows(options, config, dead_share, end, &result, &plot);
  result.plots.push_back(std::move(plot));
  return result;
}

namespace {

// Paths of all queue pairs that lead over a dead link and have carried a packet, found out or not.
uint32_t dead_paths_tried(World& world) {
  uint32_t count = 0;
  for (const auto& stream : world.streams()) {
    const PathSet& paths = stream->queue_pair().paths();
    for (size_t i = 0; i < paths.size(); ++i) {
      const Path& path = paths.at(PathId(static_cast<uint16_t>(i)));
      if (path.sent > 0 && path.delivered_order == 0) ++count;
    }
  }
  return count;
}

}  // namespace

ScenarioResult run_first_minute(const ScenarioOptions& options) {
  ScenarioResult result;
  std::vector<double> shares = {0.003, 0.01, 0.03};
  if (options.quick) shares = {0.003};
  if (options.loss) shares = {*options.loss};
  for (const bool srv6 : {false, true}) {
    if (options.srv6 && srv6 != *options.srv6) continue;
    // The small form has the whole network, too: with half of its links, one dead link is 0.8 % of them.
    ScenarioOptions network = options;
    network.quick = false;
    WorldConfig config = cold_network(network);
    config.srv6 = srv6;
    for (const double share : shares) {
      World world(config);
      const uint32_t dead = kill_so_many(world, share, options.seed);
      const Picoseconds end = (options.quick ? 1 : 2) * kPerMillisecond;
      Meter meter(world, add_streams(world), 50 * kPerMicrosecond);
      world.run_until(end / 2);
      const Trace& trace = world.fabric().core().trace;
      const uint64_t early = trace.data_count(Fate::kLostDown);
      world.run_until(end);
      const uint64_t lost = trace.data_count(Fate::kLostDown);
      const auto count = static_cast<double>(world.streams().size());
      char name[64];
      std::snprintf(name, sizeof name, "%s_%g%%_", srv6 ? "usids" : "hash", share * 100);
      result.add(std::string(name) + "dead_links", dead);
      Row& row = result.add(std::string(name) + "lost_per_queue_pair", static_cast<double>(lost) / count);
      row.at_least = false;
      if (share < 0.01) row.target = 5;
      result.published(kFewLost, kFewLostIn);
      const uint32_t tried = dead_paths_tried(world);
      result.add(std::string(name) + "dead_paths_per_queue_pair", tried / count);
      if (tried > 0) result.add(std::string(name) + "lost_per_dead_path", static_cast<double>(lost) / tried);
      result.add_at_most(std::string(name) + "lost_per_queue_pair_in_the_second_half",
                         static_cast<double>(lost - early) / count, 0.1);
      result.published("below 1 in 25 million packets after 2 minutes", kFewLostIn);
      result.add_at_least(std::string(name) + "goodput_of_line_rate",
                          meter.rate(end / 2, end) / (world.payload_gigabits() * count), 0.9);
      result.add_at_most(std::string(name) + "errors", world.failures(), 0);
    }
  }
  return result;
}

}  // namespace mrc::sim
