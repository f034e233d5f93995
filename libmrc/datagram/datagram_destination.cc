// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/datagram/datagram_destination.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "libmrc/work/ev_probe.h"

namespace mrc {

namespace {
constexpr Nanoseconds kAskAgain = kMillisecond;  // while a next hop is not known
constexpr Nanoseconds kAskRefresh = kSecond;     // next hops may change
constexpr Nanoseconds kProbeInterval = 10 * kMillisecond;
constexpr uint8_t kUnansweredMax = 3;
constexpr Nanoseconds kHeardLately = kSecond;

uint64_t mix(uint64_t value) {
  value = (value ^ value >> 31) * 0x9E3779B97F4A7C15u;
  return value ^ value >> 29;
}

uint64_t hash_of(const IpAddress& address, Qpn qpn) {
  uint64_t halves[2];
  std::memcpy(halves, address.bytes.data(), sizeof halves);
  return mix(mix(halves[0]) ^ halves[1] ^ uint64_t{qpn.value()} << 32);
}
}  // namespace

void DatagramDestinations::reset(uint64_t seed, bool every_plane) {
  seed_ = seed;
  every_plane_ = every_plane;
  turn_ = seed;
  destinations_.assign(kDestinations, DatagramDestination{});
}

DatagramDestination& DatagramDestinations::place_of(const IpAddress& address, Qpn qpn) {
  return destinations_[hash_of(address, qpn) & (kDestinations - 1)];
}

DatagramDestination& DatagramDestinations::look_up(Context& cx, const DatagramAddress& address) {
  const Qpn qpn = address.way();
  DatagramDestination& entry = place_of(address.destination, qpn);
  if (!entry.used || entry.address != address.destination || entry.qpn != qpn) {
    entry = DatagramDestination{};
    entry.used = true;
    entry.address = address.destination;
    entry.qpn = qpn;
    if (cx.services.path_source != nullptr) entry.paths = cx.services.path_source->paths_to(entry.address);
  }
  if (cx.now >= entry.ask_at) resolve(cx, entry);
  return entry;
}

void DatagramDestinations::resolve(Context& cx, DatagramDestination& destination) {
  const size_t planes = cx.services.transmitter.plane_count();
  destination.resolved = 0;
  for (size_t plane = 0; plane < planes; ++plane) {
    Port& port = cx.services.transmitter.port(static_cast<Plane>(plane));
    if (port.resolve(destination.address, destination.qpn, &destination.next_hops[plane]))
      destination.resolved |= PlaneMask{1} << plane;
  }
  const bool all = destination.resolved == (PlaneMask{1} << planes) - 1;
  destination.ask_at = cx.now + (all ? kAskRefresh : kAskAgain);
}

// Without those that are silent while others answer. A peer that answers no probe at all may be none of our
// kind.
PlaneMask DatagramDestinations::usable_planes(const Context& cx,
                                              const DatagramDestination& destination) const {
  const PlaneMask usable = destination.resolved & cx.services.ports_up;
  if (is_group(destination)) {
    const PlaneMask heard = heard_planes(cx, usable);
    return heard != 0 ? heard : usable;
  }
  PlaneMask silent = 0;
  bool others_answer = false;
  for (PlaneMask planes = usable; planes != 0; planes &= planes - 1) {
    const int plane = std::countr_zero(planes);
    const uint8_t unanswered = destination.unanswered[static_cast<size_t>(plane)];
    if (unanswered >= kUnansweredMax) silent |= PlaneMask{1} << plane;
    others_answer = others_answer || (unanswered < 2 && (destination.answering >> plane & 1) != 0);
  }
  return others_answer ? usable & ~silent : usable;
}

PlaneMask DatagramDestinations::heard_planes(const Context& cx, PlaneMask usable) const {
  PlaneMask heard = 0;
  for (PlaneMask planes = usable; planes != 0; planes &= planes - 1) {
    const int plane = std::countr_zero(planes);
    const Nanoseconds at = cx.services.heard_at[static_cast<size_t>(plane)];
    if (at != 0 && cx.now - at < kHeardLately) heard |= PlaneMask{1} << plane;
  }
  return heard;
}

// One of the paths by these planes, of which there is one at least.
std::optional<EvEntry> DatagramDestinations::draw(const DatagramDestination& destination, PlaneMask planes,
                                                  uint64_t number) const {
  if (!destination.paths.empty()) {
    std::optional<EvEntry> denied;  // only if there is nothing else
    for (size_t i = 0; i < destination.paths.size(); ++i) {
      const EvEntry& entry = destination.paths[(number + i) % destination.paths.size()];
      if ((planes >> entry.plane & 1) == 0) continue;
      if (!entry.denied) return entry;
      if (!denied) denied = entry;
    }
    return denied;
  }
  for (uint64_t skip = number % static_cast<unsigned>(std::popcount(planes)); skip > 0; --skip)
    planes &= planes - 1;
  EvEntry entry;
  entry.plane = static_cast<Plane>(std::countr_zero(planes));
  entry.entropy = make_entropy(entry.plane, static_cast<uint32_t>(number >> 32));
  return entry;
}

// Nobody promises datagrams an order, but what is built on them (UCX's reliability) takes everything out of
// order for lost: one path per destination, left only when its port goes down or it has gone silent.
const EvEntry* DatagramDestinations::choose_path(const Context& cx, DatagramDestination& destination) {
  const PlaneMask usable = usable_planes(cx, destination);
  if (usable == 0) return nullptr;
  const bool keeps = destination.path && (usable >> destination.path->plane & 1) != 0;
  // Of planes of which nothing is known a silent one takes no more than its share.
  const bool in_turn = every_plane_ || (is_group(destination) && heard_planes(cx, usable) == 0);
  if (keeps && !in_turn) return &*destination.path;
  const uint64_t number = mix(hash_of(destination.address, destination.qpn) + seed_);
  destination.path = draw(destination, usable, in_turn ? turn_++ : number);
  return destination.path ? &*destination.path : nullptr;
}

void DatagramDestinations::probe(Context& cx, DatagramDestination& destination, const IpAddress& source) {
  const PlaneMask usable = destination.resolved & cx.services.ports_up;
  if (cx.now < destination.probe_at || std::popcount(usable) < 2 || every_plane_) return;
  if (is_group(destination)) return;  // whoever is there must not all answer
  destination.probe_at = cx.now + kProbeInterval;
  Transmitter& transmitter = cx.services.transmitter;
  for (PlaneMask planes = usable; planes != 0; planes &= planes - 1) {
    const auto plane = static_cast<Plane>(std::countr_zero(planes));
    std::optional<EvEntry> path = destination.path;
    if (!path || path->plane != plane) path = draw(destination, PlaneMask{1} << plane, seed_);
    if (!path || transmitter.room_by(plane, destination.next_hops[plane]) == 0) continue;
    NetworkHeader network;
    network.destination_mac = destination.next_hops[plane];
    network.source = source;
    network.destination = destination.address;
    EndpointRequests::Asker asker;
    asker.qpn = cx.connection.local_qpn;
    asker.is_datagram = true;
    asker.destination = destination.address;
    asker.destination_qpn = destination.qpn;
    asker.plane = plane;
    if (!send_ev_probe(cx.services, network, *path, asker, cx.now)) continue;
    uint8_t& unanswered = destination.unanswered[plane];
    if (unanswered < UINT8_MAX) ++unanswered;
  }
}

void DatagramDestinations::on_probe_answer(const IpAddress& from, Qpn qpn, Plane plane) {
  if (destinations_.empty()) return;
  DatagramDestination& destination = place_of(from, qpn);
  if (!destination.used || destination.address != from || destination.qpn != qpn) return;
  destination.unanswered[plane] = 0;
  destination.answering |= PlaneMask{1} << plane;
}

}  // namespace mrc
