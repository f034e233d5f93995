// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/fabric/fabric.h"

#include <algorithm>
#include <cassert>

#include "libmrc/path/srv6_template.h"
#include "tests/sim/core/frame_headers.h"
#include "tests/sim/fabric/faults.h"

namespace mrc::sim {

Fabric::Fabric(const TopologyConfig& config, uint64_t seed) : config_(config), shape_(config.fabric_shape()) {
  Random random(seed);
  hosts_.resize(config.host_count());
  for (uint32_t plane = 0; plane < config.planes; ++plane)
    build_plane(static_cast<Plane>(plane), random.next());
  const Wire host_wire{config.host_gigabits, config.host_delay};
  for (uint32_t host = 0; host < config.host_count(); ++host)
    for (uint32_t plane = 0; plane < config.planes; ++plane)
      add_link(Link::Kind::kHost, static_cast<Plane>(plane), host, host / config.hosts_per_leaf, host_wire,
               random);
  const Wire spine_wire{config.spine_gigabits, config.spine_delay};
  const Wire core_wire{config.core_gigabits, config.core_delay};
  for (uint32_t id = 0; config.tiers >= 2 && id < config.planes; ++id) {
    const auto plane = static_cast<Plane>(id);
    for (uint32_t leaf = 0; leaf < config.leaf_count(); ++leaf)
      for (uint32_t spine = 0; spine < config.spines; ++spine)
        add_link(Link::Kind::kSpine, plane, leaf, leaf / config.leaves * config.spines + spine, spine_wire,
                 random);
    if (config.tiers < 3) continue;
    for (uint32_t spine = 0; spine < config.spine_count(); ++spine)
      for (uint32_t core = 0; core < config.cores_per_spine; ++core)
        add_link(Link::Kind::kCore, plane, spine, spine % config.spines * config.cores_per_spine + core,
                 core_wire, random);
  }
  if (config.pause.on()) control_pauses();
}

Fabric::~Fabric() {
  remove_hosts();
}

// ------------------------------------------------------------------------------------------------ building

void Fabric::build_plane(Plane plane, uint64_t seed) {
  Random random(seed);
  const uint32_t per_leaf = config_.hosts_per_leaf;
  const uint32_t per_pod = config_.tiers == 1 ? per_leaf : config_.leaves * per_leaf;
  const auto add = [&](Tier tier, uint32_t index, uint32_t first, uint32_t count, uint32_t per_port) {
    constexpr UsidKind kKinds[] = {UsidKind::kLeaf, UsidKind::kSpine, UsidKind::kCore};
    const uint16_t usid = shape_.usids.usid(kKinds[static_cast<size_t>(tier)], plane, index);
    switches_.push_back(std::make_unique<Switch>(tier, plane, index, usid, random.next()));
    switches_.back()->set_hosts(first, count, per_port);
  };
  for (uint32_t leaf = 0; leaf < config_.leaf_count(); ++leaf)
    add(Tier::kLeaf, leaf, leaf * per_leaf, per_leaf, 1);
  for (uint32_t spine = 0; spine < config_.spine_count(); ++spine)
    add(Tier::kSpine, spine, spine / config_.spines * per_pod, per_pod, per_leaf);
  for (uint32_t core = 0; core < config_.core_count(); ++core)
    add(Tier::kCore, core, 0, config_.host_count(), per_pod);
}

uint32_t Fabric::switch_index(Tier tier, Plane plane, uint32_t index) const {
  const uint32_t per_plane = config_.leaf_count() + config_.spine_count() + config_.core_count();
  uint32_t at = plane * per_plane + index;
  if (tier != Tier::kLeaf) at += config_.leaf_count();
  if (tier == Tier::kCore) at += config_.spine_count();
  return at;
}

Switch& Fabric::switch_at(Tier tier, Plane plane, uint32_t index) {
  return *switches_[switch_index(tier, plane, index)];
}

uint32_t Fabric::add_channel(const Wire& wire, const QueueSettings& queue, End from, End to, uint64_t seed) {
  const auto id = static_cast<uint32_t>(channels_.size());
  channels_.push_back(std::make_unique<Channel>(core_, id, wire, queue, seed));
  from_.push_back(from);
  to_.push_back(to);
  return id;
}

void Fabric::add_link(Link::Kind kind, Plane plane, uint32_t lower, uint32_t upper, const Wire& wire,
                      Random& random) {
  const Tier upper_tier = static_cast<Tier>(kind);
  const End up{false, plane, switch_index(upper_tier, plane, upper)};
  End down{true, plane, lower};
  if (kind != Link::Kind::kHost)
    down = {false, plane, switch_index(static_cast<Tier>(static_cast<uint8_t>(kind) - 1), plane, lower)};
  const QueueSettings& upward = kind == Link::Kind::kHost ? config_.host : config_.queue;
  const QueueSettings& downward = kind == Link::Kind::kHost ? config_.last_hop : config_.queue;
  const uint32_t up_channel = add_channel(wire, upward, down, up, random.next());
  const uint32_t down_channel = add_channel(wire, downward, up, down, random.next());
  Switch& above = *switches_[up.index];
  above.add_down(down_channel);
  if (kind == Link::Kind::kHost) {
    above.add_usid(shape_.usids.usid(UsidKind::kHost, plane, place_of(lower).host), down_channel);
  } else {
    Switch& below = *switches_[down.index];
    below.add_up(up_channel);
    below.add_usid(above.usid(), up_channel);
    above.add_usid(below.usid(), down_channel);
  }
  links_.push_back({kind, plane, lower, upper, up_channel, down_channel});
}

void Fabric::control_pauses() {
  pauses_ = std::make_unique<PauseControl>(core_.events, config_.pause);
  for (const Link& link : links_) {
    pauses_->add(*channels_[link.up_channel], *channels_[link.down_channel]);
    if (link.kind != Link::Kind::kHost)
      pauses_->add(*channels_[link.down_channel], *channels_[link.up_channel]);
  }
  for (const auto& channel : channels_)
    if (!from_[channel->id()].is_host) channel->set_pause_control(pauses_.get());
}

Host& Fabric::add_host(uint32_t number, const HostConfig& config) {
  std::vector<Channel*> outgoing;
  for (uint32_t plane = 0; plane < config_.planes; ++plane)
    outgoing.push_back(channels_[host_link(number, static_cast<Plane>(plane)).up_channel].get());
  hosts_[number] = std::make_unique<Host>(core_, number, config, outgoing);
  return *hosts_[number];
}

void Fabric::remove_hosts() {
  for (auto& host : hosts_) host.reset();
}

// ------------------------------------------------------------------------------------------------- looking

const Link* Fabric::find_link(Link::Kind kind, Plane plane, uint32_t lower, uint32_t upper) const {
  for (const Link& link : links_)
    if (link.kind == kind && link.plane == plane && link.lower == lower && link.upper == upper) return &link;
  return nullptr;
}

std::vector<uint32_t> Fabric::channels_of(Tier tier, Plane plane, uint32_t index) const {
  const uint32_t at = switch_index(tier, plane, index);
  std::vector<uint32_t> found;
  for (uint32_t id = 0; id < channels_.size(); ++id)
    if ((!from_[id].is_host && from_[id].index == at) || (!to_[id].is_host && to_[id].index == at))
      found.push_back(id);
  return found;
}

std::string Fabric::end_name(const End& end) const {
  if (end.is_host) return "h" + std::to_string(end.index) + "." + std::to_string(end.plane);
  return switches_[end.index]->name();
}

std::string Fabric::channel_name(uint32_t id) const {
  return end_name(from_[id]) + ">" + end_name(to_[id]);
}

void Fabric::print_trace_to(std::FILE* out) {
  std::vector<std::string> names;
  for (uint32_t id = 0; id < channels_.size(); ++id) names.push_back(channel_name(id));
  core_.trace.print_to(out, std::move(names));
}

uint64_t Fabric::frames_inside() const {
  uint64_t sum = 0;
  for (const auto& channel : channels_) sum += channel->frames_inside();
  for (const auto& host : hosts_)
    for (size_t plane = 0; host != nullptr && plane < host->port_count(); ++plane)
      sum += host->port(static_cast<Plane>(plane)).frames_held();
  return sum;
}

PauseTotals Fabric::pause_totals() const {
  PauseTotals totals;
  for (const auto& channel : channels_) {
    if (channel->counters().pauses == 0) continue;
    ++totals.channels;
    if (!from_[channel->id()].is_host) ++totals.between;
    totals.pauses += channel->counters().pauses;
    totals.time += channel->paused_time();
  }
  return totals;
}

IpAddress Fabric::usid_path(uint32_t from, uint32_t to, Plane plane, uint32_t choice) const {
  const Srv6Template way(shape_, place_of(from), place_of(to));
  return way.address(plane, choice % way.uplinks());
}

// ------------------------------------------------------------------------------------------------- running

void Fabric::set_channel_down(uint32_t id, bool down) {
  channels_[id]->set_down(down);
  if (config_.reroute && !from_[id].is_host) switches_[from_[id].index]->withdraw(id, down);
}

void Fabric::set_alarm(Picoseconds time, AlarmListener& listener, uint32_t id) {
  uint32_t slot;
  if (free_alarms_.empty()) {
    slot = static_cast<uint32_t>(alarms_.size());
    alarms_.push_back({&listener, id});
  } else {
    slot = free_alarms_.back();
    free_alarms_.pop_back();
    alarms_[slot] = {&listener, id};
  }
  core_.events.at(time, EventKind::kAlarm, slot);
}

void Fabric::arrive(uint32_t channel, Frame* frame) {
  if (frame == nullptr) return;
  const End& end = to_[channel];
  if (end.is_host) {
    if (hosts_[end.index] != nullptr) {
      hosts_[end.index]->arrive(end.plane, channel, frame);
    } else {
      frame = core_.frames.unfold(frame);
      if (tap_ != nullptr) tap_->on_frame(end.index, end.plane, *frame);
      core_.trace.note(core_.events.now(), channel, *frame, Fate::kDelivered);
      core_.frames.give(frame);
    }
    return;
  }
  forward(channel, frame);
}

void Fabric::forward(uint32_t channel, Frame* frame) {
  Fate fate;
  const uint32_t next = switches_[to_[channel].index]->route(frame, &fate);
  if (next != kNoChannel) {
    const bool counted = pauses_ != nullptr && !Dscp::is_priority(frame->dscp);
    if (!counted || pauses_->enter(channel, frame)) return channels_[next]->send(frame);
    fate = Fate::kDropQueue;
  }
  core_.trace.note(core_.events.now(), channel, *frame, fate);
  core_.frames.give(frame);
}

// Its port may have room again.
void Fabric::tell_host(uint32_t channel) {
  if (const End& from = from_[channel]; from.is_host && hosts_[from.index] != nullptr)
    hosts_[from.index]->room_changed(from.plane);
}

bool Fabric::step(Picoseconds end) {
  Event event;
  if (!core_.events.take(end, &event)) return false;
  ++events_run_;
  switch (event.kind) {
    case EventKind::kChannelFree:
      channels_[event.target]->on_free();
      tell_host(event.target);
      break;
    case EventKind::kArrival:
      arrive(event.target, channels_[event.target]->on_arrival());
      break;
    case EventKind::kStrayArrival:
      arrive(event.target, channels_[event.target]->on_stray(event.frame));
      break;
    case EventKind::kHostWake:
      if (hosts_[event.target] != nullptr) hosts_[event.target]->on_wake();
      break;
    case EventKind::kHostTimer:
      if (hosts_[event.target] != nullptr) hosts_[event.target]->on_timer();
      break;
    case EventKind::kFault:
      faults_->on_event(event.target);
      break;
    case EventKind::kPause:
      channels_[event.target]->set_paused(true);
      break;
    case EventKind::kResume:
      channels_[event.target]->set_paused(false);
      tell_host(event.target);
      break;
    case EventKind::kPace:
      if (const End& from = from_[event.target]; hosts_[from.index] != nullptr)
        hosts_[from.index]->pace(from.plane);
      break;
    case EventKind::kAlarm: {
      const Alarm alarm = alarms_[event.target];
      free_alarms_.push_back(event.target);
      alarm.listener->on_alarm(alarm.id);
      break;
    }
  }
  return true;
}

}  // namespace mrc::sim
