// SPDX-License-Identifier: BSD-2-Clause
// MRC 12.S11, 1.6: endpoint operations, connectionless, to and from QPN 2.
#include <algorithm>

#include "libmrc/engine/engine.h"
#include "libmrc/qp/negotiation.h"
#include "libmrc/wire/frame.h"

namespace mrc {

void Engine::on_endpoint(const Packet& packet, Plane plane, Nanoseconds now) {
  if (packet.bth.opcode == Opcode::kEndpointRequest) {
    ++counters_.endpoint_requests_received;
    if (packet.erth.operation == EndpointOperation::kPortStatusUpdate && !take_port_update(packet, now))
      return;
    if (answers(packet)) answer_endpoint(packet, plane);
  } else if (packet.bth.opcode == Opcode::kEndpointResponse) {
    take_endpoint_answer(packet, now);
  } else {
    ++counters_.drops_unsupported;
  }
}

// MRC 1.6 [P]: the request id decides what it answers. Another process of this host may have asked somebody
// else with the same id.
void Engine::take_endpoint_answer(const Packet& packet, Nanoseconds now) {
  const auto id = static_cast<uint16_t>(packet.bth.psn.value());
  const EndpointRequests::Asker* asker = endpoint_requests_.asker_of(id);
  if (asker != nullptr && asker->is_probe && asker->destination == packet.source) {
    ++counters_.endpoint_answers_received;
    ++counters_.ev_probes_answered;
    endpoint_requests_.forget(id);
    sink_->ev_probe_answered(asker->cookie, now - asker->sent_at);
    return;
  }
  QueuePair* qp = asker != nullptr && !asker->is_probe ? find(asker->qpn) : nullptr;
  if (qp == nullptr || qp->connection().destination != packet.source) {
    ++counters_.drops_bad_control;
    return;
  }
  ++counters_.endpoint_answers_received;
  endpoint_requests_.forget(id);
  if (asker->announcement != 0) {
    // MRC 4.6: who has answered an earlier announcement need not have heard the newest.
    if (asker->announcement == announcement_ && qp->peer() != nullptr) qp->peer()->ports_told = true;
    return;
  }
  qp->on_endpoint_response(packet);
  schedule(*qp);
}

void Engine::tell_capabilities(const Packet& request, Eeth* answer) {
  if (config_.transport.default_transport() == Transport::kMrcStrict) return;
  answer->vendor_info = kSpeaksExtension;
  const QueuePair* qp = find(Qpn{request.erth.port_status_mask});
  // Only the peer itself may know.
  if (qp == nullptr || !qp->connected() || qp->connection().destination != request.source) return;
  answer->vendor_info |= kTellsExpectedPsn;
  answer->expected_psn = qp->responder().expected().value();
}

// The answer goes back the way the request came: same plane, same entropy, addresses swapped.
void Engine::answer_endpoint(const Packet& request, Plane plane) {
  Eeth eeth;
  eeth.operation = request.erth.operation;
  eeth.timestamp = request.erth.time.timestamp;
  if (request.erth.operation == EndpointOperation::kCapabilities) tell_capabilities(request, &eeth);
  NetworkHeader network;
  network.source_mac = transmitter_.port(plane).address();
  network.destination_mac = request.source_mac;
  network.source = request.destination;
  network.destination = request.source;
  if (const auto path = path_back(request, plane)) take_way(*path, plane, &network);
  Bth bth;
  bth.opcode = Opcode::kEndpointResponse;
  bth.destination = kEndpointQpn;
  bth.psn = request.bth.psn;
  if (send_endpoint(network, plane, request.entropy, bth, eeth)) ++counters_.endpoint_answers_sent;
}

void Engine::take_way(const EvEntry& way, Plane plane, NetworkHeader* network) const {
  network->srv6 = way.has_outer;
  network->outer_source = outer_source(services_, plane, network->source);
  network->outer_destination = way.outer_destination;
  network->segment_routing = way.has_outer && way.has_segment;
  network->segment = way.segment;
}

template <typename Header>
bool Engine::send_endpoint(const NetworkHeader& network, Plane plane, Entropy entropy, const Bth& bth,
                           const Header& header) {
  uint8_t* buffer = transmitter_.begin(plane);
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
  if (!port.resolve(probe.destination, probe.destination_qpn, &network.destination_mac)) return false;
  network.source_mac = port.address();
  network.source = probe.source;
  network.destination = probe.destination;
  take_way(probe.path, plane, &network);
  EndpointRequests::Asker asker;
  asker.is_probe = true;
  asker.cookie = probe.cookie;
  asker.destination = probe.destination;
  asker.sent_at = now;
  Bth bth;
  bth.opcode = Opcode::kEndpointRequest;
  bth.destination = kEndpointQpn;
  bth.psn = Psn(endpoint_requests_.add(asker));
  Erth erth;
  erth.operation = EndpointOperation::kEvProbe;
  const bool coarse = config_.transport.coarse_timestamps;
  erth.time = {to_wire_timestamp(now, coarse), coarse};
  if (!send_endpoint(network, plane, probe.path.entropy, bth, erth)) return false;
  ++counters_.ev_probes_sent;
  return true;
}

// Several processes of a host may hear a request to QPN 2. Which of them is asked for its capabilities is
// named by a queue pair of its; 0 = whoever hears it.
bool Engine::answers(const Packet& request) const {
  const Qpn asked{request.erth.port_status_mask};
  if (request.erth.operation != EndpointOperation::kCapabilities || asked == Qpn{}) return true;
  return slot_of(asked) < config_.qpn_count;
}

std::optional<EvEntry> Engine::path_back(const Packet& request, Plane plane) const {
  if (!request.srv6 || config_.path_source == nullptr) return std::nullopt;
  return config_.path_source->path_back(request.source, plane, request.entropy);
}

// Announcements go by all ports and overtake each other. One that was sent before the newest that was heard
// would bring back a state that has passed.
bool Engine::is_old_news(Peer& peer, const Tseth& time, Nanoseconds now) {
  constexpr uint16_t kComparable = 1 << 14;  // a quarter of the wrap
  const Nanoseconds span = Nanoseconds{kComparable} << (time.coarse ? kCoarseTickShift : kFineTickShift);
  const auto behind = static_cast<uint16_t>(peer.ports_heard.timestamp - time.timestamp);
  if (peer.ports_heard_at != 0 && now - peer.ports_heard_at < span &&
      peer.ports_heard.coarse == time.coarse && behind > 0 && behind < kComparable)
    return true;
  peer.ports_heard_at = now;
  peer.ports_heard = time;
  return false;
}

// MRC 4.6, 10.8: anybody could forge it, so it counts only from an address that a queue pair is connected to.
bool Engine::take_port_update(const Packet& request, Nanoseconds now) {
  const auto is_peer = [&](const QueuePair* qp) {
    return qp->connected() && qp->connection().destination == request.source;
  };
  const auto first = std::find_if(live_.begin(), live_.end(), is_peer);
  if (first == live_.end()) {
    ++counters_.port_updates_refused;
    return false;
  }
  ++counters_.port_updates_received;
  Peer* peer = (*first)->peer();
  if (peer != nullptr && is_old_news(*peer, request.erth.time, now)) {
    ++counters_.port_updates_old;
    return true;
  }
  for (auto at = first; at != live_.end(); ++at) {
    if (!is_peer(*at)) continue;
    (*at)->on_remote_ports(request.erth.port_status_mask, now);
    schedule(**at);
  }
  return true;
}

}  // namespace mrc
