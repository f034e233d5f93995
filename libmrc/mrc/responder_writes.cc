// SPDX-License-Identifier: BSD-2-Clause
// The responder's WRITEs. Nearly every packet of a stream is one that nothing in order hangs on but a count:
// it has a way of its own, with what it needs and no more.
#include "libmrc/mrc/responder.h"
#include "libmrc/mrc/write_access.h"

namespace mrc {

// Whatever is not as usual goes the general way, on_request(), which says what is wrong with it.
[[gnu::hot]] bool Responder::take_write(const Connection& connection, Services& services, EventTrace& trace,
                                        const Packet& packet, Plane plane, Nanoseconds now) {
  const Opcode opcode = packet.bth.opcode;
  const Psn psn = packet.bth.psn;
  const std::span<const uint8_t> payload = packet.payload;
  if (!is_write(opcode) || has_immediate(opcode) || !is_usual(services, packet, plane)) return false;
  const bool next = window_.would_pass(psn);
  if (!lets_none_pass(psn) || (!next && !order_.make_place(window_, psn))) return false;
  uint8_t* to = nullptr;
  if (!write_allowed(connection, services.memory, opcode, packet.reth, payload.size(), &to)) return false;
  const uint32_t losses = services.memory.losses();
  if (next)
    place_bytes(to, payload.data(), payload.size());
  else
    order_.place(window_, psn, to, payload);
  if (services.memory.losses() != losses) return false;
  take_in(services, trace, packet, plane, now);
  return true;
}

Responder::Placed Responder::place_write(Context& cx, const Packet& packet, uint8_t* passing) {
  uint8_t* to = nullptr;
  if (!write_allowed(cx.connection, cx.services.memory, packet.bth.opcode, packet.reth, packet.payload.size(),
                     &to)) {
    if (cx.connection.lossy) return lose(cx, packet, passing);
    refuse(packet.bth.psn, Aeth::kNakRemoteAccess, false, passing);
    return Placed::kRecorded;
  }
  if (!packet.payload.empty() && !order_.make_place(window_, packet.bth.psn)) return Placed::kDropped;
  if (has_immediate(packet.bth.opcode)) {
    if (const Placed bound = bind_receive(cx, packet, passing); bound != Placed::kRecorded) return bound;
    if ((*passing & ReceiveWindow::kFaulty) != 0) return Placed::kRecorded;
    if (slots_.at(packet.meth.receive_msn).lost) return lose(cx, packet, passing);
    slots_.at(packet.meth.receive_msn).end(packet, packet.reth.message_bytes);
    *passing |= ReceiveWindow::kConsumesReceive;
  }
  if (!packet.payload.empty()) {
    if (cx.services.disorder != nullptr && hold_write(cx, packet, to)) [[unlikely]]
      return Placed::kRecorded;
    const uint32_t losses = cx.services.memory.losses();
    order_.place(window_, packet.bth.psn, to, packet.payload);
    if (cx.services.memory.losses() != losses) {
      if (!cx.connection.lossy) refuse(packet.bth.psn, Aeth::kNakRemoteAccess, false, passing);
      return Placed::kRecorded;
    }
    cx.services.counters.payload_bytes_placed += packet.payload.size();
  }
  return Placed::kRecorded;
}

// IBTA 9.8.2: over an unreliable connection a message that cannot be taken is lost, and nobody is told. If it
// was to use a receive request, that one is left for the next message.
Responder::Placed Responder::lose(Context& cx, const Packet& packet, uint8_t* passing) {
  ++cx.services.counters.requests_lost;
  const Opcode opcode = packet.bth.opcode;
  if (!is_send(opcode) && !has_immediate(opcode)) return Placed::kRecorded;
  if (!slots_.lose(cx, packet.meth.receive_msn)) {
    refuse(packet.bth.psn, Aeth::kNakInvalidRequest, false, passing);
    return Placed::kRecorded;
  }
  if (!is_message_end(opcode)) return Placed::kRecorded;
  slots_.at(packet.meth.receive_msn).end(packet, 0);
  *passing |= ReceiveWindow::kConsumesReceive;
  return Placed::kRecorded;
}

}  // namespace mrc
