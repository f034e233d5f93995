// SPDX-License-Identifier: BSD-2-Clause
// R5: every host sends one flow and receives one, through three tiers, or two, without oversubscription.
#include <algorithm>
#include <chrono>
#include <numeric>

#include "tests/sim/scenarios/memory_use.h"
#include "tests/sim/scenarios/world.h"

namespace mrc::sim {

namespace {

// The smallest fat tree that has so many hosts.
uint32_t fat_tree_arity(uint32_t hosts) {
  uint32_t k = 4;
  while (k * k * k / 4 < hosts) k += 2;
  return k;
}

// Two tiers of so many hosts: as many spines as hosts at a leaf, and up to twice as many leaves.
TopologyConfig two_tiers(uint32_t hosts) {
  TopologyConfig config;
  config.tiers = 2;
  config.spines = 2;
  while (2 * config.spines * config.spines < hosts) config.spines *= 2;
  config.hosts_per_leaf = config.spines;
  config.leaves = std::max(2u, (hosts + config.spines - 1) / config.spines);
  return config;
}

// Nobody sends to itself.
std::vector<uint32_t> draw_permutation(uint32_t count, uint64_t seed) {
  Random random(seed);
  std::vector<uint32_t> to(count);
  std::iota(to.begin(), to.end(), 0);
  // Sattolo: one cycle over all.
  for (uint32_t i = count - 1; i > 0; --i) std::swap(to[i], to[random.below(i)]);
  return to;
}

struct Outcome {
  double slowest_us = 0;
  std::vector<double> times_us;
  uint32_t failures = 0;
  bool done = false;
  uint64_t events = 0;
  double run_seconds = 0;  // of the processor, without building the network
  Counters counters;
  uint64_t trimmed = 0;
  uint64_t dropped = 0;
  uint64_t gone = 0;  // for whatever reason
  PauseTotals pauses;
};

// One core link of so many is slow; 0 = none.
Outcome run(const WorldConfig& config, const std::vector<uint32_t>& to, uint64_t size, uint32_t one_slow_of) {
  World world(config);
  Random random(mix(config.seed + 8));
  const auto highest = config.topology.tiers == 3 ? Link::Kind::kCore : Link::Kind::kSpine;
  std::vector<const Link*> cores;
  for (const Link& link : world.fabric().links())
    if (link.kind == highest) cores.push_back(&link);
  const size_t slow = one_slow_of == 0 ? 0 : std::max<size_t>(cores.size() / one_slow_of, 1);
  for (size_t i = 0; i < slow; ++i) {
    std::swap(cores[i], cores[i + random.below(cores.size() - i)]);
    Fault fault;
    fault.kind = FaultKind::kRate;
    fault.probability = 0.1;
    fault.channels = {cores[i]->up_channel, cores[i]->down_channel};
    world.faults().add(std::move(fault));
  }
  StreamConfig stream;
  stream.message_bytes = size;
  stream.depth = 1;
  for (uint32_t from = 0; from < to.size(); ++from)
    if (to[from] != from) world.add_stream(from, to[from], stream);
  Outcome outcome;
  const double cpu_before = cpu_seconds();
  outcome.done = world.run_until_done(kPerSecond);
  outcome.run_seconds = cpu_seconds() - cpu_before;
  for (const auto& flow : world.streams()) outcome.times_us.push_back(to_microseconds(flow->finished_at()));
  outcome.slowest_us = *std::max_element(outcome.times_us.begin(), outcome.times_us.end());
  outcome.failures = world.failures();
  outcome.events = world.fabric().events_run();
  outcome.counters = world.counters();
  outcome.trimmed = world.fabric().core().trace.count(Fate::kTrimmed);
  outcome.dropped = world.fabric().core().trace.count(Fate::kDropQueue);
  outcome.gone = world.fabric().core().trace.gone();
  outcome.pauses = world.fabric().pause_totals();
  return outcome;
}

WorldConfig network_for(const ScenarioOptions& options, uint32_t hosts, uint64_t size) {
  constexpr uint32_t kPathsMax = 256;  // more EVs than MRC's NICs have
  WorldConfig config;
  config.topology =
      options.tiers.value_or(3) == 2 ? two_tiers(hosts) : TopologyConfig::fat_tree(fat_tree_arity(hosts));
  config.srv6 = true;
  // All that there are, if they are not too many.
  config.paths = std::min(kPathsMax, std::max(config.topology.core_count(), config.topology.spines));
  config.window_packets = 256;
  config.queue_pairs_per_host = 2;
  config.apply(options);
  config.buffer_bytes = size;
  return config;
}

struct Pair {
  Outcome alone;  // from the first host to the last, which is in another pod
  Outcome all;
  double of_single() const { return all.done ? alone.slowest_us / all.slowest_us : 0; }
};

constexpr uint32_t kAllEnginesMax = 8192;

Pair run_pair(const WorldConfig& config, uint64_t size, uint32_t one_slow_of) {
  const uint32_t count = config.topology.host_count();
  std::vector<uint32_t> single(count);
  std::iota(single.begin(), single.end(), 0);
  single[0] = count - 1;
  WorldConfig two_hosts = config;
  // Building that many engines takes longer than the flow.
  if (count > kAllEnginesMax) two_hosts.hosts = {0, count - 1};
  return {run(two_hosts, single, size, 0),
          run(config, draw_permutation(count, mix(config.seed + 5)), size, one_slow_of)};
}

// MRC and RC side by side, in a network small enough for it.
void compare(const ScenarioOptions& options, uint64_t size, uint32_t one_slow_of, ScenarioResult* result,
             Plot* plot) {
  constexpr uint32_t kHosts = 128;
  const WorldConfig config = network_for(options, kHosts, size);
  std::vector<Transport> transports = baselines(options, false);
  transports.insert(transports.begin(), Transport{});
  for (const Transport& transport : transports) {
    const Pair pair = run_pair(config.speaking(transport), size, one_slow_of);
    const std::string name = std::to_string(kHosts) + "_hosts_" + transport.name() + "_";
    result->add(name + "slowest_flow_of_single", pair.of_single());
    add_percentiles(result, name + "flow", pair.all.times_us, "us");
    if (transport.lossless()) {
      result->add(name + "pauses", static_cast<double>(pair.all.pauses.pauses));
      result->add(name + "paused_links_between_switches", pair.all.pauses.between);
      result->add(name + "paused_time", to_microseconds(pair.all.pauses.time), "us");
      result->add_at_most(name + "lost", static_cast<double>(pair.all.gone), 0);
      result->add_at_most(name + "repeated", static_cast<double>(pair.all.counters.retransmits()), 0);
    }
    plot->series.push_back(cdf(transport.name(), pair.all.times_us));
  }
}

constexpr uint64_t kLongFlow = 2'000'000;

// What a host may cost, with both ends of its connections.
void add_memory(const WorldConfig& config, uint32_t hosts, double gib_before, ScenarioResult* result) {
  constexpr double kKilobytesMax = 160;
  constexpr double kKilobytesPerGib = 1024.0 * 1024.0 * 1024.0 / 1000.0;
  result->add_at_most("peak_memory", peak_memory_gib(), 24, "GiB");
  if (hosts < 1000 || config.topology.planes > 1) return;  // what all hosts share would count
  const double each = (peak_memory_gib() - gib_before) * kKilobytesPerGib / hosts;
  result->add_at_most("memory_per_host", each, kKilobytesMax, "KB");
}

ScenarioResult permute(const ScenarioOptions& options, uint32_t one_slow_of, double target) {
  ScenarioResult result;
  const uint32_t hosts = options.hosts.value_or(options.quick ? 128 : 1024);
  const uint64_t size = options.size.value_or(kLongFlow);
  const WorldConfig config = network_for(options, hosts, size);
  const uint32_t count = config.topology.host_count();
  const double memory_before = peak_memory_gib();
  const double cpu_before = cpu_seconds();
  const auto started = std::chrono::steady_clock::now();
  const Pair pair = run_pair(config, size, one_slow_of);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - started;
  const double cpu = cpu_seconds() - cpu_before;
  const Outcome& all = pair.all;

  result.add("hosts", count);
  result.add("single_flow", pair.alone.slowest_us, "us");
  result.add("slowest_flow", all.done ? all.slowest_us : 1e9, "us");
  // A short flow alone lasts hardly longer than a round trip, and every queue shows.
  if (size >= kLongFlow)
    result.add_at_least("slowest_flow_of_single", pair.of_single(), target);
  else
    result.add("slowest_flow_of_single", pair.of_single());
  if (count == 1024 && size == kLongFlow && config.topology.tiers == 3)
    result.published(one_slow_of == 0 ? "0.89 with REPS, 0.88 with a bitmap, 0.83 oblivious"
                                      : "0.85 with REPS, 0.80 with a bitmap, 0.63 oblivious",
                     "UEC simulator, 1024 hosts");
  add_percentiles(&result, "flow", all.times_us, "us");
  result.add("trimmed", static_cast<double>(all.trimmed));
  result.add("dropped", static_cast<double>(all.dropped));
  result.add("retransmits", static_cast<double>(all.counters.retransmits()));
  result.add_at_most("errors", all.failures, 0);
  result.add("events", static_cast<double>(all.events));
  result.add("events_per_second", static_cast<double>(all.events) / std::max(all.run_seconds, 1e-9));
  // One thread: on a machine that has nothing else to do both times are the same.
  result.add("wall_time", taken.count(), "s");
  if (one_slow_of == 0 && count == 1024 && size == kLongFlow)
    result.add_at_most("cpu_time", cpu, 60, "s");
  else
    result.add("cpu_time", cpu, "s");
  add_memory(config, count, memory_before, &result);
  result.plots.push_back({std::to_string(count) + " hosts: flow completion times",
                          "microseconds",
                          "share",
                          {cdf("mrc", all.times_us)},
                          false});
  if (!options.hosts && !options.quick) {
    Plot plot{"128 hosts: MRC and RC", "microseconds", "share", {}, false};
    compare(options, size, one_slow_of, &result, &plot);
    result.plots.push_back(std::move(plot));
  }
  return result;
}

}  // namespace

ScenarioResult run_permutation(const ScenarioOptions& options) {
  return permute(options, 0, 0.89);
}

ScenarioResult run_permutation_degraded(const ScenarioOptions& options) {
  return permute(options, 128, 0.86);  // 8 of 1,024 hosts' links
}

}  // namespace mrc::sim
