// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/rc/rc_responder.h"

#include <algorithm>
#include <bit>

#include "libmrc/memory/place_bytes.h"
#include "libmrc/work/message_form.h"
#include "libmrc/work/question.h"
#include "libmrc/work/receiver_not_ready.h"
#include "libmrc/work/remote_memory.h"

namespace mrc {

namespace {
constexpr uint32_t kAckInterval = 32;  // packets that are acknowledged at the latest together
constexpr uint32_t kReadPsnsMax = 1u << 23;
// A READ that is asked for again from the same place waits so long, then twice as long, and so on: its answer
// may be very much larger than the question. Who has lost some of the answer asks from further on, or after a
// timeout.
constexpr Nanoseconds kRepeatInterval = 100 * kMicrosecond;
constexpr uint8_t kRepeatDoublingsMax = 10;
}  // namespace

void RcResponder::reset(Psn first, uint32_t answers_max, uint32_t copied_segments) {
  *this = RcResponder{};
  expected_ = first;
  taken_ = first - 1;
  slots_.reset({1, copied_segments});
  answers_max_ = answers_max;
  answers_.assign(std::bit_ceil(std::max(answers_max, 1u)), Answer{});
}

void RcResponder::on_request(Context& cx, const Packet& packet) {
  if (fault_) return;  // the connection ends before it
  const int32_t ahead = packet.bth.psn - expected_;
  if (ahead < 0) {
    on_duplicate(cx, packet);
    return;
  }
  if (ahead > 0) {
    // IBTA 9.7.4, 9.7.5: a PSN was left out. It is asked for once.
    ++cx.services.counters.out_of_sequence;
    if (!told_) nak_due_ = Aeth::kNakSequenceError;
    told_ = true;
    return;
  }
  switch (take(cx, packet)) {
    case Taken::kFaulty:
      return;
    case Taken::kNotReady:
      // IBTA 9.7.5, RNR NAK: what follows is dropped without a word until this PSN comes again.
      nak_due_ = rnr_syndrome(cx.connection);
      told_ = true;
      return;
    case Taken::kLost:
    case Taken::kDone:
      break;
  }
  told_ = false;
  nak_due_ = 0;
  const uint16_t traits = traits_of(packet.bth.opcode);
  if ((traits & (OpcodeTraits::kSend | OpcodeTraits::kWrite)) == 0) return;  // the answer acknowledges it
  // IBTA 9.7.5: acknowledgements may be coalesced, but one that was asked for is due.
  if (packet.bth.ack_request || ++unacked_ >= kAckInterval) ack_due_ = true;
}

RcResponder::Taken RcResponder::refuse(const Packet& packet, uint8_t syndrome, bool in_receive) {
  fault_ = ResponderFault{packet.bth.psn, syndrome, in_receive};
  return Taken::kFaulty;
}

// IBTA 9.7.4: opcodes follow each other as a message does, and every packet but the last is full.
bool RcResponder::well_formed(const Context& cx, const Packet& packet) const {
  const Opcode opcode = packet.bth.opcode;
  const uint16_t traits = traits_of(opcode);
  const Message kind = (traits & OpcodeTraits::kSend) != 0    ? Message::kSend
                       : (traits & OpcodeTraits::kWrite) != 0 ? Message::kWrite
                                                              : Message::kNone;
  if (message_ != (is_message_start(opcode) ? Message::kNone : kind)) return false;
  const size_t bytes = packet.payload.size();
  return is_message_end(opcode) ? bytes <= cx.connection.mtu : bytes == cx.connection.mtu;
}

RcResponder::Taken RcResponder::take(Context& cx, const Packet& packet) {
  if (!well_formed(cx, packet)) return refuse(packet, Aeth::kNakInvalidRequest);
  const uint16_t traits = traits_of(packet.bth.opcode);
  constexpr uint16_t kQuestion =
      OpcodeTraits::kReadRequest | OpcodeTraits::kAtomicRequest | OpcodeTraits::kFlush;
  if ((traits & kQuestion) != 0) return take_question(cx, packet);
  const bool sends = (traits & OpcodeTraits::kSend) != 0;
  // IBTA 9.8.2: over an unreliable connection a message that cannot be taken is lost, and nobody is told.
  const Taken taken = lost_ ? Taken::kLost : sends ? take_send(cx, packet) : take_write(cx, packet);
  if (taken == Taken::kNotReady || taken == Taken::kFaulty) return taken;
  lost_ = taken == Taken::kLost;
  if (lost_) ++cx.services.counters.requests_lost;
  taken_ = expected_;
  ++expected_;
  offset_ += packet.payload.size();
  message_ = sends ? Message::kSend : Message::kWrite;
  if (is_message_end(packet.bth.opcode)) {
    message_ = Message::kNone;
    lost_ = false;
    ++msn_;
  }
  return taken;
}

// ------------------------------------------------------------------------------------------ SEND and WRITE

RcResponder::Taken RcResponder::take_send(Context& cx, const Packet& packet) {
  if (is_message_start(packet.bth.opcode)) {
    if (slots_.bind(cx, slots_.next()) != ReceiveSlots::Bind::kBound) return not_ready(cx);
    offset_ = 0;
  }
  const uint64_t bytes = offset_ + packet.payload.size();
  const uint8_t syndrome = slots_.front().place(cx, bytes, offset_, packet.payload);
  if (syndrome != Aeth::kAck) return refuse(packet, syndrome, true);
  if (!is_message_end(packet.bth.opcode)) return Taken::kDone;
  return deliver(cx, packet, static_cast<uint32_t>(bytes)) ? Taken::kDone : Taken::kFaulty;
}

// The message of this packet is complete and has a receive request.
bool RcResponder::deliver(Context& cx, const Packet& packet, uint32_t bytes) {
  slots_.front().end(packet, bytes);
  const uint8_t syndrome = slots_.finish(cx);
  if (syndrome != Aeth::kAck) refuse(packet, syndrome);
  return syndrome == Aeth::kAck;
}

// IBTA 9.4.3, 9.7.4: only the first packet says where to; the rest follows it without a gap.
RcResponder::Taken RcResponder::take_write(Context& cx, const Packet& packet) {
  const Opcode opcode = packet.bth.opcode;
  if (is_message_start(opcode)) {
    write_ = packet.reth;
    offset_ = 0;
    // No key is looked at when there is nothing to write.
    if (write_.message_bytes > 0 &&
        remote_memory(cx, write_.key, write_.address, write_.message_bytes, kRemoteWrite) == nullptr)
      return no_access(cx, packet);
  }
  const uint64_t behind = offset_ + packet.payload.size();
  const bool fits = is_message_end(opcode) ? behind == write_.message_bytes : behind < write_.message_bytes;
  if (!fits) return refuse(packet, Aeth::kNakInvalidRequest);
  if (has_immediate(opcode) && slots_.bind(cx, slots_.next()) != ReceiveSlots::Bind::kBound)
    return not_ready(cx);
  if (!packet.payload.empty()) {
    // Looked up again: it may have been deregistered since the first packet.
    uint8_t* to =
        remote_memory(cx, write_.key, write_.address + offset_, packet.payload.size(), kRemoteWrite);
    if (to == nullptr) return no_access(cx, packet);
    const uint32_t losses = cx.services.memory.losses();
    place_bytes(to, packet.payload.data(), packet.payload.size());
    if (cx.services.memory.losses() != losses) return no_access(cx, packet);
    cx.services.counters.payload_bytes_placed += packet.payload.size();
  }
  if (!has_immediate(opcode)) return Taken::kDone;
  return deliver(cx, packet, write_.message_bytes) ? Taken::kDone : Taken::kFaulty;
}

// ---------------------------------------------------------------------------------------- READ and atomics

// IBTA 9.4.4: the response to a READ has the PSNs from the request's on. The answers to all others can be
// asked for again as well.
RcResponder::Taken RcResponder::take_question(Context& cx, const Packet& packet) {
  const Question question(packet);
  const bool reads = question.reads();
  const uint32_t psns = reads ? packet_count(packet.reth.message_bytes, cx.connection.mtu) : 1;
  if (psns >= kReadPsnsMax || !make_room_for_answer()) return refuse(packet, Aeth::kNakInvalidRequest);
  uint64_t before = 0;
  const uint8_t syndrome = carry_out(cx, question, &before);
  if (syndrome != Aeth::kAck) return refuse(packet, syndrome);
  Answer& answer = add_answer();
  answer.first = answer.from = answer.at = packet.bth.psn;
  answer.last = packet.bth.psn + static_cast<int32_t>(psns - 1);
  answer.msn = ++msn_;
  answer.atomic = !reads;
  answer.silent = question.is_silent();
  answer.result = before;
  if (reads) {
    answer.bytes = packet.reth.message_bytes;
    answer.key = packet.reth.key;
    answer.address = packet.reth.address;
  }
  expected_ = answer.last + 1;
  return Taken::kDone;
}

// IBTA 9.7.4: more READs and atomics under way than was agreed on is an error: false.
bool RcResponder::make_room_for_answer() {
  if (answers_max_ == 0) return false;
  if (end_answer_ - first_answer_ < answers_max_) return true;
  const Answer& oldest = answer_at(first_answer_);
  if (oldest.due) {
    if (!oldest.again) return false;
    --pending_;  // the peer has gone on, so it has got that one
  }
  ++first_answer_;
  next_answer_ = std::max(next_answer_, first_answer_);
  return true;
}

RcResponder::Answer& RcResponder::add_answer() {
  Answer& answer = answer_at(end_answer_++);
  answer = Answer{};
  answer.due = true;
  ++pending_;
  return answer;
}

// IBTA 9.7.4, 9.7.5: a duplicate SEND or WRITE is acknowledged again, a READ is carried out again, an atomic
// is answered from memory.
void RcResponder::on_duplicate(Context& cx, const Packet& packet) {
  ++cx.services.counters.duplicates;
  const Psn psn = packet.bth.psn;
  const uint16_t traits = traits_of(packet.bth.opcode);
  constexpr uint16_t kAtomic = OpcodeTraits::kAtomicRequest | OpcodeTraits::kFlush;
  if ((traits & (OpcodeTraits::kReadRequest | kAtomic)) == 0) {
    ack_due_ = true;
    return;
  }
  const bool atomic = (traits & kAtomic) != 0;
  for (uint64_t index = first_answer_; index != end_answer_; ++index) {
    Answer& answer = answer_at(index);
    if (psn < answer.first || psn > answer.last) continue;
    if (answer.atomic != atomic || (answer.due && answer.at <= psn)) return;  // it is still to come
    if (!atomic && answer.again && psn <= answer.from) {
      if (cx.now - answer.repeated_at < kRepeatInterval << answer.repeats) return;
      if (answer.repeats < kRepeatDoublingsMax) ++answer.repeats;
    } else {
      answer.repeats = 0;
    }
    answer.repeated_at = cx.now;
    if (!answer.due) ++pending_;
    answer.due = answer.again = true;
    answer.from = answer.at = psn;
    next_answer_ = std::min(next_answer_, index);
    return;
  }
}

}  // namespace mrc
