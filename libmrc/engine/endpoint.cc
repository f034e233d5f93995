// SPDX-License-Identifier: BSD-2-Clause
// MRC 1.6: endpoint operations, connectionless, to and from QPN 2.
#include "libmrc/engine/engine.h"
#include "libmrc/qp/negotiation.h"
#include "libmrc/wire/frame.h"

namespace mrc {

void Engine::on_endpoint(const Packet& packet, Plane plane, Nanoseconds now) {
  if (packet.bth.opcode == Opcode::kEndpointRequest) {
    if (packet.erth.operation == EndpointOperation::kPortStatusUpdate && !take_port_update(packet, now))
      return;
    if (answers(packet)) answer_endpoint(packet, plane);
  } else if (packet.bth.opcode == Opcode::kEndpointResponse) {
    // Another process of this host may have asked somebody else with the same id.
    const auto id = static_cast<uint16_t>(packet.bth.psn.value());
    const auto asker = endpoint_requests_.asker_of(id);
    QueuePair* qp = asker ? find(*asker) : nullptr;
    if (qp == nullptr || qp->connection().destination != packet.source) {
      ++counters_.drops_bad_control;
      return;
    }
    endpoint_requests_.forget(id);
    qp->on_endpoint_response(packet);
    schedule(*qp);
  } else {
    ++counters_.drops_unsupported;
  }
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
  uint8_t* buffer = transmitter_.begin(plane);
  if (buffer == nullptr) {
    ++counters_.tx_no_buffer;
    return;
  }
  NetworkHeader network;
  network.source_mac = transmitter_.port(plane).address();
  network.destination_mac = request.source_mac;
  network.source = request.destination;
  network.destination = request.source;
  if (const auto path = path_back(request, plane)) {
    network.srv6 = true;
    network.outer_source = outer_source(services_, plane, network.source);
    network.outer_destination = path->outer_destination;
  }
  Bth bth;
  bth.opcode = Opcode::kEndpointResponse;
  bth.destination = kEndpointQpn;
  bth.psn = request.bth.psn;
  FrameWriter frame(buffer, network, request.entropy, config_.transport.dscp_control, Ecn::kNotCapable,
                    Bth::kBytes + Eeth::kBytes);
  frame.add(bth);
  frame.add(eeth);
  frame.end_headers();
  transmitter_.commit(plane, frame.finish(0));
  ++counters_.endpoint_answers_sent;
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

// MRC 4.6, 10.8: anybody could forge it, so it counts only from an address that a queue pair is connected to.
bool Engine::take_port_update(const Packet& request, Nanoseconds now) {
  bool known = false;
  for (QueuePair* qp : live_) {
    if (!qp->connected() || qp->connection().destination != request.source) continue;
    known = true;
    qp->on_remote_ports(request.erth.port_status_mask, now);
    schedule(*qp);
  }
  ++(known ? counters_.port_updates_received : counters_.port_updates_refused);
  return known;
}

}  // namespace mrc
