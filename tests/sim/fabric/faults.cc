// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/fabric/faults.h"

#include <algorithm>
#include <cstdio>
#include <iterator>

namespace mrc::sim {

const char* to_string(FaultKind kind) {
  static constexpr const char* kNames[] = {"loss",       "corruption", "duplication", "reordering",
                                           "burst_loss", "ev_loss",    "black_hole",  "rate",
                                           "down",       "port_down",  "host_pause"};
  return kNames[static_cast<size_t>(kind)];
}

FaultPlan::FaultPlan(Fabric& fabric) : fabric_(fabric), down_count_(fabric.channel_count(), 0) {
  fabric.set_faults(this);
}

uint32_t FaultPlan::add(Fault fault) {
  const auto id = static_cast<uint32_t>(faults_.size());
  if (fault.kind == FaultKind::kPortDown) {
    const Link& link = fabric_.host_link(fault.host, fault.plane);
    fault.channels = {link.up_channel, link.down_channel};
  }
  faults_.push_back(std::move(fault));
  states_.emplace_back();
  fabric_.core().events.at(faults_[id].begin, EventKind::kFault, id);
  return id;
}

uint32_t FaultPlan::link_down(const Link& link, Picoseconds begin, Picoseconds end) {
  Fault fault;
  fault.kind = FaultKind::kDown;
  fault.begin = begin;
  fault.end = end;
  fault.channels = {link.up_channel, link.down_channel};
  return add(std::move(fault));
}

uint32_t FaultPlan::switch_dead(Tier tier, Plane plane, uint32_t index, Picoseconds begin, Picoseconds end) {
  Fault fault;
  fault.kind = FaultKind::kDown;
  fault.begin = begin;
  fault.end = end;
  fault.channels = fabric_.channels_of(tier, plane, index);
  return add(std::move(fault));
}

uint32_t FaultPlan::port_down(uint32_t host, Plane plane, Picoseconds begin, Picoseconds end) {
  Fault fault;
  fault.kind = FaultKind::kPortDown;
  fault.begin = begin;
  fault.end = end;
  fault.host = host;
  fault.plane = plane;
  return add(std::move(fault));
}

uint32_t FaultPlan::pause(uint32_t host, Picoseconds begin, Picoseconds end) {
  Fault fault;
  fault.kind = FaultKind::kHostPause;
  fault.begin = begin;
  fault.end = end;
  fault.host = host;
  return add(std::move(fault));
}

void FaultPlan::lose_at_hosts(double share, Picoseconds end) {
  if (share <= 0) return;
  Fault fault;
  fault.kind = FaultKind::kLoss;
  fault.end = end;
  fault.probability = share;
  for (const Link& link : fabric_.links())
    if (link.kind == Link::Kind::kHost) fault.channels.push_back(link.down_channel);
  add(std::move(fault));
}

Picoseconds FaultPlan::healed_at() const {
  Picoseconds latest = 0;
  for (const Fault& fault : faults_)
    if (fault.end != kForever) latest = std::max(latest, fault.end);
  return latest;
}

std::string FaultPlan::describe(uint32_t id) const {
  const Fault& fault = faults_[id];
  char text[200];
  const std::string place =
      !fault.channels.empty()
          ? fabric_.channel_name(fault.channels.front()) +
                (fault.channels.size() > 1 ? " and " + std::to_string(fault.channels.size() - 1) + " more"
                                           : "")
          : "h" + std::to_string(fault.host);
  std::snprintf(text, sizeof text, "%s %.4f on %s from %.1f to %.1f us%s", to_string(fault.kind),
                fault.probability, place.c_str(), to_microseconds(fault.begin),
                fault.end == kForever ? -1.0 : to_microseconds(fault.end),
                fault.flap_on != 0 ? ", flapping" : "");
  return text;
}

void FaultPlan::on_event(uint32_t id) {
  const Fault& fault = faults_[id];
  State& state = states_[id];
  EventQueue& events = fabric_.core().events;
  if (events.now() >= fault.end) {
    if (state.active) set_active(id, false);
    state.inside = false;
    return;
  }
  const bool on = !state.inside || !state.active;
  state.inside = true;
  set_active(id, on);
  Picoseconds next = fault.end;
  if (fault.flap_on != 0) next = std::min(next, events.now() + (on ? fault.flap_on : fault.flap_off));
  if (next != kForever) events.at(next, EventKind::kFault, id);
}

void FaultPlan::set_active(uint32_t id, bool active) {
  const Fault& fault = faults_[id];
  states_[id].active = active;
  switch (fault.kind) {
    case FaultKind::kHostPause:
      if (active && fabric_.has_host(fault.host)) fabric_.host(fault.host).pause_until(fault.end);
      break;
    case FaultKind::kPortDown:
      if (fabric_.has_host(fault.host)) fabric_.host(fault.host).set_port_up(fault.plane, !active);
      [[fallthrough]];
    case FaultKind::kDown:
      for (const uint32_t channel : fault.channels) {
        down_count_[channel] += active ? 1 : -1;
        fabric_.set_channel_down(channel, down_count_[channel] > 0);
      }
      break;
    default:
      for (const uint32_t channel : fault.channels) refresh(channel);
  }
}

// All active faults of a channel together.
void FaultPlan::refresh(uint32_t id) {
  const auto both = [](double a, double b) { return 1 - (1 - a) * (1 - b); };
  WireFaults wire;
  double rate = 1;
  for (size_t i = 0; i < faults_.size(); ++i) {
    const Fault& fault = faults_[i];
    if (!states_[i].active) continue;
    if (std::find(fault.channels.begin(), fault.channels.end(), id) == fault.channels.end()) continue;
    switch (fault.kind) {
      case FaultKind::kLoss:
        wire.loss = both(wire.loss, fault.probability);
        break;
      case FaultKind::kCorruption:
        wire.corruption = both(wire.corruption, fault.probability);
        break;
      case FaultKind::kDuplication:
        wire.duplication = both(wire.duplication, fault.probability);
        break;
      case FaultKind::kReordering:
        wire.reordering = both(wire.reordering, fault.probability);
        wire.reorder_delay = std::max(wire.reorder_delay, fault.delay);
        break;
      case FaultKind::kBurstLoss:
        wire.burst_start = fault.probability;
        wire.burst_end = fault.burst_end;
        break;
      case FaultKind::kEntropyLoss:
        wire.entropy_loss = both(wire.entropy_loss, fault.probability);
        wire.entropies.insert(wire.entropies.end(), fault.entropies.begin(), fault.entropies.end());
        break;
      case FaultKind::kBlackHole:
        wire.black_hole = true;
        break;
      case FaultKind::kRate:
        rate *= fault.probability;
        break;
      default:
        break;
    }
  }
  Channel& channel = fabric_.channel(id);
  channel.set_faults(wire);
  channel.set_rate(channel.nominal_gigabits() * rate);
}

}  // namespace mrc::sim
