// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/work/receive_slots.h"

#include <algorithm>
#include <new>

#include "libmrc/work/scatter.h"

namespace mrc {

void ReceiveSlots::reset(const Size& size) {
  slots_ = {};  // another shared queue may have larger requests
  Slot blank;
  blank.copied.resize(size.copied_segments);
  if (size.messages_max > 0) slots_.make_first(blank);
  copied_segments_ = size.copied_segments;
  slots_max_ = size.messages_max;
  next_ = 0;
  any_lost_ = false;
  held_shared_ = 0;
}

bool ReceiveSlots::make_room(uint16_t receive_msn) noexcept {
  const auto ahead = static_cast<uint16_t>(receive_msn - next_);
  if (ahead < slots_.size()) [[likely]]
    return true;
  try {
    Slot blank;
    blank.copied.resize(copied_segments_);
    return slots_.make_room(next_, uint64_t{ahead} + 1, blank);
  } catch (const std::bad_alloc&) {
    return false;
  }
}

ReceiveSlots::Bind ReceiveSlots::bind(Context& cx, uint16_t receive_msn) {
  const auto ahead = static_cast<uint16_t>(receive_msn - next_);
  if (ahead >= slots_max_) return Bind::kOutOfRange;
  if (!make_room(receive_msn)) return Bind::kHeldBack;
  Slot& slot = at(receive_msn);
  if (slot.bound) return Bind::kBound;
  if (cx.shared_receives != nullptr) return bind_shared(cx, receive_msn);
  // Requests of a queue of its own are used strictly in order.
  const uint64_t index = cx.receive_queue.head() + used_before(receive_msn);
  if (index >= cx.receive_queue.tail()) return Bind::kNotReady;
  const ReceiveRequest& request = cx.receive_queue.at(index);
  slot.work_id = request.work_id;
  slot.segments = {request.segments(), request.segment_count};
  slot.told = cx.receive_completions;
  slot.bound = true;
  slot.ended = slot.too_long = slot.lost = false;
  return Bind::kBound;
}

// Requests of a shared queue are taken by whoever comes first, but for the messages of one queue pair in
// their order: all before it have one, or it gets none either. Else several queue pairs could hold all of
// them for messages that have to wait for others, which find none. They are copied, because their places in
// the queue are free at once.
ReceiveSlots::Bind ReceiveSlots::bind_shared(Context& cx, uint16_t receive_msn) {
  // Over a lossy connection a message that finds none is lost, and so may those before it be.
  const uint16_t first = cx.connection.lossy ? receive_msn : next_;
  const auto end = static_cast<uint16_t>(receive_msn + 1);
  uint32_t wanted = 0;
  for (uint16_t msn = first; msn != end; ++msn) wanted += !at(msn).bound;
  // Those before it may want another queue, which they have not named yet.
  if (cx.connection.xrc && wanted > 1) return Bind::kHeldBack;
  const uint64_t available = cx.shared_receives->available();
  if (wanted > available) return Bind::kNotReady;
  // But who sends beginnings of messages and never their ends shall not get all of them: out of its turn a
  // message gets one only if as many are left then as its queue pair holds.
  if (receive_msn != next_ && held_shared_ + 2 * wanted > available + 1) return Bind::kHeldBack;
  for (uint16_t msn = first; msn != end; ++msn) {
    Slot& slot = at(msn);
    if (slot.bound) continue;
    const ReceiveRequest* request = cx.shared_receives->take();
    if (request == nullptr) return Bind::kNotReady;
    ++held_shared_;
    std::copy_n(request->segments(), request->segment_count, slot.copied.begin());
    slot.work_id = request->work_id;
    slot.segments = {slot.copied.data(), request->segment_count};
    slot.told = cx.receive_completions;
    if (cx.connection.xrc) {
      slot.named = cx.shared_receives;
      ++slot.named->held;
    }
    slot.bound = true;
    slot.ended = slot.too_long = slot.lost = false;
  }
  return Bind::kBound;
}

uint64_t ReceiveSlots::used_before(uint16_t receive_msn) {
  auto used = static_cast<uint16_t>(receive_msn - next_);
  if (any_lost_)
    for (uint16_t msn = next_; msn != receive_msn; ++msn) used = static_cast<uint16_t>(used - at(msn).lost);
  return used;
}

bool ReceiveSlots::lose(Context& cx, uint16_t receive_msn) {
  if (static_cast<uint16_t>(receive_msn - next_) >= slots_max_ || !make_room(receive_msn)) return false;
  Slot& slot = at(receive_msn);
  if (slot.lost) return true;
  if (slot.bound) return false;
  if (cx.shared_receives == nullptr)
    for (auto msn = static_cast<uint16_t>(receive_msn + 1);
         static_cast<uint16_t>(msn - next_) < slots_.size(); ++msn)
      if (at(msn).bound && !at(msn).lost) return false;
  slot.bound = slot.lost = any_lost_ = true;
  slot.ended = slot.too_long = false;
  return true;
}

uint8_t ReceiveSlots::Slot::place(Context& cx, uint64_t message_bytes, uint64_t offset,
                                  std::span<const uint8_t> payload) {
  too_long = too_long || total_bytes(segments) < message_bytes;
  if (too_long) return Aeth::kNakInvalidRequest;
  if (!scatter(cx.services.memory, cx.receiver(), segments, offset, payload))
    return Aeth::kNakRemoteOperation;
  cx.services.counters.payload_bytes_placed += payload.size();
  return Aeth::kAck;
}

void ReceiveSlots::Slot::end(const Packet& packet, uint32_t message_bytes) {
  const Opcode opcode = packet.bth.opcode;
  ended = true;
  is_send = mrc::is_send(to_mrc(opcode));
  last_psn = packet.bth.psn;
  bytes = message_bytes;
  solicited = packet.bth.solicited;
  has_immediate = mrc::has_immediate(opcode);
  invalidates = has_invalidate(opcode);
  immediate = invalidates ? static_cast<uint32_t>(packet.invalidate_key) : packet.immediate;
}

bool ReceiveSlots::deliver(Context& cx, const Packet* datagram) {
  const Slot& slot = front();
  if (slot.lost) {
    pop(cx);
    return true;
  }
  Completion completion;
  completion.work_id = slot.work_id;
  completion.byte_count = slot.bytes;
  completion.immediate = slot.immediate;
  completion.has_immediate = slot.has_immediate;
  completion.invalidated = slot.invalidates;
  completion.solicited = slot.solicited;
  completion.qpn = cx.connection.local_qpn;
  if (datagram != nullptr) {
    completion.source_qpn = datagram->deth.source;
    completion.has_grh = true;
    completion.grh_is_v4 = datagram->source.is_v4();
  }
  completion.kind = slot.is_send ? CompletionKind::kReceive : CompletionKind::kReceiveRdmaImmediate;
  CompletionQueue* told = slot.told;
  pop(cx);
  return cx.services.completions.push(told, completion);
}

// IBTA 9.4.1: the key is taken away before the receive completes.
uint8_t ReceiveSlots::finish(Context& cx) {
  const Slot& slot = front();
  if (slot.invalidates && !slot.lost &&
      !cx.services.memory.invalidate(MemoryKey{slot.immediate}, cx.connection.domain))
    return Aeth::kNakRemoteAccess;
  return deliver(cx) ? Aeth::kAck : Aeth::kNakRemoteOperation;
}

void ReceiveSlots::pop(Context& cx) {
  const bool lost = front().lost;
  front().bound = front().ended = front().lost = false;
  front().let_go();
  if (!lost) {
    if (cx.shared_receives == nullptr) {
      cx.receive_queue.release(cx.receive_queue.head() + 1);
    } else {
      --held_shared_;
    }
  }
  ++next_;
}

}  // namespace mrc
