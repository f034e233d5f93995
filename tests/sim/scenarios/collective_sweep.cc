// SPDX-License-Identifier: BSD-2-Clause
// R8: ring all-reduce and all-to-all of 64 hosts by size, 4 MB to 16 GB. Small ones are simulated packet by
// packet. A large one is a small one and then the same for longer: its time is that of the largest that was
// simulated, and the rest at the rate that its slowest flow keeps in the same network.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/sim/scenarios/ring.h"

namespace mrc::sim {

namespace {

struct Sweep {
  uint32_t hosts;
  bool ring;  // or all to all
  std::vector<uint64_t> simulated;
  std::vector<uint64_t> continued;
  Transport transport;

  uint64_t part(uint64_t size) const { return size / hosts; }
  // Bits that every host sends.
  double bits(uint64_t size) const {
    return (ring ? 2.0 : 1.0) * (hosts - 1) * static_cast<double>(part(size)) * 8;
  }
};

std::string size_name(uint64_t size) {
  return size >= 1u << 30 ? std::to_string(size >> 30) + "GB" : std::to_string(size >> 20) + "MB";
}

WorldConfig sweep_network(const ScenarioOptions& options, const Sweep& sweep, uint64_t part) {
  ScenarioOptions wanted = options;
  wanted.srv6 = options.srv6.value_or(true);  // as in the paper
  WorldConfig config = sixteen_per_leaf(sweep.hosts, wanted);
  config.buffer_bytes = part + 1;
  config.window_packets = sweep.ring ? 1024 : 256;
  config.queue_pairs_per_host = sweep.ring ? 2 : 2 * (sweep.hosts - 1);
  return config.speaking(sweep.transport);
}

// All to all: everybody begins with its right neighbour, so that no two begin with the same.
void add_everybody(World& world, uint32_t hosts, const StreamConfig& stream) {
  for (uint32_t distance = 1; distance < hosts; ++distance)
    for (uint32_t from = 0; from < hosts; ++from) world.add_stream(from, (from + distance) % hosts, stream);
}

// Microseconds; infinite if it does not end.
double simulate(const ScenarioOptions& options, const Sweep& sweep, uint64_t size, uint32_t* errors) {
  World world(sweep_network(options, sweep, sweep.part(size)));
  double taken = INFINITY;
  if (sweep.ring) {
    Ring ring(world, sweep.hosts, size, 0);
    if (world.run_until_done(kPerSecond)) taken = to_microseconds(ring.taken());
  } else {
    StreamConfig stream;
    stream.message_bytes = sweep.part(size);
    stream.depth = 1;
    add_everybody(world, sweep.hosts, stream);
    if (world.run_until_done(kPerSecond)) {
      taken = 0;
      for (const auto& flow : world.streams()) taken = std::max(taken, to_microseconds(flow->finished_at()));
    }
  }
  *errors += world.failures();
  return taken;
}

// Gb/s of a host when everybody sends without end. Ring: the slowest flow, for all wait for it.
double steady_rate(const ScenarioOptions& options, const Sweep& sweep, const std::string& name,
                   ScenarioResult* result) {
  constexpr uint64_t kMessage = 256 << 10;
  World world(sweep_network(options, sweep, kMessage));
  StreamConfig stream;
  stream.message_bytes = sweep.ring ? kMessage : 64 << 10;
  stream.messages = 0;
  stream.depth = sweep.ring ? 4 : 1;
  if (sweep.ring) {
    const std::vector<uint32_t> order = ring_order(world, sweep.hosts);
    for (uint32_t i = 0; i < sweep.hosts; ++i)
      world.add_stream(order[i], order[(i + 1) % sweep.hosts], stream);
  } else {
    add_everybody(world, sweep.hosts, stream);
  }
  const Picoseconds taken = (options.quick ? 200 : 400) * kPerMicrosecond;
  // DCQCN has to find its rates. They still grow after that, but by no more than two hundredths in 4 ms.
  const Picoseconds from = sweep.transport.lossless() ? 5 * taken : taken / 2;
  const Picoseconds until = from + taken;
  world.run_until(from);
  std::vector<uint64_t> before;
  for (uint32_t host = 0; host < sweep.hosts; ++host) before.push_back(world.placed(host));
  world.run_until(until);
  add_pauses(result, name, world);
  double slowest = INFINITY;
  for (uint32_t host = 0; host < sweep.hosts; ++host)
    slowest = std::min(slowest, static_cast<double>(world.placed(host) - before[host]) * 8000.0 /
                                    static_cast<double>(until - from));
  return slowest;
}

void add_sweep(const ScenarioOptions& options, const Sweep& sweep, ScenarioResult* result, Plot* plot) {
  const World reference(sweep_network(options, sweep, 4096));
  const double line = reference.payload_gigabits();
  const std::string name = (sweep.ring ? "ring_" : "all_to_all_") + sweep.transport.name() + "_";
  const bool mrc = sweep.transport.protocol == Protocol::kMrc;
  Series series{name.substr(0, name.size() - 1), {}};
  uint32_t errors = 0;
  const auto add = [&](uint64_t size, double taken, const char* how) {
    // Every step of a ring waits for its last byte; an all-to-all waits once.
    const double waits = sweep.ring ? 2.0 * (sweep.hosts - 1) / 2 : 1;
    const double ideal = sweep.bits(size) / line / 1e3 + waits * to_microseconds(reference.rtt());
    result->add(name + size_name(size) + how + "_time", taken, "us");
    result->add(name + size_name(size) + how + "_of_line_rate", sweep.bits(size) / taken / 1e3 / line);
    Row& row = result->add(name + size_name(size) + how + "_of_ideal", ideal / taken);
    if (mrc) row.target = options.quick ? 0.7 : 0.8;  // of 16 hosts each counts: 0.75 to 0.86 by seed
    series.points.emplace_back(std::log2(static_cast<double>(size >> 20)), sweep.bits(size) / taken / 1e3);
  };
  double largest = 0;
  for (const uint64_t size : sweep.simulated)
    add(size, largest = simulate(options, sweep, size, &errors), "");
  const double rate = steady_rate(options, sweep, name + "steady_", result);
  result->add(name + "steady_of_line_rate", rate / line);
  if (mrc)
    result->published(sweep.ring ? "more than RoCE with 16 queue pairs, which have twice the rate of one"
                                 : "more than RoCE at all sizes",
                      sweep.ring ? "MRC paper, fig. 16" : "MRC paper, fig. 17");
  else if (sweep.ring && sweep.transport.network == RcNetwork::kDcqcn && sweep.transport.queue_pairs == 1)
    result->published("about half", "MRC paper, fig. 16");
  for (const uint64_t size : sweep.continued)
    add(size, largest + (sweep.bits(size) - sweep.bits(sweep.simulated.back())) / rate / 1e3, "_continued");
  result->add_at_most(name + "errors", errors, 0);
  plot->series.push_back(std::move(series));
}

}  // namespace

ScenarioResult run_collective_sweep(const ScenarioOptions& options) {
  ScenarioResult result;
  constexpr uint64_t kMega = 1 << 20;
  Plot plot{"Collectives of 64 hosts by size", "log2 of MB", "Gb/s per host", {}, false};
  for (const bool ring : {true, false}) {
    for (const Transport& transport : all_transports(options, true)) {
      // RC with 16 queue pairs for each of 63 neighbours is more than the memory of a small machine.
      if (transport.queue_pairs > (ring ? 16u : 8u) || (options.quick && transport.queue_pairs > 1)) continue;
      Sweep sweep{.hosts = options.hosts.value_or(options.quick ? 16 : 64),
                  .ring = ring,
                  .simulated = {4 * kMega, 16 * kMega},
                  .continued = {256 * kMega, 1024 * kMega, 16384 * kMega},
                  .transport = transport};
      if (options.quick) sweep.simulated = {kMega, 4 * kMega};
      if (options.size) sweep.simulated = {*options.size};
      add_sweep(options, sweep, &result, &plot);
    }
  }
  result.plots.push_back(std::move(plot));
  return result;
}

}  // namespace mrc::sim
