// SPDX-License-Identifier: BSD-2-Clause
// The responder in disorder: WRITEs are placed last byte first and in any order, and what needs order comes
// late. All of it is legal: MRC promises order between completions, not between the bytes of WRITEs.
#include <algorithm>
#include <new>

#include "libmrc/mrc/requester.h"
#include "libmrc/mrc/responder.h"
#include "libmrc/mrc/write_access.h"

namespace mrc {

// True: the packet counts as arrived, and is placed in part.
bool Responder::hold_write(Context& cx, const Packet& packet, uint8_t* to) {
  const auto bytes = static_cast<uint32_t>(packet.payload.size());
  const auto order =
      cx.services.disorder->on_write(cx.connection.local_qpn, bytes, is_message_end(packet.bth.opcode));
  if (!order) return false;
  if (held_ == nullptr) held_.reset(new (std::nothrow) HeldWrites);
  HeldWrites::Entry* entry = held_ != nullptr ? held_->add() : nullptr;
  if (entry == nullptr) return false;  // as usual, then
  entry->used = true;
  entry->failed = false;
  entry->opcode = packet.bth.opcode;
  entry->psn = packet.bth.psn;
  entry->reth = packet.reth;
  entry->bytes = bytes;
  entry->rest = bytes - std::min(order->tail, bytes);
  entry->until = order->until;
  std::copy(packet.payload.begin(), packet.payload.end(), entry->payload.begin());
  const uint32_t losses = cx.services.memory.losses();
  order_.claim(window_, packet.bth.psn, to, bytes);
  if (entry->rest < bytes)
    order_.place_part(window_, packet.bth.psn, to + entry->rest, packet.payload.subspan(entry->rest));
  entry->failed = cx.services.memory.losses() != losses;
  return true;
}

void Responder::release_writes(Context& cx, Requester& requester) {
  if (held_ == nullptr) return;
  const Nanoseconds now = cx.services.disorder != nullptr ? cx.now : kNever;  // it has ended: all of them
  while (HeldWrites::Entry* entry = held_->next_due(now)) {
    uint8_t* to = nullptr;
    const uint32_t losses = cx.services.memory.losses();
    // The region may be gone: the WRITE was not acknowledged, so its owner could take it away.
    entry->failed =
        !write_allowed(cx.connection, cx.services.memory, entry->opcode, entry->reth, entry->bytes, &to);
    if (!entry->failed && entry->rest > 0)
      order_.place_part(window_, entry->psn, to, {entry->payload.data(), entry->rest});
    entry->failed = entry->failed || cx.services.memory.losses() != losses;
    entry->used = entry->failed;  // until its turn comes
    if (!entry->failed) cx.services.counters.payload_bytes_placed += entry->bytes;
  }
  advance(cx, requester);
}

// Whether the next one in order is here and may be passed.
bool Responder::waits_for_held() {
  const HeldWrites::Entry* entry = held_->find(window_.expected());
  if (entry != nullptr && entry->failed) nak_ = ResponderFault{entry->psn, Aeth::kNakRemoteAccess, false};
  return entry != nullptr;
}

}  // namespace mrc
