// SPDX-License-Identifier: BSD-2-Clause
#include "examples/lab/faults.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>

namespace mrc::lab {
namespace {

constexpr uint32_t kCertain = 1'000'000;  // ppm
// MRC 7 [P].
constexpr uint32_t kTrimBytes = 128;
constexpr uint32_t kDscpTrimmable = 4;
constexpr uint32_t kDscpTrimmableAgain = 8;
constexpr uint32_t kDscpTrimmed = 12;
constexpr uint32_t kDscpTrimmedLastHop = 16;

// How much of a rate-limited port's queue is what, as time at its rate but not less than so many bytes:
// senders that share the CPUs of one machine send in bursts, whatever the rate of the link.
constexpr uint64_t kQueueCeUs = 500;
constexpr uint64_t kQueueTrimUs = 2000;
constexpr uint64_t kQueueDropUs = 8000;
constexpr uint32_t kQueueCeBytes = 128 << 10;
// Marks of a last hop say nothing about paths (MRC 5.4), and from all paths at once they hide those that do;
// but without any, senders that came first never make room for others.
constexpr uint32_t kQueueCeBytesLastHop = 384 << 10;
constexpr uint32_t kQueueTrimBytes = 1 << 20;
constexpr uint32_t kQueueDropBytes = 2 << 20;
constexpr uint32_t kBurstBytes = 64 << 10;

uint32_t bytes_in(uint64_t bits_per_second, uint64_t microseconds, uint32_t at_least) {
  const uint64_t bytes = bits_per_second / 8 * microseconds / 1'000'000;
  return static_cast<uint32_t>(std::clamp<uint64_t>(bytes, at_least, 1U << 30));
}

}  // namespace

Faults::Faults(Fabric* fabric, Impairments* impairments) : fabric_(fabric), impairments_(impairments) {
  conditions_.resize(fabric->topology().links().size() * 2);
}

void Faults::start() {
  std::string ignored;
  if (!impairments_->available()) return;
  for (uint32_t link = 0; link < fabric_->topology().links().size(); ++link)
    for (const bool up : {true, false})
      if (fabric_->topology().links()[link].plane != 0) enforce({link, up}, &ignored);
}

Faults::Place Faults::place(const Direction& where) const {
  const Topology& topology = fabric_->topology();
  const Link& link = topology.links()[where.link];
  const Port& lower = topology.ports()[link.lower];
  const Port& upper = topology.ports()[link.upper];
  if (!where.up) return {&upper, LAB_EGRESS};
  if (topology.nodes()[lower.node].kind == Kind::kHost) return {&upper, LAB_INGRESS};
  return {&lower, LAB_EGRESS};
}

bool Faults::enforce_delay(const Direction& where, uint32_t* tap, std::string* error) {
  const Place at = place(where);
  return delay_lines_.set({.port = *at.port,
                           .ingress = at.direction == LAB_INGRESS,
                           .namespace_fd = fabric_->namespace_fd(at.port->node)},
                          condition(where).delay_us, fabric_->topology().shape().mtu, tap, error);
}

bool Faults::enforce(const Direction& where, std::string* error) {
  const Condition& now = condition(where);
  const Place at = place(where);
  const Topology& topology = fabric_->topology();
  const std::string& name = topology.links()[where.link].name;
  if (impairments_->available()) {
    lab_port_settings settings{};
    const Node& lower = topology.nodes()[topology.ports()[topology.links()[where.link].lower].node];
    const bool last_hop = !where.up && lower.kind == Kind::kHost;
    settings.drop_ppm = now.black_hole ? kCertain : now.loss_ppm;
    settings.ce_ppm = now.ce_ppm;
    settings.trim_ppm = now.trim_ppm;
    settings.trim_bytes = kTrimBytes;
    settings.dscp_trimmed = last_hop ? kDscpTrimmedLastHop : kDscpTrimmed;
    settings.dscp_trimmable = kDscpTrimmable;
    settings.dscp_trimmable_again = kDscpTrimmableAgain;
    settings.rate_mbps = static_cast<uint32_t>(now.rate_bps / 1'000'000);
    settings.queue_ce_bytes =
        bytes_in(now.rate_bps, kQueueCeUs, last_hop ? kQueueCeBytesLastHop : kQueueCeBytes);
    settings.queue_trim_bytes = bytes_in(now.rate_bps, kQueueTrimUs, kQueueTrimBytes);
    settings.queue_drop_bytes = bytes_in(now.rate_bps, kQueueDropUs, kQueueDropBytes);
    if (!enforce_delay(where, &settings.delay_ifindex, error)) return false;
    if (const int why = impairments_->set(at.port->ifindex, at.direction, settings); why != 0) {
      *error = name + ": cannot change the BPF program's settings: " + std::strerror(why);
      return false;
    }
  }
  // Frames from a host come in here; there is no queue for those, so the counted one drops what is too much.
  if (at.direction == LAB_INGRESS) return true;
  const int why = fabric_->netlink(at.port->node)
                      .set_rate(at.port->ifindex, now.rate_bps, kBurstBytes,
                                bytes_in(now.rate_bps, kQueueDropUs, kQueueDropBytes) + kQueueDropBytes);
  if (why == 0) return true;
  *error = name + ": cannot set the rate: " + std::strerror(why);
  return false;
}

bool Faults::change(const Fault& fault, const Direction& where, std::string* error) {
  Condition& now = condition(where);
  const Condition before = now;
  const auto number = static_cast<uint32_t>(fault.value);
  switch (fault.kind) {
    case FaultKind::kDown:
      return fabric_->set_link_up(where.link, false, error);
    case FaultKind::kUp:
      now.black_hole = false;
      break;
    case FaultKind::kBlackHole:
      now.black_hole = true;
      break;
    case FaultKind::kLoss:
      now.loss_ppm = number;
      break;
    case FaultKind::kCe:
      now.ce_ppm = number;
      break;
    case FaultKind::kTrim:
      now.trim_ppm = number;
      break;
    case FaultKind::kRate:
      now.rate_bps = fault.value;
      break;
    case FaultKind::kDelay:
      now.delay_us = fault.value;
      break;
    case FaultKind::kClear:
      now = {};
      break;
  }
  if (!(now == before) && !enforce(where, error)) return false;
  const bool mend = fault.kind == FaultKind::kUp || fault.kind == FaultKind::kClear;
  return !mend || fabric_->set_link_up(where.link, true, error);
}

bool Faults::apply(const Fault& fault, std::string* error) {
  std::vector<Direction> where;
  if (!find_target(fabric_->topology(), fault.target, &where, error)) return false;
  const bool needs_bpf = fault.kind == FaultKind::kBlackHole || fault.kind == FaultKind::kLoss ||
                         fault.kind == FaultKind::kCe || fault.kind == FaultKind::kTrim ||
                         fault.kind == FaultKind::kDelay;
  if (needs_bpf && !impairments_->available()) {
    *error = "\"" + fault.original + "\" is not possible in this lab: " + impairments_->why_not();
    return false;
  }
  if (fault.kind == FaultKind::kDown && std::any_of(where.begin(), where.end(), [&](const Direction& one) {
        return std::none_of(where.begin(), where.end(), [&](const Direction& other) {
          return other.link == one.link && other.up != one.up;
        });
      })) {
    *error =
        "\"" + fault.original + "\": a link goes down in both directions; one direction can be a blackhole";
    return false;
  }
  return std::all_of(where.begin(), where.end(),
                     [&](const Direction& direction) { return change(fault, direction, error); });
}

nlohmann::json Faults::describe(const Direction& where) const {
  const Condition& now = conditions_[where.link * 2 + (where.up ? 1 : 0)];
  nlohmann::json text = nlohmann::json::object();
  if (now.black_hole) text["blackhole"] = true;
  if (now.loss_ppm != 0) text["loss_percent"] = now.loss_ppm / 1e4;
  if (now.ce_ppm != 0) text["ce_percent"] = now.ce_ppm / 1e4;
  if (now.trim_ppm != 0) text["trim_percent"] = now.trim_ppm / 1e4;
  if (now.rate_bps != 0) text["rate_mbit"] = static_cast<double>(now.rate_bps) / 1e6;
  if (now.delay_us != 0) text["delay_us"] = now.delay_us;
  const Place at = place(where);
  if (!impairments_->available()) {
    // What passed is counted by the kernel too.
    TrafficCounts counts;
    fabric_->netlink(at.port->node).count_traffic(at.port->ifindex, &counts);
    const bool received = at.direction == LAB_INGRESS;
    text["frames"] = received ? counts.frames_received : counts.frames_sent;
    text["bytes"] = received ? counts.bytes_received : counts.bytes_sent;
    return text;
  }
  const lab_port_counts counts = impairments_->counts(at.port->ifindex, at.direction);
  text["frames"] = counts.frames;
  text["bytes"] = counts.bytes;
  text["dropped"] = counts.dropped;
  text["marked"] = counts.marked;
  text["trimmed"] = counts.trimmed;
  return text;
}

nlohmann::json Faults::describe() const {
  nlohmann::json all = nlohmann::json::array();
  const Topology& topology = fabric_->topology();
  for (uint32_t i = 0; i < topology.links().size(); ++i) {
    const Link& link = topology.links()[i];
    if (link.plane == 0) continue;
    const std::string& lower = topology.nodes()[topology.ports()[link.lower].node].name;
    const std::string& upper = topology.nodes()[topology.ports()[link.upper].node].name;
    nlohmann::json one = {{"name", link.name}, {"up", fabric_->link_is_up(i)}};
    for (const bool up : {true, false}) {
      std::string direction = up ? lower : upper;
      direction.append(":").append(up ? upper : lower);
      one[direction] = describe({i, up});
    }
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace mrc::lab
