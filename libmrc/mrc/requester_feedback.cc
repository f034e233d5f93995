// SPDX-License-Identifier: BSD-2-Clause
// What the requester learns from the peer's answers.
#include <algorithm>

#include "libmrc/mrc/requester.h"
#include "libmrc/work/refusal.h"

namespace mrc {

namespace {
constexpr uint32_t kReorderScaleMax = 64;
constexpr Nanoseconds kPausesInRoundTrip = 4;  // what is longer was not made by the pause
// Of the cumulative PSN in what the peer says. It may come late, but not by many windows.
constexpr int32_t kPsnAgeMax = 1 << 17;

// MRC 1.7: over IPv4 only the low half of an EV travels. Peers may take either half for the high one.
bool echoes(const Context& cx, PathId path, Entropy entropy) {
  const uint32_t mask = cx.connection.destination.is_v4() ? 0xFFFF : 0xFFFFFFFF;
  const auto sent = static_cast<uint32_t>(cx.paths.at(path).entropy);
  return ((sent ^ static_cast<uint32_t>(entropy)) & mask) == 0 ||
         ((sent ^ static_cast<uint32_t>(swap_halves(entropy))) & mask) == 0;
}
}  // namespace

bool Requester::is_timestamp_of(const SentPacket& sent, uint16_t timestamp) const {
  return to_wire_timestamp(sent.sent_at, config_->coarse_timestamps) == timestamp;
}

// Whoever cannot see our packets does not know where the PSNs are.
bool Requester::was_sent(Psn psn) const {
  const int32_t behind = sent_.next() - psn;
  return behind > 0 && behind <= kPsnAgeMax;
}

// If all that is missing is a completion, the peer is alive and may take its time: an answer may be long, and
// many may stand before it. But not for ever: whoever acknowledges all and answers nothing is asked less and
// less, and in the end uses up the retries like one who is silent.
void Requester::heard(Context& cx) {
  quiet_.restart(cx.now);
  if (answers_->awaited.placed() != answers_placed_) {
    answers_placed_ = answers_->awaited.placed();
    moved_at_ = cx.now;
  }
  if (sent_.outstanding() > 0 || stranded_ || held_up_ || moved_at_ > asked_at_) silences_ = 0;
  if (sent_.outstanding() > 0 || stranded_ || held_up_) return;
  if (!may_take_its_time(cx.now)) return;
  unmoved_.restart(cx.now);
  retry_.progress();
}

// ------------------------------------------------------------------------------------------------- SACK

// Notes that a packet arrived. Only one of which no copy can be meant tells by which path it came.
[[gnu::always_inline]] inline bool Requester::credit(Context& cx, Psn psn) {
  const SentPacket& packet = sent_.at(psn);
  const bool in_flight = packet.state == PacketState::kInFlight;
  if (!sent_.deliver(psn)) return false;
  ++newly_packets_;
  if (in_flight) newly_bytes_ += nominal_size(packet.bytes);
  // MRC 3.3 (b): known too soon to have come with the retransmission, so an earlier copy was only late.
  const bool too_soon = packet.transmissions > 1 && in_flight && cx.now - packet.sent_at < rtt_.least();
  if (too_soon) needless(cx.now);
  if (packet.vanished && in_flight && !too_soon) note_loss(cx);
  if (packet.copied_after != 0) {
    note_lateness(cx, packet);
    if (!is_news_of_first(packet, cx.now)) {
      if (packet.suspect) cx.paths.settled(packet.path);  // whichever it was
      return true;
    }
  } else if (copies_help(cx)) [[unlikely]] {
    note_lateness(cx, packet);
  }
  if (packet.transmissions == 1) {
    arrived(cx, packet.path, packet.order);
    newest_delivery_ = std::max(newest_delivery_, packet.sent_at);
    // Also what this host slept through: rather too long than too short. But what nobody missed may have been
    // there for long, and the SACK that told it was lost.
    const Nanoseconds took = cx.now - packet.sent_at;
    const Nanoseconds usual = 2 * rtt_.smoothed();
    if (took <= usual || packet.suspect)
      plane_rtt_.sample(packet.plane, took);
    else
      plane_rtt_.at_least(packet.plane, usual);
  }
  return true;
}

bool Requester::taken_for_lost(Psn psn) const {
  if (!sent_.contains(psn) && !sent_.remembers(psn)) return false;
  return sent_.at(psn).transmissions > 1 || sent_.at(psn).state == PacketState::kLost;
}

// Waits longer the next time before it takes a packet for lost.
void Requester::needless(Nanoseconds now) {
  reorder_scale_ = std::min(2 * reorder_scale_, kReorderScaleMax);
  last_needless_ = now;
}

[[gnu::hot]] void Requester::credit_up_to(Context& cx, Psn psn) {
  if (psn < sent_.oldest()) return;
  for (Psn at = sent_.oldest(); at <= psn; ++at) credit(cx, at);
  sent_.advance(psn);
  // Answers that have arrived as a whole need not be kept.
  uint64_t answered = answers_->owed.head();
  const uint64_t outstanding = sent_.outstanding() > 0 ? sent_.at(sent_.oldest()).request : message_;
  for (uint64_t number = oldest_message_; number != outstanding; ++number)
    if (message_at(number).is_response) answered = message_at(number).index + 1;
  oldest_message_ = outstanding;
  answers_->owed.release(answered);
  retry_.progress();
  not_ready_.progress();
  unmoved_.restart(cx.now);
  moved_at_ = cx.now;
}

// Hands what was credited to congestion control. Every byte in flight is taken back exactly once, here or
// when its packet is lost.
void Requester::tell_control(Context& cx, SackSignal signal) {
  signal.now = cx.now;
  signal.newly_bytes = newly_bytes_;
  newly_bytes_ = 0;
  control_->on_sack(signal);
}

// MRC 12.R8, 3.2: what SACKs tell is put together; find_losses() looks for what none of them does.
void Requester::on_sack(Context& cx, const Packet& packet) {
  const Sack& sack = packet.sack;
  if (!was_sent(sack.cumulative_psn) ||
      !names_connection(cx.connection, sack.source_qpn_low, sack.destination_qpn_low)) {
    ++cx.services.counters.drops_bad_control;
    return;
  }
  ++cx.services.counters.sacks_received;
  cx.note(TraceEvent::kSack, sack.cumulative_psn, kNoPath, sack.out_of_order);
  heard(cx);
  // SACKs are sprayed too and overtake each other: only the newest may speak of what is missing.
  const uint32_t age = (received_units_ - sack.received_units) & 0xFFFFFF;
  const bool fresh = !sack_seen_ || age == 0 || age > 0x800000;
  if (fresh) received_units_ = sack.received_units;
  // MRC 2, SPEC 7.5.1: the newest word of the responder counts; it may shrink.
  const uint32_t welcome = std::min(sack.mpr * kMprUnit, cx.connection.send_mpr);
  if (fresh && cx.connection.dynamic_mpr && sack.mpr != 0 && mpr_ != welcome) {
    mpr_ = welcome;
    cx.note(TraceEvent::kMpr, sack.cumulative_psn, kNoPath, mpr_);
  }
  sack_seen_ = true;

  newest_rtt_ = 0;
  newly_packets_ = 0;
  learn_from_trigger(cx, packet);
  credit_up_to(cx, sack.cumulative_psn);
  const Psn base = sack.cumulative_psn + sack.bitmap_offset;
  for (uint64_t bits = sack.bitmap; bits != 0; bits &= bits - 1) {
    const Psn psn = base + __builtin_ctzll(bits);
    if (sent_.contains(psn)) credit(cx, psn);
  }
  if (newly_packets_ > 1) cx.paths.unmarked(newly_packets_ - 1);
  SackSignal signal;
  signal.rtt = newest_rtt_;
  signal.short_packet = newest_rtt_short_;
  signal.ce = sack.mark == PathMark::kSkipOnce;
  signal.penalty = sack.window_penalty;
  signal.restore = sack.restore_window;
  tell_control(cx, signal);
  // An acknowledgement that has overtaken this SACK knows more than it does.
  if (fresh && sack.cumulative_psn + 1 == sent_.oldest()) find_losses(cx, sack);
}

// A round trip, or 0 if this host was away for a good part of it: what it slept through is no property of the
// network.
[[gnu::hot]] Nanoseconds Requester::measure(Nanoseconds now, Nanoseconds sent_at) {
  if (sent_at < awake_since_ && now - sent_at < kPausesInRoundTrip * away_) return 0;
  rtt_.sample(now - sent_at);
  return now - sent_at;
}

// The packet that made the responder send this SACK: its path works, and its round trip can be measured.
void Requester::learn_from_trigger(Context& cx, const Packet& packet) {
  const Sack& sack = packet.sack;
  PathId path = kNoPath;
  if (sack.answers_probe) {
    if (probes_.empty()) return;
    Probe& probe = probes_[sack.trigger % probes_.size()];
    if (probe.path == kNoPath || probe.id != sack.trigger) return;
    ++cx.services.counters.probes_answered;
    path = probe.path;
    arrived(cx, path, probe.order);
    if (cx.paths.plane_answered(cx.paths.at(path).plane, probe.sent_at, cx.now))
      ++cx.services.counters.port_updates_refuted;
    newest_delivery_ = std::max(newest_delivery_, probe.sent_at);
    newest_rtt_ = measure(cx.now, probe.sent_at);
    newest_rtt_short_ = true;
    plane_rtt_.sample(cx.paths.at(path).plane, cx.now - probe.sent_at);
    probe.path = kNoPath;
    cx.note(TraceEvent::kProbeAnswered, sack.cumulative_psn, path, static_cast<uint32_t>(newest_rtt_));
    if (sack.mark != PathMark::kAlwaysSkip &&
        cx.paths.probe_answered(path, cx.now, sack.mark == PathMark::kSkipOnce, newest_rtt_)) {
      ++cx.services.counters.paths_restored;
      cx.note(TraceEvent::kPathGood, sack.cumulative_psn, path);
    }
  } else {
    const Psn psn = sack.cumulative_psn + static_cast<int16_t>(sack.trigger);
    const bool again = packet.bth.retransmission;
    // MRC 3.3 (b): the first copy has come after all. (A SACK that says "duplicate" proves less: the network
    // duplicates, and SACKs overtake each other.)
    if (!again && taken_for_lost(psn)) needless(cx.now);
    if (!sent_.contains(psn)) return;
    const SentPacket& sent = sent_.at(psn);
    if (again && sent.copied_after != 0) on_news_of_copy(cx, sent);
    if (!echoes(cx, sent.path, sack.entropy)) return;
    // MRC 3.4: sent once, or once more; or the reflected timestamp says that it was the last copy.
    if (sent.transmissions == (again ? 2 : 1) || (again && is_timestamp_of(sent, sack.timestamp))) {
      path = sent.path;
      arrived(cx, path, sent.order);
      newest_delivery_ = std::max(newest_delivery_, sent.sent_at);
      newest_rtt_ = measure(cx.now, sent.sent_at);
      plane_rtt_.sample(sent.plane, cx.now - sent.sent_at);
      newest_rtt_short_ = sent.bytes < cx.connection.mtu;
    }
  }
  if (path == kNoPath) return;
  cx.paths.marked(path, sack.mark == PathMark::kSkipOnce);
  cx.paths.set_rtt(rtt_.smoothed());
  if (sack.mark == PathMark::kAlwaysSkip && cx.paths.demote(path, cx.now)) {
    ++cx.services.counters.paths_demoted;
    cx.note(TraceEvent::kPathBad, sack.cumulative_psn, path);
  }
}

// ------------------------------------------------------------------------------------------------- NACK

// A NACK echoes EV and timestamp. One that speaks of an earlier copy, or comes twice, says nothing of the one
// that is under way: believing it would turn every trim into more than one retransmission, without end.
bool Requester::names_last_transmission(const Context& cx, const Neth& neth) const {
  const SentPacket& sent = sent_.at(neth.psn);
  return echoes(cx, sent.path, neth.entropy) && is_timestamp_of(sent, neth.timestamp);
}

void Requester::on_nack(Context& cx, const Packet& packet) {
  const Neth& neth = packet.neth;
  if (!names_connection(cx.connection, neth.source_qpn_low, neth.destination_qpn_low)) {
    ++cx.services.counters.drops_bad_control;
    return;
  }
  ++cx.services.counters.nacks_received;
  ++cx.services.counters.nacks_received_by[nack_index(neth.reason)];
  cx.note(TraceEvent::kNack, neth.psn, kNoPath, static_cast<uint32_t>(neth.reason));
  if (!sent_.contains(neth.psn) || !names_last_transmission(cx, neth)) {
    ++cx.services.counters.nacks_stale;
    return;
  }
  heard(cx);
  if (neth.reason == NackReason::kUnexpectedEvent) {
    requests_.fail(CompletionStatus::kRemoteOperationError);
    return;
  }
  if (!sent_.lose(neth.psn)) return;
  settle(cx.paths, neth.psn);
  // MRC 12.R9, 1.5: repeat at once; only a trim in the core says something about the path.
  ++cx.services.counters.retransmits_nack;
  const PathId path = sent_.at(neth.psn).path;
  cx.note(TraceEvent::kLostNack, neth.psn, path);
  if (neth.reason == NackReason::kTrimmed) cx.paths.trimmed(path);
  const bool last_hop = neth.reason == NackReason::kTrimmedLastHop;
  const bool trimmed = neth.reason == NackReason::kTrimmed || last_hop;
  cx.services.counters.retransmits_trimmed += trimmed ? 1 : 0;
  count_retransmit(cx, trimmed ? RetransmitCause::kTrim : RetransmitCause::kNack, path);
  const uint64_t bytes = nominal_size(sent_.at(neth.psn).bytes);
  if (trimmed && neth.vendor_info != 0) control_->on_degree(cx.now, neth.vendor_info);
  trimmed ? control_->on_trim_nack(cx.now, bytes, last_hop) : control_->on_resource_nack(bytes);
  if (!trimmed && !retry_.charge()) {
    ++cx.services.counters.retry_exceeded;
    requests_.fail(CompletionStatus::kRetryExceeded);
  }
}

// -------------------------------------------------------------------------------------------------- ACK

[[gnu::hot]] void Requester::on_acknowledge(Context& cx, const Packet& packet) {
  const Psn psn = packet.bth.psn;
  if (!was_sent(psn)) {
    ++cx.services.counters.drops_bad_control;  // it speaks of what was never sent
    return;
  }
  heard(cx);
  cx.note(TraceEvent::kAcknowledge, psn, kNoPath, packet.aeth.syndrome);
  if (!packet.aeth.is_nak() && !packet.aeth.is_rnr_nak()) {
    ++cx.services.counters.acks_received;
    // It may stand for a SACK, so it brings a round-trip sample like one.
    SackSignal signal;
    if (sent_.contains(psn) && sent_.at(psn).state == PacketState::kInFlight &&
        sent_.at(psn).transmissions == 1) {
      signal.rtt = measure(cx.now, sent_.at(psn).sent_at);
      signal.short_packet = sent_.at(psn).bytes < cx.connection.mtu;
      cx.paths.set_rtt(rtt_.smoothed());
    } else if (done_by_message_sent_at_ != 0 && psn == done_by_message_) {
      signal.rtt = measure(cx.now, done_by_message_sent_at_);
      signal.short_packet = true;
      cx.paths.set_rtt(rtt_.smoothed());
    }
    done_by_message_sent_at_ = 0;
    credit_up_to(cx, psn);
    tell_control(cx, signal);
    acknowledged(cx, psn);
    return;
  }
  ++cx.services.counters.naks_received;
  // A NAK acknowledges what was before it.
  credit_up_to(cx, psn - 1);
  tell_control(cx, {});
  acknowledged(cx, psn - 1);
  if (packet.aeth.is_rnr_nak()) {
    on_receiver_not_ready(cx, psn, packet.aeth.rnr_timer());
    return;
  }
  const uint64_t head = cx.send_queue.head();
  if (unfinished_ == 0 || psn < cx.send_queue.at(head).first_psn) return;  // an old one
  requests_.fail(status_of_refusal(packet.aeth.syndrome));
}

// The peer had no receive request: nothing from this packet on was kept. It says nothing about the paths.
void Requester::on_receiver_not_ready(Context& cx, Psn psn, uint8_t timer) {
  if (!sent_.contains(psn) || sent_.at(psn).state == PacketState::kDelivered || not_ready_.waits(cx.now))
    return;
  if (!not_ready_.take(cx, timer)) {
    requests_.fail(CompletionStatus::kRnrRetryExceeded);
    return;
  }
  for (Psn at = psn; at < sent_.next(); ++at)
    if (sent_.lose(at)) {
      settle(cx.paths, at);
      ++cx.services.counters.retransmits_not_ready;
      ++retransmits_[static_cast<size_t>(RetransmitCause::kNotReady)];
      cx.note(TraceEvent::kLostNotReady, at);
      control_->forget(nominal_size(sent_.at(at).bytes));
    }
  restart_timers(not_ready_.until());
}

// No round trip is measured: the peer's program took its time in between.
void Requester::on_done_word(Context& cx, uint32_t word) {
  const Psn psn(word & 0xFFFFFF);
  if (word >> 24 != ResponseQueue::kDoneFlag >> 24 || control_ == nullptr || !was_sent(psn)) return;
  if (psn < sent_.oldest() && acknowledged_ && psn <= *acknowledged_) return;
  heard(cx);
  if (sent_.contains(psn) && sent_.at(psn).state == PacketState::kInFlight &&
      sent_.at(psn).transmissions == 1) {
    done_by_message_ = psn;
    done_by_message_sent_at_ = sent_.at(psn).sent_at;
  }
  credit_up_to(cx, psn);
  tell_control(cx, {});
  acknowledged(cx, psn);
}

[[gnu::hot]] void Requester::acknowledged(Context& cx, Psn psn) {
  if (!acknowledged_ || psn > *acknowledged_) acknowledged_ = psn;
  complete_ready(cx);
}

void Requester::on_answer(Context& cx, uint16_t msn) {
  const auto index = answers_->awaited.find(msn);
  if (!index) return;
  SendRequest& request = cx.send_queue.at(*index);
  request.answered = true;
  answers_->awaited.remove(msn);
  heard(cx);
  // It was carried out in its turn: everything up to it has arrived and is done.
  credit_up_to(cx, request.last_psn);
  tell_control(cx, {});
  acknowledged(cx, request.last_psn);
}

// --------------------------------------------------------------------------------------------- completing

// MRC 12.R13, 2: completions fire on the transport acknowledgement, in order; READ and atomics on their
// answer.
void Requester::complete_ready(Context& cx) {
  uint64_t head = cx.send_queue.head();
  while (head != requests_.next()) {
    const SendRequest& request = cx.send_queue.at(head);
    const bool ready = awaits_answer(request.operation) ? request.answered
                                                        : acknowledged_ && request.last_psn <= *acknowledged_;
    if (!ready) break;
    if (consumes_receive(request.operation)) --consuming_;
    --unfinished_;
    --unanswered_;
    requests_.complete_oldest(cx);
    moved_at_ = cx.now;
    ++head;
  }
}

void Requester::abandon(PathSet& paths) {
  if (control_ == nullptr) return;
  const Psn next = sent_.next();
  for (Psn psn = sent_.oldest(); psn < next; ++psn) {
    if (sent_.at(psn).state != PacketState::kInFlight) continue;
    settle(paths, psn);
    control_->forget(nominal_size(sent_.at(psn).bytes));
  }
  sent_.reset(config_->window_packets, next);
  forget_copies(next);
  copy_at_ = kNever;
  copies_due_ = false;
}

void Requester::flush(Context& cx, CompletionStatus first) {
  abandon(cx.paths);
  requests_.flush(cx, first);
  started_ = stranded_ = held_up_ = false;
  unfinished_ = unanswered_ = 0;
  consuming_ = 0;
  next_response_ = answers_->owed.tail();
  answers_->owed.release(next_response_);
  oldest_message_ = message_;
}

}  // namespace mrc
