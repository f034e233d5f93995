// SPDX-License-Identifier: BSD-2-Clause
// R8: ring all-reduce and all-to-all, with the tail of their steps: what one slow flow does to everybody.
#include <algorithm>
#include <cstdio>

#include "tests/sim/scenarios/world.h"

namespace mrc::sim {

namespace {

WorldConfig sixteen_per_leaf(uint32_t hosts, const ScenarioOptions& options) {
  WorldConfig config;
  config.topology.tiers = 2;
  config.topology.planes = 4;
  config.topology.hosts_per_leaf = std::min(16u, std::max(1u, hosts / 4));
  config.topology.leaves = (hosts + config.topology.hosts_per_leaf - 1) / config.topology.hosts_per_leaf;
  config.topology.spines = config.topology.hosts_per_leaf;  // no oversubscription
  config.paths = 64;
  config.window_packets = 1024;
  config.apply(options);
  return config;
}

void lose_at_hosts(World& world, double loss) {
  if (loss <= 0) return;
  Fault fault;
  fault.kind = FaultKind::kLoss;
  fault.probability = loss;
  for (const Link& link : world.fabric().links())
    if (link.kind == Link::Kind::kHost) fault.channels.push_back(link.down_channel);
  world.faults().add(std::move(fault));
}

// Every host sends a part to its right neighbour, 2(N-1) times; each step waits for the part from the left.
class Ring : private StreamListener {
 public:
  Ring(World& world, uint32_t hosts, uint64_t bytes)
      : world_(world), steps_(2 * (hosts - 1)), step_start_(hosts, 0) {
    StreamConfig config;
    config.message_bytes = std::max<uint64_t>(1, bytes / hosts);
    config.messages = steps_;
    config.depth = 2;
    config.immediate = true;
    config.manual = true;
    // Neighbours in the ring are in different racks.
    const uint32_t per_leaf = world.config().topology.hosts_per_leaf;
    const uint32_t leaves = world.config().topology.leaves;
    for (uint32_t i = 0; i < hosts; ++i) order_.push_back(i % leaves * per_leaf + i / leaves);
    for (uint32_t i = 0; i < hosts; ++i) {
      streams_.push_back(&world.add_stream(order_[i], order_[(i + 1) % hosts], config));
      streams_.back()->set_listener(this);
    }
    for (Stream* stream : streams_) stream->send();
  }
  const std::vector<double>& steps() const { return step_times_; }
  Picoseconds finished_at() const { return last_arrival_; }

 private:
  void on_message(Stream& stream, uint64_t number) override {
    const size_t index =
        static_cast<size_t>(std::find(streams_.begin(), streams_.end(), &stream) - streams_.begin());
    const size_t next = (index + 1) % streams_.size();
    last_arrival_ = world_.now();
    step_times_.push_back(to_microseconds(world_.now() - step_start_[next]));
    step_start_[next] = world_.now();
    if (number + 1 < steps_) streams_[next]->send();
  }

  World& world_;
  uint64_t steps_;
  std::vector<uint32_t> order_;
  std::vector<Stream*> streams_;  // by place in the ring
  std::vector<Picoseconds> step_start_;
  std::vector<double> step_times_;
  Picoseconds last_arrival_ = 0;
};

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
  for (const Transport& transport : all_transports()) {
    double lossless[2] = {};
    for (const double loss : losses) {
      char label[64];
      std::snprintf(label, sizeof label, "%s_loss_%g%%", transport.name().c_str(), loss * 100);
      const std::string name = label;
      {
        WorldConfig config = sixteen_per_leaf(hosts, options);
        config.buffer_bytes = size / hosts + 1;
        config.queue_pairs_per_host = 2;
        World world(config.speaking(transport));
        lose_at_hosts(world, loss);
        Ring ring(world, hosts, size);
        const bool done = world.run_until_done(kPerSecond);
        const double taken = done ? to_microseconds(ring.finished_at()) : 1e9;
        // Every host sends 2(N-1)/N of the data.
        const double bits = 2.0 * (hosts - 1) / hosts * static_cast<double>(size) * 8;
        if (loss == 0) lossless[0] = taken;
        result.add("ring_" + name + "_time", taken, "us");
        result.add("ring_" + name + "_bus_bandwidth", bits / taken / 1e3, "Gb/s");
        if (loss > 0) result.add("ring_" + name + "_of_lossless", lossless[0] / taken);
        add_percentiles(&result, "ring_" + name + "_step", ring.steps(), "us");
        result.add_at_most("ring_" + name + "_errors", world.failures(), 0);
        ring_plot.series.push_back(cdf(name, ring.steps()));
      }
      {
        WorldConfig config = sixteen_per_leaf(hosts, options);
        config.buffer_bytes = size / hosts + 1;
        config.window_packets = 256;
        config.queue_pairs_per_host = 2 * (hosts - 1);
        World world(config.speaking(transport));
        lose_at_hosts(world, loss);
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
        all_plot.series.push_back(cdf(name, times));
      }
    }
  }
  result.plots.push_back(std::move(ring_plot));
  result.plots.push_back(std::move(all_plot));
  return result;
}

}  // namespace mrc::sim
