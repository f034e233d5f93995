// SPDX-License-Identifier: BSD-2-Clause
// Packets from the middle of a SEND or of the answer to a READ: all that there is to do is to place them.
#include "libmrc/mrc/responder.h"
#include "libmrc/work/scatter.h"

namespace mrc {

// Where the message goes that this is a part of; nowhere: something is wrong with it. (It lies within its
// message: decode() has seen to that.)

// Into the request that has asked for it.
std::span<const Segment> Responder::asked_memory(SendQueue& requests, const Packet& packet) const {
  const auto index = answers_->awaited.find(packet.meth.msn);
  if (!index) return {};
  const SendRequest& request = requests.at(*index);
  if (request.operation != Operation::kRead || packet.reth.message_bytes != request.bytes) return {};
  return {request.segments(), request.segment_count};
}

// Into the receive request that it has. A key tells of our own requests, and there is more to do.
std::span<const Segment> Responder::receive_memory(const Packet& packet) {
  if (packet.reth.key != MemoryKey{} || !slots_.is_bound(packet.meth.receive_msn)) return {};
  const ReceiveSlots::Slot& slot = slots_.at(packet.meth.receive_msn);
  if (slot.lost || total_bytes(slot.segments) < packet.reth.message_bytes) return {};
  return slot.segments;
}

// As for WRITEs: whatever is not as usual goes the general way, which also says what is wrong with it.
[[gnu::hot]] bool Responder::take_middle(Context& cx, const Packet& packet, Plane plane) {
  const Opcode opcode = packet.bth.opcode;
  const bool answers = is_read_response(opcode);
  if ((!answers && !is_send(opcode)) || is_message_end(opcode) || !is_usual(cx.services, packet, plane))
    return false;
  if (!lets_none_pass(packet.bth.psn)) return false;
  const std::span<const Segment> into =
      answers ? asked_memory(cx.send_queue, packet) : receive_memory(packet);
  if (!scatter(cx.services.memory, answers ? cx.connection.domain : cx.receiver(), into, packet.reth.address,
               packet.payload))
    return false;
  if (answers) answers_->awaited.count_placed();
  order_.pass_over(window_, packet.bth.psn);
  take_in(cx.services, cx.trace, packet, plane, cx.now);
  return true;
}

}  // namespace mrc
