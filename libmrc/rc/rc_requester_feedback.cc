// SPDX-License-Identifier: BSD-2-Clause
// What the requester of plain RC learns from the peer's answers, and what it does when none comes.
#include <algorithm>

#include "libmrc/rc/rc_requester.h"
#include "libmrc/work/answer_data.h"
#include "libmrc/work/refusal.h"

namespace mrc {

// ---------------------------------------------------------------------------------------- acknowledgements

void RcRequester::on_acknowledge(Context& cx, const Packet& packet) {
  const Psn psn = packet.bth.psn;
  const Aeth& aeth = packet.aeth;
  if (psn >= next_) {
    ++cx.services.counters.drops_bad_control;  // IBTA 9.7.6: it speaks of what was never sent ("ghost")
    return;
  }
  if (aeth.is_ack()) {
    ++cx.services.counters.acks_received;
    if (!acknowledge_up_to(cx, psn)) implied_nak(cx);
    return;
  }
  ++cx.services.counters.naks_received;
  if (psn < oldest_) return;  // an old one
  // IBTA 9.7.5: a NAK acknowledges what was before it.
  if (!acknowledge_up_to(cx, psn - 1)) {
    // The end is coming, but what was read before it may have been lost: one more try.
    if (!aeth.is_rnr_nak() && aeth.syndrome != Aeth::kNakSequenceError && refused_) {
      requests_.fail(status_of_refusal(aeth.syndrome));
    } else {
      refused_ = !aeth.is_rnr_nak() && aeth.syndrome != Aeth::kNakSequenceError;
      implied_nak(cx);
    }
    return;
  }
  if (failure()) return;
  if (aeth.is_rnr_nak()) {
    on_not_ready(cx, aeth.rnr_timer());
  } else if (aeth.syndrome == Aeth::kNakSequenceError) {
    // IBTA 9.7.6: go back. While the receiver is not ready its time is not up yet.
    if (!not_ready_.waits(cx.now)) retry_from_oldest(cx, RetransmitCause::kGap);
  } else {
    requests_.fail(status_of_refusal(aeth.syndrome));
  }
}

// IBTA 9.7.5: one acknowledgement speaks for everything up to its PSN, but not for READs and atomics,
// which are acknowledged by their answer. False: one of those stands in the way, its answer is missing.
bool RcRequester::acknowledge_up_to(Context& cx, Psn psn) {
  const Psn before = oldest_;
  bool whole = true;
  while (busy() && oldest_ <= psn && !failure()) {
    const SendRequest& request = cx.send_queue.at(cx.send_queue.head());
    if (awaits_answer(request.operation)) {
      whole = false;
      break;
    }
    if (psn < request.last_psn) {
      oldest_ = psn + 1;
      break;
    }
    oldest_ = request.last_psn + 1;
    finish_oldest(cx);
  }
  if (oldest_ != before) progressed(cx);
  return whole;
}

// The oldest request is done: in order, because PSNs are.
void RcRequester::finish_oldest(Context& cx) {
  if (awaits_answer(cx.send_queue.at(cx.send_queue.head()).operation)) --answers_awaited_;
  requests_.complete_oldest(cx);
}

void RcRequester::progressed(Context& cx) {
  heard_ = true;
  // What it went back for has arrived after all.
  if (at_ < oldest_) {
    at_ = oldest_;
    cursor_ = cx.send_queue.head();
  }
  // IBTA 9.9.2: the counters of retries start over when something new is acknowledged.
  retry_.progress();
  refused_ = false;
  not_ready_.progress();
  unmoved_.restart(cx.now);
  repeated_ = 0;
  if (repeat_limit_ < window_) repeat_limit_ *= 2;
}

// ------------------------------------------------------------------------------------------------ answers

void RcRequester::on_answer(Context& cx, const Packet& packet) {
  const Psn psn = packet.bth.psn;
  if (psn >= next_) {
    ++cx.services.counters.drops_bad_control;
    return;
  }
  if (psn < oldest_) {
    ++cx.services.counters.duplicates;
    return;
  }
  // IBTA 9.7.5: an answer acknowledges the requests before its own, but not another's answer.
  if (psn > oldest_ && !acknowledge_up_to(cx, psn - 1)) {
    implied_nak(cx);
    return;
  }
  if (failure() || psn != oldest_) return;
  const SendRequest& request = cx.send_queue.at(cx.send_queue.head());
  if (!awaits_answer(request.operation)) {
    ++cx.services.counters.drops_bad_control;
    return;
  }
  if (!place_answer(cx, request, packet)) return;
  const bool last = psn == request.last_psn;
  ++oldest_;
  --answer_psns_;
  if (last) finish_oldest(cx);
  progressed(cx);
}

// IBTA 9.7.5: packets of a response come in the order of their PSNs, each a full path MTU but the last.
bool RcRequester::place_answer(Context& cx, const SendRequest& request, const Packet& packet) {
  const bool atomic_ack = packet.bth.opcode == Opcode::kRcAtomicAcknowledge;
  if (!brings_data(request.operation)) {
    // IBTA A19: ATOMIC WRITE and FLUSH are answered by a READ response without data.
    if (!atomic_ack && packet.payload.empty() && is_message_end(packet.bth.opcode)) return true;
    requests_.fail(CompletionStatus::kRemoteOperationError);
    return false;
  }
  if (atomic_ack != (request.operation != Operation::kRead)) {
    requests_.fail(CompletionStatus::kRemoteOperationError);
    return false;
  }
  bool placed;
  if (atomic_ack) {
    placed = place_result(cx, request, packet.atomic_ack.original);
  } else {
    const Psn psn = packet.bth.psn;
    const uint32_t offset = static_cast<uint32_t>(psn - request.first_psn) * cx.connection.mtu;
    const uint32_t bytes = std::min(cx.connection.mtu, request.bytes - offset);
    if (packet.payload.size() != bytes || is_message_end(packet.bth.opcode) != (psn == request.last_psn)) {
      requests_.fail(CompletionStatus::kLocalLengthError);
      return false;
    }
    placed = place_read_data(cx, request, offset, packet.payload);
  }
  if (!placed) requests_.fail(CompletionStatus::kLocalProtectionError);
  return placed;
}

// ------------------------------------------------------------------------------------------- going back

void RcRequester::go_back(Context& cx, RetransmitCause cause) {
  if (!busy()) return;
  at_ = oldest_;
  cursor_ = cx.send_queue.head();
  cause_ = cause;
  unmoved_.restart(cx.now);
  repeated_ = 0;
  repeat_limit_ = UINT32_MAX;
}

void RcRequester::count_retransmit(Context& cx) {
  Counters& counters = cx.services.counters;
  ++(cause_ == RetransmitCause::kTimeout    ? counters.retransmits_timeout
     : cause_ == RetransmitCause::kNotReady ? counters.retransmits_not_ready
                                            : counters.retransmits_sequence);
  ++retransmits_[static_cast<size_t>(cause_)];
}

// IBTA 9.9.2: sequence errors and timeouts use up the same counter.
void RcRequester::retry_from_oldest(Context& cx, RetransmitCause cause) {
  if (!retry_.charge()) {
    ++cx.services.counters.retry_exceeded;
    requests_.fail(CompletionStatus::kRetryExceeded);
    return;
  }
  go_back(cx, cause);
}

// IBTA 9.7.6, implied NAK: what came later was answered, but the oldest READ or atomic was not. Everything
// behind it says so too; it is asked for again once, and then only by the timer.
void RcRequester::implied_nak(Context& cx) {
  if (failure() || (implied_at_ && *implied_at_ == oldest_) || not_ready_.waits(cx.now)) return;
  implied_at_ = oldest_;
  retry_from_oldest(cx, RetransmitCause::kGap);
}

// IBTA 9.7.5, RNR NAK: nothing from this packet on was kept; it comes again after the peer's delay.
void RcRequester::on_not_ready(Context& cx, uint8_t timer) {
  if (not_ready_.waits(cx.now) || !busy()) return;
  if (!not_ready_.take(cx, timer)) {
    requests_.fail(CompletionStatus::kRnrRetryExceeded);
    return;
  }
  // The peer is alive. Soft-RoCE reports what followed as out of sequence each time, which is no failed
  // attempt.
  retry_.progress();
  go_back(cx, RetransmitCause::kNotReady);
  unmoved_.restart(not_ready_.until());
}

// IBTA 9.7.6: the transport timer runs for the oldest packet that is not acknowledged. Often nothing is lost
// but an acknowledgement, or the peer is slow: to repeat all that is under way would only make it slower. One
// packet asks how far it is, and from there it goes on with twice as many at every answer.
void RcRequester::on_timer(Context& cx) {
  if (failure()) return;
  not_ready_.on_timer(cx.now);
  const Nanoseconds timeout = retry_.timeout();
  if (!waits() || timeout == 0 || not_ready_.until() != 0 || cx.now < unmoved_.since() + timeout) return;
  unmoved_.restart(cx.now);
  implied_at_.reset();
  retry_from_oldest(cx, RetransmitCause::kTimeout);
  repeat_limit_ = 1;
}

// The port has no room for the peer, or knows no next hop. If nothing is under way no other timer runs.
void RcRequester::hold_up(const Context& cx) {
  if (held_up_) return;
  if (!busy()) unmoved_.restart(cx.now + (heard_ ? 0 : kLinkPatience));
  held_up_ = true;
}

Nanoseconds RcRequester::next_deadline() const {
  if (failure()) return kNever;
  if (not_ready_.until() != 0) return not_ready_.until();
  return waits() && retry_.timeout() != 0 ? unmoved_.since() + retry_.timeout() : kNever;
}

void RcRequester::flush(Context& cx, CompletionStatus first) {
  requests_.flush(cx, first);
  cursor_ = requests_.next();
  oldest_ = at_ = next_;
  answers_awaited_ = answer_psns_ = 0;
  held_up_ = false;
}

}  // namespace mrc
