// SPDX-License-Identifier: BSD-2-Clause
// What the network looks like: hosts with one port per plane, and in every plane a Clos network of one, two
// or three tiers. Numbers only; Fabric builds it.
#pragma once

#include <cstdint>

#include "libmrc/path/fabric_shape.h"
#include "tests/sim/core/channel.h"
#include "tests/sim/core/pause_control.h"
#include "tests/sim/core/time.h"

namespace mrc::sim {

struct TopologyConfig {
  uint32_t planes = 1;
  uint32_t tiers = 2;  // 1: one leaf; 2: leaves and spines; 3: pods of leaves and spines, joined by cores
  uint32_t hosts_per_leaf = 4;
  uint32_t leaves = 2;           // per plane, or per pod in three tiers
  uint32_t spines = 4;           // per plane, or per pod in three tiers
  uint32_t pods = 1;             // three tiers only
  uint32_t cores_per_spine = 1;  // three tiers only: up channels of a spine

  double host_gigabits = 100;
  double spine_gigabits = 100;  // leaf - spine
  double core_gigabits = 100;   // spine - core
  Picoseconds host_delay = 500 * kPerNanosecond;
  Picoseconds spine_delay = 500 * kPerNanosecond;
  Picoseconds core_delay = 500 * kPerNanosecond;

  QueueSettings queue;     // of switches, between switches
  QueueSettings last_hop;  // of leaves, towards hosts
  QueueSettings host;      // of hosts
  PauseSettings pause;     // priority flow control of all switches
  bool reroute = false;    // whether the hash of a switch leaves out its own links that are down

  uint32_t pod_count() const { return tiers == 3 ? pods : 1; }
  uint32_t leaf_count() const { return tiers == 1 ? 1 : leaves * pod_count(); }
  uint32_t spine_count() const { return tiers == 1 ? 0 : spines * pod_count(); }
  uint32_t core_count() const { return tiers == 3 ? spines * cores_per_spine : 0; }
  uint32_t host_count() const { return leaf_count() * hosts_per_leaf; }
  uint32_t links_between_hosts() const { return 2 * tiers; }  // on the longest path
  // A full frame there and a small one back by the longest path, nothing queued.
  Picoseconds base_rtt(uint32_t mtu) const;
  // Bytes that fill one plane for one base round trip.
  uint64_t bandwidth_delay_bytes(uint32_t mtu) const;

  // All delays equal, such that base_rtt() is about this.
  void set_rtt(Picoseconds rtt, uint32_t mtu);
  // MRC 5.5: thresholds by bandwidth-delay product.
  void set_queues(uint32_t mtu, bool trimming, bool ecn_last_hop);

  // For plain RoCEv2 in a network that loses nothing: priority flow control, and, if `marks`, ECN as DCQCN
  // wants it.
  void set_lossless_queues(uint32_t mtu, bool marks);

  // What hosts know of it, for SRv6: the uSIDs of the lab if they are enough, else all kinds close together
  // and the same on all planes. A host's number is its place at its leaf. Throws std::invalid_argument if
  // there are not enough uSIDs.
  FabricShape fabric_shape() const;

  // k-ary fat tree: k pods of k/2 leaves and k/2 spines, (k/2)^2 cores, k^3/4 hosts.
  static TopologyConfig fat_tree(uint32_t k);
};

}  // namespace mrc::sim
