// SPDX-License-Identifier: BSD-2-Clause
// MRC 12.S11, 1.6: endpoint operations, connectionless, to and from QPN 2.
#include <algorithm>
#include <array>

#include "libmrc/engine/engine.h"
#include "libmrc/mrc/negotiation.h"
#include "libmrc/wire/frame.h"
#include "libmrc/wire/srv6.h"
#include "libmrc/work/ev_probe.h"

namespace mrc {

void Engine::on_endpoint(const Packet& packet, Plane plane, Nanoseconds now) {
  if (packet.bth.opcode == Opcode::kEndpointRequest) {
    ++counters_.endpoint_requests_received;
    if (is_of_this_host(packet)) return take_own_probe(packet, plane, now);
    if (packet.erth.operation == EndpointOperation::kPortStatusUpdate && !take_port_update(packet, now))
      return;
    if (answers(packet, plane)) answer_endpoint(packet, plane, now);
  } else if (packet.bth.opcode == Opcode::kEndpointResponse) {
    take_endpoint_answer(packet, plane, now);
  } else {
    ++counters_.drops_unsupported;
  }
}

// Whether a switch has sent back what a process of this host has sent by a source route.
bool Engine::is_of_this_host(const Packet& request) {
  return request.srv6 && request.source == request.destination;
}

// Such a request is its own answer, and nobody else's: other processes of this host hear it, too.
void Engine::take_own_probe(const Packet& packet, Plane plane, Nanoseconds now) {
  const auto id = static_cast<uint16_t>(packet.bth.psn.value());
  const EndpointRequests::Asker* asker = endpoint_requests_.asker_of(id);
  const bool ours = asker != nullptr && asker->is_probe && asker->destination == packet.source &&
                    to_wire_timestamp(asker->sent_at, packet.erth.time.coarse) == packet.erth.time.timestamp;
  if (!ours) return;
  ++counters_.ev_probes_answered;
  endpoint_requests_.forget(id);
  sink_->ev_probe_answered(asker->cookie, now - asker->sent_at, plane);
}

// A source route from this host to itself leads over the wire: whether its links are good is what is asked.
bool Engine::comes_back(const EvProbe& probe) const {
  return probe.path.has_outer && probe.source == probe.destination && config_.path_source != nullptr &&
         config_.path_source->outer_source(probe.path.plane).has_value();
}

// MRC 1.6 [P]: the request id decides what it answers. Another process of this host may have asked somebody
// else with the same id.
void Engine::take_endpoint_answer(const Packet& packet, Plane plane, Nanoseconds now) {
  const auto id = static_cast<uint16_t>(packet.bth.psn.value());
  const EndpointRequests::Asker* asker = endpoint_requests_.asker_of(id);
  if (asker != nullptr && asker->is_probe && asker->destination == packet.source) {
    ++counters_.endpoint_answers_received;
    ++counters_.ev_probes_answered;
    endpoint_requests_.forget(id);
    sink_->ev_probe_answered(asker->cookie, now - asker->sent_at, plane);
    return;
  }
  if (asker != nullptr && asker->is_datagram && asker->destination == packet.source) {
    ++counters_.endpoint_answers_received;
    ++counters_.ev_probes_answered;
    endpoint_requests_.forget(id);
    if (QueuePair* qp = find(asker->qpn); qp != nullptr)
      qp->on_plane_answer(asker->destination, asker->destination_qpn, asker->plane);
    return;
  }
  const bool connected = asker != nullptr && !asker->is_probe && !asker->is_datagram;
  QueuePair* qp = connected ? find(asker->qpn) : nullptr;
  if (qp == nullptr || qp->connection().destination != packet.source) {
    ++counters_.drops_bad_control;
    return;
  }
  ++counters_.endpoint_answers_received;
  endpoint_requests_.forget(id);
  if (asker->announcement != 0) {
    // MRC 4.6: who has answered an earlier announcement need not have heard the newest.
    if (asker->announcement == announcement_ && qp->peer() != nullptr) peers_.inform(*qp->peer());
    return;
  }
  qp->on_endpoint_response(packet, now);
  schedule(*qp);
}

void Engine::tell_capabilities(const Packet& request, Eeth* answer) {
  if (config_.transport.default_transport() == Transport::kMrcStrict) return;
  answer->vendor_info = kSpeaksExtension;
  const QueuePair* qp = find(Qpn{request.erth.port_status_mask});
  // Only the peer itself may know, and it does once it has sent something.
  const Responder* responder = qp != nullptr && qp->mrc() != nullptr ? &qp->mrc()->responder() : nullptr;
  if (responder == nullptr || !is_of_peer(request) || responder->has_received()) return;
  answer->vendor_info |= kTellsExpectedPsn;
  answer->expected_psn = responder->expected().value();
}

// Of a host that a queue pair is connected to, as far as its kind tells.
bool Engine::is_of_peer(const Packet& request) {
  if (request.erth.operation == EndpointOperation::kPortStatusUpdate) return true;  // else it was not taken
  if (request.erth.operation != EndpointOperation::kCapabilities) return false;
  const QueuePair* qp = find(Qpn{request.erth.port_status_mask});
  return qp != nullptr && qp->connected() && qp->connection().destination == request.source;
}

// The answer goes back by the same plane, with the same entropy and the addresses swapped; but not to the MAC
// address that asked.
void Engine::answer_endpoint(const Packet& request, Plane plane, Nanoseconds now) {
  if (!is_of_peer(request) && !strangers_.take(request.source, now)) {
    ++counters_.endpoint_answers_withheld;
    return;
  }
  Eeth eeth;
  eeth.operation = request.erth.operation;
  eeth.timestamp = request.erth.time.timestamp;
  eeth.operation_high = config_.transport.interop.response_operation_high;
  if (request.erth.operation == EndpointOperation::kCapabilities) tell_capabilities(request, &eeth);
  NetworkHeader network;
  Port& port = transmitter_.port(plane);
  if (!port.resolve_back(request.source, request.source_mac, &network.destination_mac)) {
    ++counters_.tx_no_next_hop;
    return;
  }
  network.source_mac = port.address();
  network.intact = transmitter_.keeps_intact(plane, network.destination_mac);
  network.source = request.destination;
  network.destination = request.source;
  config_.transport.interop.fill(true, &network);
  if (const auto path = path_back(request, plane))
    take_way(*path, outer_source(services_, plane, network.source), &network);
  Bth bth;
  bth.opcode = Opcode::kEndpointResponse;
  bth.destination = kEndpointQpn;
  bth.psn = request.bth.psn;
  if (send_endpoint(network, plane, request.entropy, bth, eeth)) ++counters_.endpoint_answers_sent;
}

template <typename Header>
bool Engine::send_endpoint(const NetworkHeader& network, Plane plane, Entropy entropy, const Bth& bth,
                           const Header& header) {
  uint8_t* buffer = transmitter_.begin(plane, network.destination_mac);
  if (buffer == nullptr) {
    ++counters_.tx_no_buffer;
    return false;
  }
  FrameWriter frame(buffer, network, entropy, config_.transport.dscp_control, Ecn::kNotCapable,
                    Bth::kBytes + Header::kBytes);
  frame.add(bth);
  frame.add(header);
  frame.end_headers();
  transmitter_.commit(plane, frame.finish(0));
  return true;
}

// MRC 1.6, SPEC 7.4.7.
bool Engine::send_ev_probe(const EvProbe& probe, Nanoseconds clock) {
  const Nanoseconds now = advance(clock);
  const Plane plane = probe.path.plane;
  if (plane >= transmitter_.plane_count() || (services_.ports_up >> plane & 1) == 0) return false;
  NetworkHeader network;
  Port& port = transmitter_.port(plane);
  // All routes of a plane begin with the same switch, so they share a next hop.
  const IpAddress& way = probe.path.outer_destination;
  const IpAddress target =
      comes_back(probe) ? make_usid_address(usid_block(way), std::array{usid_at(way, 0)}) : probe.destination;
  if (!port.resolve(target, probe.destination_qpn, &network.destination_mac)) return false;
  network.source = probe.source;
  network.destination = probe.destination;
  EndpointRequests::Asker asker;
  asker.is_probe = true;
  asker.cookie = probe.cookie;
  asker.destination = probe.destination;
  asker.sent_at = now;
  EndpointQuestion question;
  question.dscp = probe.dscp.value_or(config_.transport.dscp_control);
  question.port_status = probe.port_status;
  const uint64_t sent_before = transmitter_.frames_sent();
  const bool sent = mrc::send_ev_probe(services_, network, probe.path, asker, now, question);
  transmitter_.flush_all();  // where nothing is connected nobody else may come to do it
  counters_.frames_sent += transmitter_.frames_sent() - sent_before;
  return sent;
}

// Several processes of a host may hear a request to QPN 2. Which of them is asked for its capabilities is
// named by a queue pair of its, and port updates are for all who are connected; the rest one of them answers.
bool Engine::answers(const Packet& request, Plane plane) {
  if (request.erth.operation == EndpointOperation::kPortStatusUpdate) return true;
  const Qpn asked{request.erth.port_status_mask};
  if (request.erth.operation == EndpointOperation::kCapabilities && asked != Qpn{})
    return slot_of(asked) < config_.qpn_count;
  return transmitter_.port(plane).speaks_for_host(request.source_mac);
}

std::optional<EvEntry> Engine::path_back(const Packet& request, Plane plane) const {
  if (!request.srv6 || config_.path_source == nullptr) return std::nullopt;
  return config_.path_source->path_back(request.source, plane, request.entropy);
}

// Announcements go by all ports and overtake each other. One that was sent before the newest that was heard
// would bring back a state that has passed.
bool Engine::is_old_news(const Peer& peer, const Tseth& time, Nanoseconds now) {
  constexpr uint16_t kComparable = 1 << 14;  // a quarter of the wrap
  const Nanoseconds span = Nanoseconds{kComparable} << (time.coarse ? kCoarseTickShift : kFineTickShift);
  const auto behind = static_cast<uint16_t>(peer.ports_heard.timestamp - time.timestamp);
  return peer.ports_heard_at != 0 && now - peer.ports_heard_at < span &&
         peer.ports_heard.coarse == time.coarse && behind > 0 && behind < kComparable;
}

// MRC 4.6, 10.8: anybody could forge it, so it counts only from an address that a queue pair is connected to.
bool Engine::take_port_update(const Packet& request, Nanoseconds now) {
  // A host is one peer per class of traffic, and none for plain RC, which does not care.
  bool known = false;
  bool old = false;
  peers_.for_each_of(request.source, [&](const Peer& peer) {
    known |= !peer.members.empty();
    old |= is_old_news(peer, request.erth.time, now);
  });
  if (!known) {
    ++counters_.port_updates_refused;
    return false;
  }
  ++counters_.port_updates_received;
  if (old) {
    ++counters_.port_updates_old;
    return true;
  }
  peers_.for_each_of(request.source, [&](Peer& peer) {
    peer.ports_heard_at = now;
    peer.ports_heard = request.erth.time;
    peer.ports_usable = request.erth.port_status_mask;
    ++peer.ports_said;
    ++peer.ports_news;
    peers_.note_news(peer);
  });
  tell_more(now);
  return true;
}

}  // namespace mrc
