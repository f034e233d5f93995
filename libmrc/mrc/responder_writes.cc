// SPDX-License-Identifier: BSD-2-Clause
// The responder's WRITEs: which of them memory allows, and placing them.
#include "libmrc/mrc/responder.h"

namespace mrc {

namespace {
// MRC 12.S3, 2: bounds are checked per packet. A packet also shows as much of its message as it can: the
// start of a First and the end of a Last give all of it, and around a Middle there is at least one path MTU
// before and one byte behind.
[[gnu::always_inline]] inline bool write_allowed(const Context& cx, Opcode opcode, const Reth& reth,
                                                 uint64_t bytes, uint8_t** to) {
  if (reth.message_bytes == 0) return true;  // as in IBTA: no key is looked at
  if ((cx.connection.remote_access & kRemoteWrite) == 0) return false;
  const MemoryRegion* region = cx.services.memory.find(reth.key);
  if (region == nullptr || !region->lets(cx.connection.domain, kRemoteWrite)) return false;
  if (is_message_start(opcode)) {
    if (bytes > reth.message_bytes || !region->contains(reth.address, reth.message_bytes)) return false;
  } else if (is_message_end(opcode)) {
    if (bytes > reth.message_bytes || !region->contains(reth.address, bytes) ||
        !region->contains(reth.address - (reth.message_bytes - bytes), reth.message_bytes))
      return false;
  } else {
    if (reth.message_bytes > region->bytes || !region->contains(reth.address, bytes + 1) ||
        reth.address - region->address < cx.connection.mtu)
      return false;
  }
  *to = region->place_of(reth.address);
  return cx.services.memory.present(*region, *to, bytes, kRemoteWrite);
}
}  // namespace

Responder::Placed Responder::place_write(Context& cx, const Packet& packet, uint8_t* passing) {
  uint8_t* to = nullptr;
  if (!write_allowed(cx, packet.bth.opcode, packet.reth, packet.payload.size(), &to)) {
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

bool Responder::memory_allows(const Context& cx, Opcode opcode, const Reth& reth, uint64_t bytes,
                              uint8_t** to) {
  return write_allowed(cx, opcode, reth, bytes, to);
}

}  // namespace mrc
