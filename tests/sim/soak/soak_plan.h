// SPDX-License-Identifier: BSD-2-Clause
// What one seed of the soak draws: a network, engines, connections with their workload, and faults.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/sim/core/random.h"
#include "tests/sim/fabric/faults.h"
#include "tests/sim/fabric/topology.h"
#include "tests/sim/host/host.h"
#include "tests/sim/workload/checked_flow.h"
#include "tests/sim/workload/datagram_flow.h"

namespace mrc::sim {

inline constexpr uint32_t kControllersDrawn = 3;
inline constexpr uint32_t kSharedPacketsMax = 16;  // of messages into shared receive queues

struct PlannedConnection {
  uint32_t host[2];
  FlowConfig flow[2];
  uint32_t send_entries[2];
  uint32_t receive_entries[2];
  Psn first_psn[2];
  bool plain_rc = false;  // RoCEv2 RC: one path, go-back-N
};

struct SoakPlan {
  TopologyConfig topology;
  HostConfig host;
  uint32_t mtu = 4096;
  Nanoseconds timeout = 4 * kMillisecond;
  uint8_t retry_linear = 7;
  uint8_t retry_exponential = 0;
  uint8_t rnr_timer = 1;
  uint8_t reads_max = 16;
  bool srv6 = false;  // paths are lists of uSIDs; else EVs are hashed
  uint32_t mpr = 0;   // what each end lets the other have, with dynamic MPR; 0 = not said
  std::vector<PlannedConnection> connections;
  std::vector<DatagramConfig> datagrams;
  InteropConfig interop[2];     // of even and of odd hosts
  bool readings_drawn = false;  // of these two; else both read MRC as we do
  uint32_t shared_entries = 0;  // of the shared receive queue that each host has then
  uint32_t cut_off = kNoHost;   // a host that loses all its links for good
  Picoseconds cut_off_at = 0;
  // SRv6: an operator lets no path lead over some link, or some switch, of this host's; for a while.
  uint32_t denier = kNoHost;
  Picoseconds denied_at = 0;
  Picoseconds allowed_at = kForever;
  bool corrupting = false;  // some fault changes bytes
  // Hosts place WRITEs and complete requests in every order that is legal, up to so late; 0 = as usual.
  Nanoseconds disorder_hold = 0;
  uint64_t seed = 0;

  std::string describe() const;
  bool has_plain_rc() const;
  bool reads_differ() const;  // what one host says is not what the other would
};

// `controllers`: how many of the congestion algorithms are drawn from, in the order of CongestionAlgorithm.
SoakPlan draw_soak_plan(uint64_t seed, OperationSet operations, uint32_t controllers = kControllersDrawn);
// The faults of the plan's seed, on the fabric that was built from it. Each ends, but for those that the
// connections must live with: loss, duplication, reordering and corruption on whole paths.
void draw_faults(const SoakPlan& plan, Fabric& fabric, FaultPlan* faults);

}  // namespace mrc::sim
