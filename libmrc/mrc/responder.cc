// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/mrc/responder.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "libmrc/mrc/requester.h"
#include "libmrc/work/answer_data.h"

namespace mrc {

namespace {
constexpr Nanoseconds kWindowNackInterval = 100 * kMicrosecond;
}  // namespace

void Responder::reset(const TransportConfig& config, Psn first, uint32_t answers_max,
                      const ReceiveSlots::Size& slots) {
  Responder fresh(*answers_);  // memory is kept
  fresh.window_ = std::move(window_);
  fresh.order_ = std::move(order_);
  fresh.slots_ = std::move(slots_);
  fresh.ordered_ = std::move(ordered_);
  fresh.answer_msn_ = std::move(answer_msn_);
  *this = std::move(fresh);
  config_ = &config;
  window_.reset(config.window_packets, first);
  order_.reset();
  slots_.reset(slots);
  ordered_.clear();
  ordered_max_ = answers_max;
  answer_msn_.clear();
  answer_msn_.make_first();
}

bool Responder::shuns(const Packet& packet, Plane plane) const {
  return std::binary_search(shunned_->begin(), shunned_->end(), path_name(packet.entropy, plane));
}

// ------------------------------------------------------------------------------------------- arrivals

[[gnu::hot]] void Responder::on_request(Context& cx, const Packet& packet, Plane plane,
                                        Requester& requester) {
  const Psn psn = packet.bth.psn;
  Counters& counters = cx.services.counters;
  switch (window_.classify(psn)) {
    case ReceiveWindow::Arrival::kOutOfWindow:
      ++counters.out_of_window;
      cx.note(TraceEvent::kOutOfWindow, psn);
      // MRC 12.S8, 2 [P]: said at most once in a while.
      if (config_->interop.nack_out_of_window && cx.now - last_window_nack_ >= kWindowNackInterval) {
        last_window_nack_ = cx.now;
        send_nack(cx, packet, plane, NackReason::kPsnOutOfWindow);
      }
      return;
    case ReceiveWindow::Arrival::kDuplicateBelow:
      ack_due_ = true;  // the requester may have missed it
      [[fallthrough]];
    case ReceiveWindow::Arrival::kDuplicateAbove:
      ++counters.duplicates;
      cx.note(TraceEvent::kDuplicate, psn);
      trigger_ = trigger_of(packet, plane);
      sack_due_ = sack_wanted_ = sack_urgent_ = true;
      return;
    case ReceiveWindow::Arrival::kNew:
      break;
  }
  if (fault_ && psn > fault_->psn) {  // the connection ends before it
    ++counters.requests_in_vain;
    return;
  }

  // Before it is told to anybody.
  if (is_send(packet.bth.opcode) && packet.reth.key != MemoryKey{})
    requester.on_done_word(cx, static_cast<uint32_t>(packet.reth.key));
  if (config_->counts_senders()) cx.services.receiver_share.on_data(cx.peer_index, cx.now);
  uint8_t passing = ReceiveWindow::kNothing;
  order_.pass_over(window_, psn);  // unless it turns out to write
  if (is_message_end(packet.bth.opcode)) passing |= ReceiveWindow::kEndsMessage;
  const Placed placed =
      is_write(packet.bth.opcode) ? place_write(cx, packet, &passing) : place_other(cx, packet, &passing);
  if (placed == Placed::kNotReady) send_not_ready(cx, packet, plane);
  if (placed != Placed::kRecorded) {
    ++counters.requests_refused;
    return;
  }
  cx.note(TraceEvent::kReceived, psn, kNoPath, static_cast<uint32_t>(packet.payload.size()));
  if (packet.bth.ack_request) passing |= ReceiveWindow::kAckRequested;
  window_.record(psn, passing);
  count_arrival(counters, packet, plane);
  advance(cx, requester);
  if (config_->counts_senders() && nothing_follows_ && window_.held() == 0)
    cx.services.receiver_share.on_done(cx.peer_index);
  // MRC 12.S9, SPEC 7.5.2: a CE-marked packet is acknowledged at once, by itself, so that the requester
  // learns which path it was. So is one whose path it is to leave.
  if (mark_of(packet, plane) != PathMark::kNone) [[unlikely]]
    send_sack(cx, path_back(cx, plane, packet.entropy), trigger_of(packet, plane), std::nullopt);
}

// MRC 12.S7, 7: only the headers came through. If the data are here already, say so; else ask for them at
// once.
void Responder::on_trimmed(Context& cx, const Packet& packet, Plane plane) {
  ++cx.services.counters.trimmed_received;
  cx.note(TraceEvent::kTrimmed, packet.bth.psn);
  const ReceiveWindow::Arrival arrival = window_.classify(packet.bth.psn);
  if (arrival == ReceiveWindow::Arrival::kOutOfWindow) return;
  if (config_->counts_senders())
    cx.services.receiver_share.on_data(cx.peer_index, cx.now);  // it wants to send
  if (arrival != ReceiveWindow::Arrival::kNew || packet.bth.ack_request) {
    // A trimmed packet has overtaken others, so it must not be the one whose path this SACK is about.
    trigger_ = Trigger{};
    trigger_.psn = window_.cumulative();
    trigger_.plane = plane;
    sack_due_ = sack_wanted_ = sack_urgent_ = true;
  }
  if (arrival != ReceiveWindow::Arrival::kNew) return;
  send_nack(
      cx, packet, plane,
      packet.dscp == config_->dscp_trimmed_last_hop ? NackReason::kTrimmedLastHop : NackReason::kTrimmed);
}

Responder::Placed Responder::place_other(Context& cx, const Packet& packet, uint8_t* passing) {
  const Opcode opcode = packet.bth.opcode;
  if (is_send(opcode)) return place_send(cx, packet, passing);
  if (is_read_response(opcode) || opcode == Opcode::kAtomicAcknowledge)
    return place_answer(cx, packet, passing);
  return hold_ordered(cx, packet, passing);
}

// ------------------------------------------------------------------------------------- SEND and receives

// Gives the message of this packet its receive request.
Responder::Placed Responder::bind_receive(Context& cx, const Packet& packet, uint8_t* passing) {
  switch (slots_.bind(cx, packet.meth.receive_msn)) {
    case ReceiveSlots::Bind::kBound:
      // A second end for the same number cannot be right.
      if (is_message_end(packet.bth.opcode) && slots_.at(packet.meth.receive_msn).ended)
        refuse(packet.bth.psn, Aeth::kNakInvalidRequest, false, passing);
      return Placed::kRecorded;
    case ReceiveSlots::Bind::kNotReady:
      if (cx.connection.lossy && slots_.lose(cx, packet.meth.receive_msn)) return Placed::kRecorded;
      if (!cx.connection.strict) return Placed::kNotReady;
      // MRC 2: there is no "receiver not ready" in MRC; it ends the connection.
      refuse(packet.bth.psn, Aeth::kNakRemoteOperation, false, passing);
      return Placed::kRecorded;
    case ReceiveSlots::Bind::kHeldBack:
      return Placed::kDropped;
    case ReceiveSlots::Bind::kOutOfRange:
      break;
  }
  // MRC 2: more in flight than agreed.
  refuse(packet.bth.psn, Aeth::kNakInvalidRequest, false, passing);
  return Placed::kRecorded;
}

Responder::Placed Responder::place_send(Context& cx, const Packet& packet, uint8_t* passing) {
  if (const Placed bound = bind_receive(cx, packet, passing); bound != Placed::kRecorded) return bound;
  if ((*passing & ReceiveWindow::kFaulty) != 0) return Placed::kRecorded;
  ReceiveSlots::Slot& slot = slots_.at(packet.meth.receive_msn);
  if (slot.lost) return lose(cx, packet, passing);
  if (packet.reth.address + packet.payload.size() > packet.reth.message_bytes) {
    refuse(packet.bth.psn, Aeth::kNakInvalidRequest, false, passing);
    return Placed::kRecorded;
  }
  const uint8_t syndrome = slot.place(cx, packet.reth.message_bytes, packet.reth.address, packet.payload);
  if (syndrome != Aeth::kAck) {
    refuse(packet.bth.psn, syndrome, true, passing);
    return Placed::kRecorded;
  }
  if (is_message_end(packet.bth.opcode)) {
    slot.end(packet, packet.reth.message_bytes);
    *passing |= ReceiveWindow::kConsumesReceive;
  }
  return Placed::kRecorded;
}

void Responder::deliver_receive(Context& cx, Psn psn) {
  const ReceiveSlots::Slot& slot = slots_.front();
  if (!slot.bound || !slot.ended || slot.last_psn != psn) {
    nak_ = ResponderFault{psn, Aeth::kNakInvalidRequest, false};
    return;
  }
  const uint8_t syndrome = slots_.finish(cx);
  if (syndrome != Aeth::kAck) nak_ = ResponderFault{psn, syndrome, false};
}

// --------------------------------------------------------------------------------------- READ and atomics

size_t Responder::held_ordered() const {
  return static_cast<size_t>(
      std::count_if(ordered_.begin(), ordered_.end(), [](const Ordered& entry) { return entry.used; }));
}

// A place for one more; null: there is no memory for it.
Responder::Ordered* Responder::free_ordered() noexcept {
  for (Ordered& each : ordered_)
    if (!each.used) return &each;
  try {
    return &ordered_.emplace_back();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

// READs, atomics and FLUSHes look at memory, so they wait until everything before them has arrived.
Responder::Placed Responder::hold_ordered(Context& cx, const Packet& packet, uint8_t* passing) {
  const Question question(packet);
  const size_t held = held_ordered();
  if (held >= ordered_max_) {
    refuse(packet.bth.psn, Aeth::kNakInvalidRequest, false, passing);  // more than agreed on
    return Placed::kRecorded;
  }
  if ((cx.connection.remote_access & question.right()) == 0) {
    refuse(packet.bth.psn, Aeth::kNakRemoteAccess, false, passing);
    return Placed::kRecorded;
  }
  // The requester knows that an answer has arrived before we know it, and asks for more: as if it were lost.
  Ordered* const free = free_ordered();
  if (free == nullptr || !answers_->owed.make_room(held + 1)) return Placed::kDropped;
  *free = {true, packet.bth.psn, packet.meth.msn, question};
  *passing |= ReceiveWindow::kOrdered;
  return Placed::kRecorded;
}

void Responder::carry_out_ordered(Context& cx, Psn psn) {
  const auto entry = std::find_if(ordered_.begin(), ordered_.end(),
                                  [psn](const Ordered& each) { return each.used && each.psn == psn; });
  const Ordered ordered = *entry;
  entry->used = false;
  uint64_t before = 0;
  const uint8_t syndrome = carry_out(cx, ordered.question, &before);
  if (syndrome != Aeth::kAck) {
    nak_ = ResponderFault{psn, syndrome, false};
    return;
  }
  const Reth& reth = ordered.question.reth;
  if (ordered.question.reads())
    answers_->owed.push({false, ordered.msn, reth.message_bytes, reth.address, reth.key, 0, psn});
  else  // a FLUSH as well, without a result
    answers_->owed.push({true, ordered.msn, sizeof(uint64_t), 0, MemoryKey{}, before, psn});
}

// Data that answer a READ or atomic of ours.
Responder::Placed Responder::place_answer(Context& cx, const Packet& packet, uint8_t* passing) {
  const auto index = answers_->awaited.find(packet.meth.msn);
  if (!index) {
    refuse(packet.bth.psn, Aeth::kNakInvalidRequest, false, passing);
    return Placed::kRecorded;
  }
  const Psn psn = packet.bth.psn;
  const bool ends = is_message_end(packet.bth.opcode);
  const auto above = static_cast<uint64_t>(psn - window_.expected());
  if (ends && !answer_msn_.make_room(window_.expected().value(), above + 1)) return Placed::kDropped;
  const SendRequest& request = cx.send_queue.at(*index);
  const bool fits =
      packet.bth.opcode == Opcode::kAtomicAcknowledge
          ? request.operation != Operation::kRead &&
                (!brings_data(request.operation) || place_result(cx, request, packet.atomic_ack.original))
          : request.operation == Operation::kRead && packet.reth.message_bytes == request.bytes &&
                packet.reth.address + packet.payload.size() <= request.bytes &&
                place_read_data(cx, request, packet.reth.address, packet.payload);
  if (!fits) {
    refuse(psn, Aeth::kNakRemoteOperation, false, passing);
    return Placed::kRecorded;
  }
  answers_->awaited.count_placed();
  if (ends) {
    *passing |= ReceiveWindow::kEndsAnswer;
    answer_msn_.at(psn.value()) = packet.meth.msn;
  }
  return Placed::kRecorded;
}

// ------------------------------------------------------------------------------------------- in order

void Responder::refuse(Psn psn, uint8_t syndrome, bool in_receive, uint8_t* passing) {
  if (!fault_ || psn < fault_->psn) fault_ = ResponderFault{psn, syndrome, in_receive};
  *passing |= ReceiveWindow::kFaulty;
}

void Responder::advance(Context& cx, Requester& requester) {
  while (!nak_) {
    if (held_ != nullptr && waits_for_held()) [[unlikely]]
      return;
    const uint8_t passing = window_.pass();
    if (passing == ReceiveWindow::kNothing) return;
    const Psn psn = window_.cumulative();
    if ((passing & ReceiveWindow::kFaulty) != 0) {
      nak_ = fault_;
      return;
    }
    if ((passing & ReceiveWindow::kConsumesReceive) != 0) deliver_receive(cx, psn);
    if ((passing & ReceiveWindow::kOrdered) != 0) carry_out_ordered(cx, psn);
    if (nak_) return;
    if ((passing & ReceiveWindow::kEndsAnswer) != 0) requester.on_answer(cx, answer_msn_.at(psn.value()));
    pass(psn, (passing & ReceiveWindow::kEndsMessage) != 0, (passing & ReceiveWindow::kAckRequested) != 0);
  }
}

}  // namespace mrc
