// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/soak/soak_plan.h"

#include <algorithm>
#include <cstdio>
#include <tuple>

#include "tests/sim/core/frame_headers.h"

namespace mrc::sim {

namespace {

constexpr double kRates[] = {10, 25, 100, 400};
constexpr const char* kAlgorithms[] = {"no congestion control", "nscc", "receiver-aware"};
constexpr uint32_t kMtus[] = {256, 512, 1024, 2048, 4096};

OperationSet strict_operations(OperationSet operations) {
  OperationSet strict = 0;
  for (size_t i = 0; i < kOperations.size(); ++i)
    if (is_strict_mrc(kOperations[i].operation)) strict |= 1u << i;
  return (operations & strict) != 0 ? operations & strict : strict;
}

TopologyConfig draw_topology(Random& random, uint32_t mtu) {
  TopologyConfig topology;
  topology.planes = static_cast<uint32_t>(random.between(1, 8));
  topology.tiers = static_cast<uint32_t>(random.between(1, 3));
  topology.spines = static_cast<uint32_t>(random.between(1, 4));
  if (topology.tiers == 1) {
    topology.hosts_per_leaf = static_cast<uint32_t>(random.between(2, 8));
  } else if (topology.tiers == 2) {
    topology.leaves = static_cast<uint32_t>(random.between(2, 4));
    topology.hosts_per_leaf = static_cast<uint32_t>(random.between(1, 4));
  } else {
    topology.pods = 2;
    topology.leaves = static_cast<uint32_t>(random.between(1, 2));
    topology.hosts_per_leaf = static_cast<uint32_t>(random.between(1, 4));
    topology.cores_per_spine = static_cast<uint32_t>(random.between(1, 2));
  }
  topology.host_gigabits = kRates[random.below(4)];
  topology.spine_gigabits = kRates[random.below(4)];  // oversubscribed as well
  topology.core_gigabits = kRates[random.below(4)];
  topology.host_delay = random.between(50, 3'000) * kPerNanosecond;
  topology.spine_delay = random.between(50, 3'000) * kPerNanosecond;
  topology.core_delay = random.between(50, 3'000) * kPerNanosecond;
  topology.set_queues(mtu, random.chance(0.5), random.chance(0.5));
  // From queues of a few frames to such that never fill.
  const auto least = 3 * (mtu + 200);
  const double scale = random.chance(0.5) ? 1 : random.unit() * 2;
  for (QueueSettings* queue : {&topology.queue, &topology.last_hop}) {
    const auto scaled = [scale, least](uint32_t bytes) {
      return bytes == 0 ? 0 : std::max(least, static_cast<uint32_t>(bytes * scale));
    };
    queue->data_bytes_max = scaled(queue->data_bytes_max);
    queue->trim_bytes = scaled(queue->trim_bytes);
    queue->ecn_max_bytes = scaled(queue->ecn_max_bytes);
    queue->ecn_min_bytes = std::min(queue->ecn_max_bytes / 2, queue->ecn_min_bytes);
    queue->control_bytes_max = std::max(4096u, scaled(queue->control_bytes_max));
  }
  topology.reroute = random.chance(0.3);
  return topology;
}

// What the engines run with; congestion control fits the network.
HostConfig draw_host(Random& random, const TopologyConfig& topology, uint32_t mtu, uint32_t controllers) {
  HostConfig host;
  host.v4 = random.chance(0.5);
  host.transmit_frames_max = static_cast<uint32_t>(random.between(1, 32));
  host.receive_frames_max = random.chance(0.8) ? 4096 : static_cast<uint32_t>(random.between(64, 512));
  host.burst_gap = random.between(50, 2'000);
  host.engine.qpn_count = 32;
  TransportConfig& transport = host.engine.transport;
  transport.paths_per_plane = static_cast<uint32_t>(random.between(1, 16));
  transport.backups_per_plane = random.chance(0.5) ? 0 : static_cast<uint32_t>(random.between(1, 8));
  transport.mark_skip_turns_max = 1u << random.between(0, 7);
  transport.trim_skip_turns = 1u << random.between(0, 7);
  transport.paths_min_active = random.chance(0.7) ? 0 : static_cast<uint32_t>(random.between(1, 4));
  transport.window_packets = 64u << random.below(5);
  transport.window_bytes = static_cast<uint32_t>(random.between(1, 256)) * 4096;
  transport.immediates_max = static_cast<uint16_t>(random.between(1, 64));
  transport.sack_threshold_bytes = static_cast<uint32_t>(random.between(1, 32)) * 1024;
  transport.reorder_window_min = random.between(2, 40) * kMicrosecond;
  transport.probe_interval = random.between(50, 1'000) * kMicrosecond;
  transport.probe_interval_max = random.between(1, 5) * kMillisecond;
  transport.silence_min = random.between(10, 100) * kMicrosecond;
  transport.coarse_timestamps = random.chance(0.5);
  transport.strict = random.chance(0.25);
  if (random.chance(0.7)) {
    transport.dscp_data = Dscp::kTrimmable;
    transport.dscp_retransmission = Dscp::kTrimmableRetransmission;
  }
  transport.congestion = static_cast<CongestionAlgorithm>(random.below(controllers));
  transport.link_rate_bps = static_cast<uint64_t>(topology.planes * topology.host_gigabits * 1e9);
  transport.nscc = nscc_defaults(transport.link_rate_bps, to_nanoseconds(topology.base_rtt(mtu)), mtu,
                                 topology.queue.trim_bytes != 0 && transport.dscp_data == Dscp::kTrimmable);
  return host;
}

PlannedConnection draw_connection(Random& random, const SoakPlan& plan, OperationSet operations) {
  PlannedConnection connection;
  const uint32_t hosts = plan.topology.host_count();
  connection.host[0] = static_cast<uint32_t>(random.below(hosts));
  connection.host[1] = static_cast<uint32_t>((connection.host[0] + random.between(1, hosts - 1)) % hosts);
  for (int side = 0; side < 2; ++side) {
    FlowConfig& flow = connection.flow[side];
    flow.mtu = plan.mtu;
    flow.messages = static_cast<uint32_t>(random.between(1, 60));
    flow.segments_max = static_cast<uint32_t>(random.between(1, 8));
    flow.inline_bytes_max = random.chance(0.5) ? 0 : static_cast<uint32_t>(random.between(1, 256));
    flow.packets_max = random.chance(0.9) ? 64 : 256;
    flow.operations = operations;
    connection.send_entries[side] = static_cast<uint32_t>(random.between(1, 64));
    // MRC 2: there is no "receiver not ready" in the strict protocol, so as many receives as immediates may
    // be in flight.
    const TransportConfig& transport = plan.host.engine.transport;
    connection.receive_entries[side] = transport.strict || random.chance(0.5)
                                           ? transport.immediates_max
                                           : static_cast<uint32_t>(random.between(1, 8));
    connection.first_psn[side] =
        random.chance(0.5) ? Psn(0xFFFFF0) : Psn(static_cast<uint32_t>(random.next()));
  }
  return connection;
}

// What came later has a random sequence of its own, so that the rest of every seed stays what it was.
void draw_extras(SoakPlan* plan) {
  Random random(mix(plan->seed + 0xE47A));
  TransportConfig& transport = plan->host.engine.transport;
  plan->srv6 = random.chance(0.4);
  transport.dynamic_mpr = random.chance(0.3);
  if (transport.dynamic_mpr && transport.window_packets >= 2 * kMprUnit && random.chance(0.7))
    plan->mpr = static_cast<uint32_t>(random.between(1, transport.window_packets / kMprUnit)) * kMprUnit;
  if (random.chance(0.25)) {
    const double share = random.chance(0.5) ? 1 : 0.5;
    for (PlannedConnection& connection : plan->connections) {
      connection.plain_rc = random.chance(share);
      // Going back again and again takes its time; a few messages show as much as many.
      for (FlowConfig& flow : connection.flow)
        if (connection.plain_rc) flow.messages = std::min(flow.messages, 16u);
    }
  }
  if (!random.chance(0.3)) return;
  for (uint64_t left = random.between(1, 3); left > 0; --left) {
    DatagramConfig datagrams;
    const uint32_t hosts = plan->topology.host_count();
    datagrams.host[0] = static_cast<uint32_t>(random.below(hosts));
    datagrams.host[1] = static_cast<uint32_t>((datagrams.host[0] + random.between(1, hosts - 1)) % hosts);
    datagrams.bytes_max = plan->mtu;
    datagrams.count = static_cast<uint32_t>(random.between(1, 100));
    datagrams.receive_entries = static_cast<uint32_t>(random.between(1, 16));
    plan->datagrams.push_back(datagrams);
  }
}

// Few receive requests for many queue pairs.
void draw_shared_receives(SoakPlan* plan) {
  Random random(mix(plan->seed + 0x5A4ED));
  if (plan->host.engine.transport.strict || !random.chance(0.2)) return;
  // A peer that is gone in the middle of a message keeps its request, as with a NIC, until its queue pair
  // goes.
  if (plan->cut_off != kNoHost) return;
  plan->shared_entries = static_cast<uint32_t>(random.between(1, 8));
  const uint32_t receiver = plan->connections[0].host[1];
  for (PlannedConnection& connection : plan->connections) {
    if (connection.host[0] != receiver && random.chance(0.7)) connection.host[1] = receiver;
    for (FlowConfig& flow : connection.flow) {
      flow.packets_max = std::min(flow.packets_max, kSharedPacketsMax);
      flow.messages = std::min(flow.messages, 24u);
    }
  }
}

// MRC 11: hosts that read MRC in different ways.
InteropConfig draw_interop(Random& random) {
  InteropConfig interop;
  if (random.chance(0.5)) interop.udp_port = kUdpPortSpecPrint;
  interop.echo_port_first = random.chance(0.5);
  interop.pad = random.chance(0.5);
  interop.response_operation_high = random.chance(0.5);
  interop.nack_out_of_window = random.chance(0.5);
  return interop;
}

void draw_interops(SoakPlan* plan) {
  Random random(mix(plan->seed + 0x14E0));
  if (!random.chance(0.5)) return;
  plan->readings_drawn = true;
  const bool checked = random.chance(0.5);
  for (InteropConfig& interop : plan->interop) {
    interop = draw_interop(random);
    if (!checked) interop.partition_key = static_cast<uint16_t>(random.next());  // nobody looks
  }
  // Even hosts are full members of the partition and look; odd ones may be limited members, and do not, for
  // they could not talk to each other.
  plan->interop[0].check_partition_key = checked;
  if (checked && random.chance(0.5)) plan->interop[1].partition_key &= 0x7FFF;
}

// What a receiver asks of its senders, and what they have in reserve.
void draw_receiver(SoakPlan* plan) {
  Random random(mix(plan->seed + 0x4ECE));
  TransportConfig& transport = plan->host.engine.transport;
  transport.full_windows = static_cast<uint32_t>(random.between(1, 8));
  if (random.chance(0.3)) transport.backups_per_plane = TransportConfig::kBackupsAuto;
  transport.receiver_penalty = random.chance(0.3);
  transport.spare_copies = random.chance(0.7);
}

void draw_disorder(SoakPlan* plan) {
  Random random(mix(plan->seed + 0xD150));
  if (!random.chance(0.2)) return;
  plan->disorder_hold = random.between(2, 200) * kMicrosecond;
  if (!plan->host.engine.transport.strict) return;
  // MRC 2: a receive that is posted late ends the connection, and whoever hears late posts late. So all at
  // once.
  for (PlannedConnection& connection : plan->connections)
    for (int side = 0; side < 2; ++side)
      connection.receive_entries[side] =
          std::max(connection.receive_entries[side], connection.flow[1 - side].messages);
}

// What `mrcctl ev deny` does, under traffic, and mostly takes back. The senders to that host are told, or
// not.
void draw_denied(SoakPlan* plan) {
  Random random(mix(plan->seed + 0xDE41));
  if (!plan->srv6 || !random.chance(0.4)) return;
  plan->host.engine.transport.tell_denied = random.chance(0.8);
  plan->denier = plan->connections[0].host[random.below(2)];
  plan->denied_at = random.between(1, 300) * kPerMicrosecond;
  if (random.chance(0.7)) plan->allowed_at = plan->denied_at + random.between(20, 3'000) * kPerMicrosecond;
}

}  // namespace

bool SoakPlan::reads_differ() const {
  const auto saying = [](const InteropConfig& interop) {
    return std::tuple(interop.udp_port, interop.echo_port_first, interop.pad,
                      interop.response_operation_high);
  };
  return saying(interop[0]) != saying(interop[1]);
}

bool SoakPlan::has_plain_rc() const {
  return std::any_of(connections.begin(), connections.end(),
                     [](const PlannedConnection& connection) { return connection.plain_rc; });
}

SoakPlan draw_soak_plan(uint64_t seed, OperationSet operations, uint32_t controllers) {
  Random random(mix(seed + 1));
  SoakPlan plan;
  plan.seed = seed;
  plan.mtu = kMtus[random.below(5)];
  do {
    plan.topology = draw_topology(random, plan.mtu);
  } while (plan.topology.host_count() < 2);
  plan.host = draw_host(random, plan.topology, plan.mtu, controllers);
  if (plan.host.engine.transport.strict) operations = strict_operations(operations);
  plan.rnr_timer = static_cast<uint8_t>(random.between(1, 8));
  plan.reads_max = static_cast<uint8_t>(random.between(1, 32));
  plan.retry_exponential = random.chance(0.5) ? 0 : static_cast<uint8_t>(random.between(1, 3));
  const uint64_t connections = random.between(1, 8);
  for (uint64_t i = 0; i < connections; ++i)
    plan.connections.push_back(draw_connection(random, plan, operations));
  if (random.chance(0.08)) {
    plan.cut_off = plan.connections[0].host[random.below(2)];
    plan.cut_off_at = random.between(0, 300) * kPerMicrosecond;
  }
  draw_extras(&plan);
  draw_shared_receives(&plan);
  draw_interops(&plan);
  draw_receiver(&plan);
  draw_disorder(&plan);
  draw_denied(&plan);
  return plan;
}

std::string SoakPlan::describe() const {
  const TransportConfig& transport = host.engine.transport;
  char text[500];
  std::snprintf(
      text, sizeof text,
      "%u tiers %u hosts %u planes %u spines, %g/%g/%g Gb/s, %s, mtu %u, %zu connections, %u paths, "
      "window %u packets %u bytes, %u immediates, %s%s%s%s%s%s%s%s%s%s%s%s",
      topology.tiers, topology.host_count(), topology.planes, topology.spines, topology.host_gigabits,
      topology.spine_gigabits, topology.core_gigabits, host.v4 ? "v4" : "v6", mtu, connections.size(),
      transport.paths_per_plane, transport.window_packets, transport.window_bytes, transport.immediates_max,
      kAlgorithms[static_cast<size_t>(transport.congestion)], srv6 ? ", srv6" : "",
      has_plain_rc() ? ", plain rc" : "", datagrams.empty() ? "" : ", datagrams",
      transport.dynamic_mpr ? ", dynamic mpr" : "", topology.queue.trim_bytes != 0 ? ", trimming" : "",
      topology.reroute ? ", rerouting" : "", shared_entries != 0 ? ", shared receives" : "",
      reads_differ() ? ", readings differ" : "", cut_off != kNoHost ? ", one host cut off" : "",
      disorder_hold != 0 ? ", disorder" : "", denier != kNoHost ? ", a link denied" : "");
  return text;
}

// ------------------------------------------------------------------------------------------------- faults

namespace {

// The channels on which a path fault lies: the first and last of every path, so that a packet meets it once.
std::vector<uint32_t> edges(Fabric& fabric, bool upward) {
  std::vector<uint32_t> channels;
  for (const Link& link : fabric.links())
    if (link.kind == Link::Kind::kHost) channels.push_back(upward ? link.up_channel : link.down_channel);
  return channels;
}

class FaultDrawer {
 public:
  FaultDrawer(Random& random, Fabric& fabric, FaultPlan* faults)
      : random_(random), fabric_(fabric), faults_(faults) {}

  // What every packet may meet on its way.
  void on_all_paths(FaultKind kind, double probability_max, Picoseconds delay, bool ends) {
    Fault fault;
    fault.kind = kind;
    fault.probability = random_.chance(0.3) ? probability_max : random_.unit() * probability_max;
    fault.delay = delay;
    fault.channels = edges(fabric_, random_.chance(0.5));
    if (ends) fault.end = fault.begin + span();
    faults_->add(std::move(fault));
  }

  void somewhere() {
    Fault fault;
    fault.begin = random_.below(500) * kPerMicrosecond;
    fault.end = fault.begin + span();
    const Link& link = fabric_.links()[random_.below(fabric_.links().size())];
    const bool one_way = random_.chance(0.4);  // a gray link
    fault.channels = {random_.chance(0.5) ? link.up_channel : link.down_channel};
    if (!one_way) fault.channels = {link.up_channel, link.down_channel};
    if (random_.chance(0.2)) {
      fault.flap_on = random_.between(20, 500) * kPerMicrosecond;
      fault.flap_off = random_.between(20, 500) * kPerMicrosecond;
    }
    switch (random_.below(8)) {
      case 0:
        fault.kind = FaultKind::kBlackHole;
        break;
      case 1:
        fault.kind = FaultKind::kDown;
        break;
      case 2:
        fault.kind = FaultKind::kLoss;
        fault.probability = random_.unit() * 0.5;
        break;
      case 3:
        fault.kind = FaultKind::kBurstLoss;
        fault.probability = random_.unit() * 0.02;
        fault.burst_end = 0.02 + random_.unit() * 0.5;
        break;
      case 4:
        fault.kind = FaultKind::kRate;
        fault.probability = 0.05 + random_.unit() * 0.9;
        break;
      case 5: {
        const Switch& dead = *fabric_.switches()[random_.below(fabric_.switches().size())];
        fault.kind = FaultKind::kDown;
        fault.channels = fabric_.channels_of(dead.tier(), dead.plane(), dead.index());
        break;
      }
      case 6:
        fault.kind = FaultKind::kPortDown;
        fault.host = static_cast<uint32_t>(random_.below(fabric_.host_count()));
        fault.plane = static_cast<Plane>(random_.below(fabric_.config().planes));
        break;
      default:
        fault.kind = FaultKind::kHostPause;
        fault.host = static_cast<uint32_t>(random_.below(fabric_.host_count()));
        fault.channels.clear();
        fault.flap_on = fault.flap_off = 0;
        fault.end = fault.begin + random_.between(5, 2'000) * kPerMicrosecond;
    }
    faults_->add(std::move(fault));
  }

  // Loss for a slice of the entropy values, wherever they go.
  void some_entropies() {
    Fault fault;
    fault.kind = FaultKind::kEntropyLoss;
    fault.probability = 0.05 + random_.unit() * 0.95;
    fault.begin = random_.below(500) * kPerMicrosecond;
    fault.end = fault.begin + span();
    fault.channels = edges(fabric_, true);
    for (uint32_t port = 0xC000; port <= 0xFFFF; ++port)
      if (mix(port) % 8 == 0) fault.entropies.push_back(port);
    faults_->add(std::move(fault));
  }

 private:
  Picoseconds span() { return random_.between(20, 6'000) * kPerMicrosecond; }

  Random& random_;
  Fabric& fabric_;
  FaultPlan* faults_;
};

}  // namespace

void draw_faults(const SoakPlan& plan, Fabric& fabric, FaultPlan* faults) {
  Random random(mix(plan.seed + 0x5EED));
  FaultDrawer drawer(random, fabric, faults);
  if (plan.cut_off != kNoHost) {
    Fault fault;
    fault.kind = random.chance(0.5) ? FaultKind::kBlackHole : FaultKind::kDown;
    fault.begin = plan.cut_off_at;
    for (uint32_t plane = 0; plane < plan.topology.planes; ++plane) {
      const Link& link = fabric.host_link(plan.cut_off, static_cast<Plane>(plane));
      fault.channels.push_back(link.up_channel);
      fault.channels.push_back(link.down_channel);
    }
    faults->add(std::move(fault));
  }
  if (random.chance(0.15)) return;  // nothing else breaks
  const Picoseconds delay = random.between(1, 200) * kPerMicrosecond;
  const bool ends = random.chance(0.5);
  // Plain RC goes back for every packet that is lost or late: it lives with little of both.
  const double most = plan.has_plain_rc() ? 0.02 : 0.30;
  if (random.chance(0.6)) drawer.on_all_paths(FaultKind::kLoss, random.chance(0.5) ? 0.02 : most, 0, ends);
  if (random.chance(0.4)) drawer.on_all_paths(FaultKind::kDuplication, 0.50, delay, ends);
  if (random.chance(0.4)) drawer.on_all_paths(FaultKind::kReordering, most, delay, ends);
  if (random.chance(0.3)) drawer.on_all_paths(FaultKind::kCorruption, 0.05, 0, ends);
  for (uint64_t count = random.below(4); count > 0; --count) drawer.somewhere();
  if (random.chance(0.2)) drawer.some_entropies();
}

}  // namespace mrc::sim
