// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/fabric/topology.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <stdexcept>

namespace mrc::sim {

namespace {
constexpr uint32_t kDataOverheadBytes = 102;  // Ethernet to RETH and ICRC over IPv6
constexpr uint32_t kSackBytes = 114;

Picoseconds time_on(double gigabits, uint32_t bytes) {
  return static_cast<Picoseconds>((bytes + kWireOverheadBytes) * 8000.0 / gigabits);
}
}  // namespace

Picoseconds TopologyConfig::base_rtt(uint32_t mtu) const {
  Picoseconds one_way_delay = 2 * host_delay;
  Picoseconds wire =
      2 * time_on(host_gigabits, mtu + kDataOverheadBytes) + 2 * time_on(host_gigabits, kSackBytes);
  if (tiers >= 2) {
    one_way_delay += 2 * spine_delay;
    wire += 2 * time_on(spine_gigabits, mtu + kDataOverheadBytes) + 2 * time_on(spine_gigabits, kSackBytes);
  }
  if (tiers >= 3) {
    one_way_delay += 2 * core_delay;
    wire += 2 * time_on(core_gigabits, mtu + kDataOverheadBytes) + 2 * time_on(core_gigabits, kSackBytes);
  }
  return 2 * one_way_delay + wire;
}

uint64_t TopologyConfig::bandwidth_delay_bytes(uint32_t mtu) const {
  return static_cast<uint64_t>(static_cast<double>(base_rtt(mtu)) * host_gigabits / 8000.0);
}

void TopologyConfig::set_rtt(Picoseconds rtt, uint32_t mtu) {
  host_delay = spine_delay = core_delay = 0;
  const Picoseconds wire = base_rtt(mtu);
  assert(rtt > wire);
  host_delay = spine_delay = core_delay = (rtt - wire) / (2 * links_between_hosts());
}

void TopologyConfig::set_queues(uint32_t mtu, bool trimming, bool ecn_last_hop) {
  const auto bdp = static_cast<double>(bandwidth_delay_bytes(mtu));
  const auto part = [bdp](double share) { return static_cast<uint32_t>(share * bdp); };
  queue = QueueSettings{};
  queue.ecn_min_bytes = part(0.2);
  queue.ecn_max_bytes = part(0.8);
  queue.trim_bytes = trimming ? part(1) : 0;
  queue.data_bytes_max = part(5);
  queue.control_bytes_max = part(1);
  last_hop = queue;
  last_hop.last_hop = true;
  if (trimming) last_hop.trim_bytes = part(1.5);
  if (!ecn_last_hop) last_hop.ecn_min_bytes = last_hop.ecn_max_bytes = 0;
  host = QueueSettings{};
}

// Marks: the values of DCQCN's paper, which are for 40 Gb/s. XOFF has to be above Kmax, so that a flow is
// told before it is paused; with a fifth more a switch has 6 KB of buffer per Gb/s, and headroom. (The
// paper's had 9 and shared them; large ones today have 3.) XON: two packets less, as in the paper.
void TopologyConfig::set_lossless_queues(uint32_t mtu, bool marks) {
  constexpr double kKminPerGigabit = 5'000.0 / 40;
  constexpr double kKmaxPerGigabit = 200'000.0 / 40;
  constexpr double kXoffPerGigabit = 1.2 * kKmaxPerGigabit;
  constexpr double kPmax = 0.01;
  pause.xoff_bytes = static_cast<uint32_t>(kXoffPerGigabit * host_gigabits);
  pause.xon_bytes = pause.xoff_bytes - 2 * (mtu + kDataOverheadBytes);
  const auto marking = [&](double gigabits) {
    QueueSettings settings;
    if (!marks) return settings;
    settings.ecn_min_bytes = static_cast<uint32_t>(kKminPerGigabit * gigabits);
    settings.ecn_max_bytes = static_cast<uint32_t>(kKmaxPerGigabit * gigabits);
    settings.ecn_max_share = kPmax;
    return settings;
  };
  queue = marking(spine_gigabits);
  last_hop = marking(host_gigabits);
  last_hop.last_hop = true;
  host = QueueSettings{};
}

FabricShape TopologyConfig::fabric_shape() const {
  FabricShape shape;
  shape.block = 0xFCBBBBBB;
  shape.spines = spines;
  if (tiers == 3) {
    shape.leaves_per_pod = leaves;
    shape.cores_per_spine = cores_per_spine;
  }
  constexpr uint32_t kOfLab = 256;
  const uint32_t counts[kUsidKinds] = {spine_count(), leaf_count(), core_count(), hosts_per_leaf};
  if (*std::max_element(std::begin(counts), std::end(counts)) <= kOfLab) return shape;
  uint32_t next = 1;
  for (size_t kind = 0; kind < kUsidKinds; ++kind) {
    shape.usids.first[kind] = static_cast<uint16_t>(next);
    next += std::max(counts[kind], 1u);
    if (next > 0x10000)
      throw std::invalid_argument("65,535 uSIDs are not enough for the switches of a plane of this network");
  }
  shape.usids.plane_step = 0;
  return shape;
}

TopologyConfig TopologyConfig::fat_tree(uint32_t k) {
  assert(k % 2 == 0 && k >= 2);
  TopologyConfig config;
  config.tiers = 3;
  config.pods = k;
  config.leaves = config.spines = config.hosts_per_leaf = config.cores_per_spine = k / 2;
  return config;
}

}  // namespace mrc::sim
