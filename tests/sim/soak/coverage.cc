// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/soak/coverage.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <utility>
#include <vector>

namespace mrc::sim {

namespace {

// How a host reads MRC, one per value of each setting of [interop].
struct Reading {
  const char* name;
  bool (*holds)(const InteropConfig&);
};

constexpr uint16_t kMembership = 0x8000;  // the bit of a partition key that is not its number

constexpr Reading kReadings[] = {
    {"port_4791", [](const InteropConfig& it) { return it.udp_port == kUdpPort; }},
    {"port_4971", [](const InteropConfig& it) { return it.udp_port == kUdpPortSpecPrint; }},
    {"usual_partition", [](const InteropConfig& it) { return it.partition_key == kPartitionKeyDefault; }},
    {"limited_member",
     [](const InteropConfig& it) { return it.partition_key == (kPartitionKeyDefault & ~kMembership); }},
    {"other_partition",
     [](const InteropConfig& it) { return (it.partition_key | kMembership) != kPartitionKeyDefault; }},
    {"partition_checked", [](const InteropConfig& it) { return it.check_partition_key; }},
    {"partition_unchecked", [](const InteropConfig& it) { return !it.check_partition_key; }},
    {"echo_port_low", [](const InteropConfig& it) { return !it.echo_port_first; }},
    {"echo_port_high", [](const InteropConfig& it) { return it.echo_port_first; }},
    {"pad", [](const InteropConfig& it) { return it.pad; }},
    {"no_pad", [](const InteropConfig& it) { return !it.pad; }},
    {"operation_bits_3_2", [](const InteropConfig& it) { return !it.response_operation_high; }},
    {"operation_bits_5_4", [](const InteropConfig& it) { return it.response_operation_high; }},
    {"out_of_window_nack", [](const InteropConfig& it) { return it.nack_out_of_window; }},
    {"out_of_window_drop", [](const InteropConfig& it) { return !it.nack_out_of_window; }},
};

struct Group {
  const char* name;
  std::vector<std::string> items;
};

const std::vector<Group>& groups() {
  static const std::vector<Group> all = [] {
    std::vector<Group> made(4);
    made[0].name = "operations";
    for (const OperationInfo& info : kOperations) made[0].items.emplace_back(info.name);
    made[0].items.emplace_back("datagrams");
    made[0].items.emplace_back("shared_receives");
    made[1].name = "faults";
    for (size_t i = 0; i <= static_cast<size_t>(FaultKind::kHostPause); ++i)
      made[1].items.emplace_back(to_string(static_cast<FaultKind>(i)));
    for (const char* name :
         {"flap", "gray_link", "switch_dead", "host_cut_off", "disorder", "link_denied", "always_skip"})
      made[1].items.emplace_back(name);
    made[2] = {"networks",
               {"1_tier",  "2_tiers",  "3_tiers",        "1_plane",  "8_planes",       "v4",
                "v6",      "srv6",     "ecmp",           "trimming", "last_hop_ecn",   "rerouting",
                "strict",  "rc",       "no_control",     "nscc",     "receiver_aware", "dynamic_mpr",
                "backups", "psn_wrap", "readings_differ"}};
    made[3].name = "readings";
    for (const Reading& reading : kReadings) made[3].items.emplace_back(reading.name);
    return made;
  }();
  return all;
}

bool is_gray(const Fault& fault) {
  return fault.channels.size() == 1 &&
         (fault.kind == FaultKind::kLoss || fault.kind == FaultKind::kBurstLoss ||
          fault.kind == FaultKind::kBlackHole || fault.kind == FaultKind::kDown);
}

void name_faults(const SoakPlan& plan, const FaultPlan& faults, Picoseconds end,
                 std::set<std::string>* names) {
  if (plan.cut_off != kNoHost) names->insert("host_cut_off");
  if (plan.disorder_hold != 0) names->insert("disorder");
  for (const Fault& fault : faults.faults()) {
    if (fault.begin >= end) continue;
    names->insert(to_string(fault.kind));
    if (fault.flap_on != 0) names->insert("flap");
    if (is_gray(fault)) names->insert("gray_link");
    // Cut off for good is a host; more than a link that comes back is a switch.
    if (fault.kind == FaultKind::kDown && fault.end != kForever && fault.channels.size() > 2)
      names->insert("switch_dead");
  }
}

void name_network(const SoakPlan& plan, std::set<std::string>* names) {
  static constexpr const char* kTiers[] = {"", "1_tier", "2_tiers", "3_tiers"};
  static constexpr const char* kControllers[] = {"no_control", "nscc", "receiver_aware"};
  const TransportConfig& transport = plan.host.engine.transport;
  names->insert(kTiers[plan.topology.tiers]);
  names->insert(plan.host.v4 ? "v4" : "v6");
  names->insert(plan.srv6 ? "srv6" : "ecmp");
  names->insert(kControllers[static_cast<size_t>(transport.congestion)]);
  bool wraps = false;
  for (const PlannedConnection& connection : plan.connections)
    for (const Psn psn : connection.first_psn) wraps |= psn.value() >= 0xFFFFF0;
  for (const auto& [holds, name] : {std::pair{plan.topology.planes == 1, "1_plane"},
                                    {plan.topology.planes == 8, "8_planes"},
                                    {plan.topology.queue.trim_bytes != 0, "trimming"},
                                    {plan.topology.last_hop.ecn_max_bytes != 0, "last_hop_ecn"},
                                    {plan.topology.reroute, "rerouting"},
                                    {transport.strict, "strict"},
                                    {plan.has_plain_rc(), "rc"},
                                    {transport.dynamic_mpr, "dynamic_mpr"},
                                    {transport.backups_for(transport.paths_per_plane) != 0, "backups"},
                                    {plan.reads_differ(), "readings_differ"},
                                    {wraps, "psn_wrap"}})
    if (holds) names->insert(name);
}

// Of hosts that speak MRC to one that need not read it as they do: everybody reads it as we do in the rest.
void name_readings(const SoakPlan& plan, std::set<std::string>* names) {
  for (const PlannedConnection& connection : plan.connections) {
    if (connection.plain_rc || connection.host[0] % 2 == connection.host[1] % 2) continue;
    for (const InteropConfig& spoken : plan.interop)
      for (const Reading& reading : kReadings)
        if (reading.holds(spoken)) names->insert(reading.name);
  }
}

}  // namespace

void Coverage::met(const std::string& name) {
  size_t at = 0;
  for (const Group& group : groups())
    for (const std::string& item : group.items) {
      if (item == name) ++seeds_[at];
      ++at;
    }
}

void Coverage::note(const SoakPlan& plan, const FaultPlan& faults, Picoseconds end, OperationSet completed,
                    bool told_bad) {
  std::set<std::string> names;
  for (size_t i = 0; i < kOperations.size(); ++i)
    if ((completed >> i & 1) != 0) names.insert(kOperations[i].name);
  if (!plan.datagrams.empty()) names.insert("datagrams");
  if (plan.shared_entries != 0) names.insert("shared_receives");
  name_faults(plan, faults, end, &names);
  name_network(plan, &names);
  if (plan.readings_drawn) name_readings(plan, &names);
  if (plan.denier != kNoHost && plan.denied_at < end) names.insert("link_denied");
  if (told_bad) names.insert("always_skip");
  for (const std::string& name : names) met(name);
  for (const Fault& fault : faults.faults()) {
    if (fault.begin >= end || fault.channels.size() <= 2) continue;
    if (fault.kind == FaultKind::kLoss) loss_max_ = std::max(loss_max_, fault.probability);
    if (fault.kind == FaultKind::kDuplication)
      duplication_max_ = std::max(duplication_max_, fault.probability);
  }
}

void Coverage::add(const Coverage& other) {
  for (size_t i = 0; i < kItems; ++i) seeds_[i] += other.seeds_[i];
  loss_max_ = std::max(loss_max_, other.loss_max_);
  duplication_max_ = std::max(duplication_max_, other.duplication_max_);
}

std::string Coverage::summary() const {
  std::string text;
  size_t at = 0;
  for (const Group& group : groups()) {
    text += std::string(text.empty() ? "" : "\n") + "  seeds with " + group.name + ":";
    for (const std::string& item : group.items) text += " " + item + " " + std::to_string(seeds_[at++]);
  }
  char worst[100];
  std::snprintf(worst, sizeof worst, "\n  on all paths at most: loss %.1f %%, duplication %.1f %%",
                100 * loss_max_, 100 * duplication_max_);
  return text + worst;
}

std::string Coverage::missing() const {
  std::string text;
  size_t at = 0;
  for (const Group& group : groups())
    for (const std::string& item : group.items)
      if (seeds_[at++] == 0) text += " " + item;
  return text;
}

}  // namespace mrc::sim
