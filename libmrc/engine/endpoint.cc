// SPDX-License-Identifier: BSD-2-Clause
// MRC 1.6: endpoint operations, connectionless, to and from QPN 2.
#include "libmrc/engine/engine.h"
#include "libmrc/qp/negotiation.h"
#include "libmrc/wire/frame.h"

namespace mrc {

void Engine::on_endpoint(const Packet& packet, Plane plane, Nanoseconds now) {
  if (packet.bth.opcode == Opcode::kEndpointRequest) {
    if (packet.erth.operation == EndpointOperation::kPortStatusUpdate) take_port_update(packet, now);
    answer_endpoint(packet, plane);
  } else if (packet.bth.opcode == Opcode::kEndpointResponse) {
    const auto asker = endpoint_requests_.take(static_cast<uint16_t>(packet.bth.psn.value()));
    QueuePair* qp = asker ? find(*asker) : nullptr;
    if (qp == nullptr) {
      ++counters_.drops_bad_control;
      return;
    }
    qp->on_endpoint_response(packet);
    schedule(*qp);
  } else {
    ++counters_.drops_unsupported;
  }
}

void Engine::tell_capabilities(const Packet& request, Eeth* answer) {
  if (config_.transport.strict) return;
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

// MRC 4.6, 10.8: anybody could forge it, so it counts only from an address that a queue pair is connected to.
void Engine::take_port_update(const Packet& request, Nanoseconds now) {
  bool known = false;
  for (QueuePair* qp : live_) {
    if (!qp->connected() || qp->connection().destination != request.source) continue;
    known = true;
    qp->on_remote_ports(request.erth.port_status_mask, now);
    schedule(*qp);
  }
  ++(known ? counters_.port_updates_received : counters_.port_updates_refused);
}

}  // namespace mrc
