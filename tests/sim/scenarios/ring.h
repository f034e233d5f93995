// SPDX-License-Identifier: BSD-2-Clause
// What collectives are made of: their network, and the ring of an all-reduce.
#pragma once

#include <algorithm>
#include <vector>

#include "tests/sim/scenarios/world.h"

namespace mrc::sim {

// Two tiers, four planes, up to sixteen hosts per leaf and as many spines.
inline WorldConfig sixteen_per_leaf(uint32_t hosts, const ScenarioOptions& options) {
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

// Neighbours in the ring are in different racks.
inline std::vector<uint32_t> ring_order(const World& world, uint32_t hosts) {
  const uint32_t per_leaf = world.config().topology.hosts_per_leaf;
  const uint32_t leaves = world.config().topology.leaves;
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < hosts; ++i) order.push_back(i % leaves * per_leaf + i / leaves);
  return order;
}

// Every host sends a part to its right neighbour, 2(N-1) times; each step waits for the part from the left.
// One all-reduce comes after the other; the last is measured, for the first finds a network it knows nothing
// of.
class Ring : private StreamListener {
 public:
  Ring(World& world, uint32_t hosts, uint64_t bytes, uint32_t before = 1)
      : world_(world), steps_(2 * (hosts - 1)), before_(before * steps_), step_start_(hosts, 0) {
    StreamConfig config;
    config.message_bytes = std::max<uint64_t>(1, bytes / hosts);
    config.messages = before_ + steps_;
    config.depth = 2;
    config.immediate = true;
    config.manual = true;
    const std::vector<uint32_t> order = ring_order(world, hosts);
    for (uint32_t i = 0; i < hosts; ++i) {
      streams_.push_back(&world.add_stream(order[i], order[(i + 1) % hosts], config));
      streams_.back()->set_listener(this);
    }
    for (Stream* stream : streams_) stream->send();
  }
  const std::vector<double>& steps() const { return step_times_; }
  Picoseconds taken() const { return last_arrival_ - measured_from_; }

 private:
  void on_message(Stream& stream, uint64_t number) override {
    const size_t index =
        static_cast<size_t>(std::find(streams_.begin(), streams_.end(), &stream) - streams_.begin());
    const size_t next = (index + 1) % streams_.size();
    last_arrival_ = world_.now();
    if (number < before_) measured_from_ = world_.now();
    if (number >= before_) step_times_.push_back(to_microseconds(world_.now() - step_start_[next]));
    step_start_[next] = world_.now();
    if (number + 1 < before_ + steps_) streams_[next]->send();
  }

  World& world_;
  uint64_t steps_;
  uint64_t before_;               // steps of those that are not measured
  std::vector<Stream*> streams_;  // by place in the ring
  std::vector<Picoseconds> step_start_;
  std::vector<double> step_times_;
  Picoseconds measured_from_ = 0;
  Picoseconds last_arrival_ = 0;
};

}  // namespace mrc::sim
