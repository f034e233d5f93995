// SPDX-License-Identifier: BSD-2-Clause
// R8: ring all-reduce and all-to-all, with the tail of their steps: what one slow flow does to everybody.
#include <algorithm>
#include <cstdio>

#include "tests/sim/scenarios/ring.h"

namespace mrc::sim {

namespace {

// What the paper says of large messages with so much loss.
void publish_loss(const Transport& transport, double loss, ScenarioResult* result) {
  constexpr const char* kSource = "MRC paper, fig. 16, 64 hosts";
  const bool mrc = transport.protocol == Protocol::kMrc;
  if (mrc && loss == 0.001) result->published("little effect", kSource);
  if (mrc && loss == 0.01) result->published("about a third", kSource);
  if (transport.network == RcNetwork::kDcqcn && loss == 0.01) result->published("unusable", kSource);
}

// Every uplink is used alike: no copy of one host meets more of another's data than it must.
void add_ring_by_usids(ScenarioResult* result, uint32_t hosts, uint64_t size,
                       const ScenarioOptions& options) {
  double taken[2] = {};
  for (const bool lossy : {false, true}) {
    WorldConfig config = sixteen_per_leaf(hosts, options);
    config.buffer_bytes = size / hosts + 1;
    config.queue_pairs_per_host = 2;
    config.srv6 = true;
    World world(config);
    world.faults().lose_at_hosts(lossy ? 0.001 : 0);
    Ring ring(world, hosts, size);
    taken[lossy ? 1 : 0] = world.run_until_done(kPerSecond) ? to_microseconds(ring.taken()) : 1e9;
  }
  result->add("ring_mrc_usids_loss_0%_time", taken[0], "us");
  result->add("ring_mrc_usids_loss_0.1%_time", taken[1], "us");
  result->add_at_most("ring_mrc_usids_loss_0.1%_to_lossless", taken[1] / taken[0], 1.1);
  publish_loss({}, 0.001, result);
}

}  // namespace

ScenarioResult run_collective(const ScenarioOptions& options) {
  ScenarioResult result;
  const uint32_t hosts = options.hosts.value_or(options.quick ? 16 : 32);
  const uint64_t size = options.size.value_or(options.quick ? 2u << 20 : 8u << 20);
  Plot ring_plot{"Steps of a ring all-reduce", "microseconds", "share", {}, false};
  Plot all_plot{"Messages of an all-to-all", "microseconds", "share", {}, false};
  std::vector<double> losses = {0, 0.001, 0.01};
  if (options.loss) losses = {0, *options.loss};
  if (options.quick) losses = {0, 0.001};
  for (const Transport& transport : all_transports(options, !options.quick)) {
    double lossless[2] = {};
    for (const double loss : losses) {
      char label[64];
      std::snprintf(label, sizeof label, "%s_loss_%g%%", transport.name().c_str(), loss * 100);
      const std::string name = label;
      {
        WorldConfig config = sixteen_per_leaf(hosts, options);
        config.buffer_bytes = size / hosts + 1;
        config.queue_pairs_per_host = 2;
        config.lossy_wires = loss > 0;
        World world(config.speaking(transport));
        world.faults().lose_at_hosts(loss);
        Ring ring(world, hosts, size);
        const bool done = world.run_until_done(kPerSecond);
        const double taken = done ? to_microseconds(ring.taken()) : 1e9;
        // Every host sends 2(N-1)/N of the data.
        const double bits = 2.0 * (hosts - 1) / hosts * static_cast<double>(size) * 8;
        if (loss == 0) lossless[0] = taken;
        result.add("ring_" + name + "_time", taken, "us");
        result.add("ring_" + name + "_bus_bandwidth", bits / taken / 1e3, "Gb/s");
        if (loss > 0) {
          result.add("ring_" + name + "_of_lossless", lossless[0] / taken);
          publish_loss(transport, loss, &result);
        }
        add_percentiles(&result, "ring_" + name + "_step", ring.steps(), "us");
        result.add_at_most("ring_" + name + "_errors", world.failures(), 0);
        add_pauses(&result, "ring_" + name + "_", world, loss == 0);
        ring_plot.series.push_back(cdf(name, ring.steps()));
      }
      {
        WorldConfig config = sixteen_per_leaf(hosts, options);
        config.buffer_bytes = size / hosts + 1;
        config.window_packets = 256;
        config.queue_pairs_per_host = 2 * (hosts - 1);
        config.lossy_wires = loss > 0;
        World world(config.speaking(transport));
        world.faults().lose_at_hosts(loss);
        StreamConfig stream;
        stream.message_bytes = size / hosts;
        stream.depth = 1;
        for (uint32_t distance = 1; distance < hosts; ++distance)
          for (uint32_t from = 0; from < hosts; ++from)
            world.add_stream(from, (from + distance) % hosts, stream);
        const bool done = world.run_until_done(kPerSecond);
        std::vector<double> times;
        for (const auto& flow : world.streams()) times.push_back(to_microseconds(flow->finished_at()));
        const double taken = done ? *std::max_element(times.begin(), times.end()) : 1e9;
        const double bits = static_cast<double>(hosts - 1) / hosts * static_cast<double>(size) * 8;
        if (loss == 0) lossless[1] = taken;
        result.add("all_to_all_" + name + "_time", taken, "us");
        result.add("all_to_all_" + name + "_of_line_rate", bits / taken / 1e3 / world.payload_gigabits());
        if (loss > 0) result.add("all_to_all_" + name + "_of_lossless", lossless[1] / taken);
        add_percentiles(&result, "all_to_all_" + name + "_message", times, "us");
        result.add_at_most("all_to_all_" + name + "_errors", world.failures(), 0);
        add_pauses(&result, "all_to_all_" + name + "_", world, loss == 0);
        all_plot.series.push_back(cdf(name, times));
      }
    }
  }
  if (!options.quick) add_ring_by_usids(&result, hosts, size, options);
  result.plots.push_back(std::move(ring_plot));
  result.plots.push_back(std::move(all_plot));
  return result;
}

}  // namespace mrc::sim
