// SPDX-License-Identifier: BSD-2-Clause
// What the requester learns from the peer's answers.
#include <algorithm>

#include "libmrc/mrc/requester.h"
#include "libmrc/work/request_completion.h"
#include "libmrc/work/rnr_timer.h"

namespace mrc {

namespace {
constexpr uint32_t kReorderScaleMax = 64;
constexpr Nanoseconds kReorderScaleDecay = 200 * kMillisecond;
constexpr Nanoseconds kPausesInRoundTrip = 4;  // what is longer was not made by the pause
constexpr uint64_t kOutOfOrderMin = 5;         // MRC 3.3
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
[[gnu::hot]] bool Requester::credit(Context& cx, Psn psn) {
  const SentPacket& packet = sent_.at(psn);
  const bool in_flight = packet.state == PacketState::kInFlight;
  if (!sent_.deliver(psn)) return false;
  ++newly_packets_;
  if (in_flight) newly_bytes_ += nominal_size(packet.bytes);
  // MRC 3.3 (b): known too soon to have come with the retransmission, so an earlier copy was only late.
  const bool too_soon = packet.transmissions > 1 && in_flight && cx.now - packet.sent_at < rtt_.least();
  if (too_soon) needless(cx.now);
  if (packet.vanished && in_flight && !too_soon) note_loss(cx);
  if (packet.copied && !is_news_of_first(packet, cx.now)) {
    if (packet.suspect) cx.paths.settled(packet.path);  // whichever it was
  } else if (packet.transmissions == 1) {
    cx.paths.delivered(packet.path, packet.order);
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
  not_ready_count_ = 0;
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
  next_path_probe_ = cx.paths.next_probe();
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
    cx.paths.delivered(path, probe.order);
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
    if (again && sent.copied) on_news_of_copy(cx, sent);
    if (!echoes(cx, sent.path, sack.entropy)) return;
    // MRC 3.4: sent once, or once more; or the reflected timestamp says that it was the last copy.
    if (sent.transmissions == (again ? 2 : 1) || (again && is_timestamp_of(sent, sack.timestamp))) {
      path = sent.path;
      cx.paths.delivered(path, sent.order);
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

// Nothing has arrived that was sent after the oldest that has not: there is nothing to find. The oldest was
// sent before all others, unless it was sent again.
bool Requester::nobody_overtaken(const Context& cx, const Sack& sack) const {
  if ((sack.bitmap | sack.out_of_order) != 0 || sack.answers_probe || !suspects_.empty()) return false;
  const SentPacket& oldest = sent_.at(sent_.oldest());
  return oldest.transmissions == 1 && oldest.order > cx.paths.delivered_order() &&
         oldest.sent_at >= newest_delivery_;
}

// MRC 12.R8, 3.2: a zero inside the bitmap, and the PSN behind the cumulative one, are the only evidence of
// loss.
void Requester::find_losses(Context& cx, const Sack& sack) {
  if (sent_.in_flight() == 0 || nobody_overtaken(cx, sack)) return;
  const Psn base = sack.cumulative_psn + sack.bitmap_offset;
  const uint64_t bitmap = sack.bitmap;
  if (base > sent_.oldest() && sent_.outstanding() > 0) {
    judge(cx, sent_.oldest());
    if (bitmap != 0) suspect(sent_.oldest());
  }
  for (uint64_t missing = ~bitmap; missing != 0; missing &= missing - 1) {
    const Psn psn = base + __builtin_ctzll(missing);
    if (psn >= sent_.next()) break;
    if (!sent_.contains(psn)) continue;
    judge(cx, psn);
    if (bitmap >> __builtin_ctzll(missing) != 0) suspect(psn);
  }
  if (sack.answers_probe) judge_unheard(cx, sack.out_of_order);
  judge_suspects(cx);
  judge_by_count(cx, sack.out_of_order);
}

// MRC 3.2: a bitmap shows 64 packets, and what the peer has not got may lie far above the highest one that it
// has. But once all that it holds is known from merged bitmaps, everything else is a gap. Else what was lost
// behind a long window would fill the congestion window, until the timer, and nothing could be sent that
// would show it.
void Requester::judge_unheard(Context& cx, uint32_t out_of_order) {
  if (sent_.outstanding() - sent_.in_flight() - sent_.lost() != out_of_order) return;
  for (Psn psn = sent_.oldest(); psn < sent_.next(); ++psn) judge(cx, psn);
}

// Others have overtaken it: it will be looked at until it has arrived.
void Requester::suspect(Psn psn) {
  if (sent_.at(psn).suspect) return;
  try {
    suspects_.push_back(psn);
  } catch (const std::bad_alloc&) {
    return;  // then time tells
  }
  sent_.at(psn).suspect = true;
}

// MRC 3.3 (c): the peer holds more than a window above its first gap. However long packets may overtake each
// other, that one is not just late, unless its whole plane is.
void Requester::judge_by_count(Context& cx, uint32_t out_of_order) {
  const uint64_t window = std::max(control_->cwnd() * 3 / 2, control_->inflight());
  const uint64_t limit = std::min(window, control_->cwnd_max()) / nominal_size(cx.connection.mtu);
  if (out_of_order < reorder_scale_ * std::max(kOutOfOrderMin, limit) || sent_.outstanding() == 0) return;
  const SentPacket& oldest = sent_.at(sent_.oldest());
  if (oldest.transmissions == 1 && cx.now > oldest.sent_at + plane_rtt_.recent(oldest.plane))
    lose(cx, sent_.oldest(), &cx.services.counters.retransmits_out_of_order, TraceEvent::kLostOutOfOrder);
}

// MRC 3.2: successive bitmaps are merged. One shows only 64 packets of a window of thousands, and it may have
// shown a gap before it was old enough to be a loss; it will not be shown again until it is the oldest one.
void Requester::judge_suspects(Context& cx) {
  size_t kept = 0;
  uint32_t under_way = 0;
  Nanoseconds first_late = kNever;
  for (const Psn psn : suspects_) {
    if (!sent_.contains(psn)) continue;
    SentPacket& packet = sent_.at(psn);
    if (packet.state == PacketState::kDelivered) {
      packet.suspect = false;
      continue;
    }
    suspects_[kept++] = psn;
    if (packet.state != PacketState::kInFlight) continue;
    if (overtaken(cx, packet, reorder_window())) {
      lose(cx, psn, &cx.services.counters.retransmits_reordering, TraceEvent::kLostReordering);
      continue;
    }
    // To call it lost takes the whole window. A quarter is enough to leave its path alone until that is
    // known, for this costs nothing if it was wrong; nothing at all where the path has never carried
    // anything.
    const bool proven = cx.paths.at(packet.path).delivered_order != 0;
    if (overtaken(cx, packet, proven ? reorder_window() / 4 : 0)) cx.paths.overdue(packet.path);
    ++under_way;
    if (packet.transmissions == 1) first_late = std::min(first_late, late_at(packet));
  }
  suspects_.resize(kept);
  // If nothing else is under way, no later SACK will show that they are lost: then time does.
  suspects_late_at_ = under_way == sent_.in_flight() ? first_late : kNever;
}

void Requester::give_up_late_suspects(Context& cx) {
  for (const Psn psn : suspects_) {
    if (!sent_.contains(psn)) continue;
    const SentPacket& packet = sent_.at(psn);
    if (packet.transmissions == 1 && cx.now >= late_at(packet))
      lose(cx, psn, &cx.services.counters.retransmits_reordering, TraceEvent::kLostReordering);
  }
  judge_suspects(cx);
}

// MRC 3.3 (b): from here on a packet that others have overtaken is not just on a slow path.
Nanoseconds Requester::late_at(const SentPacket& packet) const {
  const Nanoseconds usual = rtt_.smoothed() + 4 * rtt_.variation();
  const Nanoseconds span = std::max(usual, plane_rtt_.recent(packet.plane)) + reorder_window();
  // Not for ever, where one pause follows the other.
  return std::max(packet.sent_at,
                  std::min(awake_since_, packet.sent_at + away_ + ExcusedTimer::kExcuses * span)) +
         span;
}

// MRC 3.3 (b): something that was sent much later has arrived, and others of its plane did not take so long.
bool Requester::overtaken(const Context& cx, const SentPacket& packet, Nanoseconds patience) const {
  return newest_delivery_ > packet.sent_at + patience &&
         cx.now > packet.sent_at + plane_rtt_.recent(packet.plane) + patience;
}

void Requester::judge(Context& cx, Psn psn) {
  const SentPacket& packet = sent_.at(psn);
  if (packet.state != PacketState::kInFlight) return;
  // MRC 3.3 (a): a path is a FIFO; what was sent later on it has arrived.
  if (packet.order < cx.paths.at(packet.path).delivered_order) {
    lose(cx, psn, &cx.services.counters.retransmits_same_path, TraceEvent::kLostSamePath);
  } else if (overtaken(cx, packet, reorder_window())) {
    lose(cx, psn, &cx.services.counters.retransmits_reordering, TraceEvent::kLostReordering);
  }
}

void Requester::lose(Context& cx, Psn psn, uint64_t* cause, TraceEvent why) {
  if (!sent_.lose(psn)) return;
  sent_.at(psn).vanished = true;
  ++*cause;
  cx.note(why, psn, sent_.at(psn).path);
  const bool silent = why == TraceEvent::kLostTimeout;
  count_retransmit(cx, silent ? RetransmitCause::kTimeout : RetransmitCause::kGap, sent_.at(psn).path);
  const uint64_t bytes = nominal_size(sent_.at(psn).bytes);
  silent ? control_->on_timeout(bytes) : control_->on_loss(bytes);
  if (cx.now - last_needless_ > kReorderScaleDecay && reorder_scale_ > 1) {
    reorder_scale_ /= 2;
    last_needless_ = cx.now;
  }
  const SentPacket& packet = sent_.at(psn);
  if (packet.sent_at < control_->excuses_losses_before()) return;
  if (!cx.paths.lost(packet.path, packet.order, packet.sent_at, cx.now)) return;
  ++cx.services.counters.paths_demoted;
  cx.note(TraceEvent::kPathBad, psn, packet.path);
}

void Requester::count_retransmit(Context& cx, RetransmitCause cause, PathId path) {
  ++retransmits_[static_cast<size_t>(cause)];
  cx.paths.count_retransmit(path, cause);
}

void Requester::on_port_down(Context& cx, Plane plane) {
  for (Psn psn = sent_.oldest(); psn < sent_.next(); ++psn) {
    if (sent_.at(psn).plane != plane || !sent_.lose(psn)) continue;
    ++cx.services.counters.retransmits_port_down;
    cx.note(TraceEvent::kLostPort, psn, sent_.at(psn).path);
    count_retransmit(cx, RetransmitCause::kPortDown, sent_.at(psn).path);
    control_->forget(nominal_size(sent_.at(psn).bytes));
  }
}

Nanoseconds Requester::reorder_window() const {
  // MRC 3.3 (b) [P]. What is later than a round trip with all its variation is not just late.
  const Nanoseconds once = std::max(config_->reorder_window_min, rtt_.smoothed() / 4);
  return std::min(once * reorder_scale_, std::max(once, rtt_.smoothed() + 4 * rtt_.variation()));
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
    failure_ = CompletionStatus::kRemoteOperationError;
    return;
  }
  if (!sent_.lose(neth.psn)) return;
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
    failure_ = CompletionStatus::kRetryExceeded;
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
    on_receiver_not_ready(cx, psn, packet.aeth.syndrome & 0x1F);
    return;
  }
  const uint64_t head = cx.send_queue.head();
  if (unfinished_ == 0 || psn < cx.send_queue.at(head).first_psn) return;  // an old one
  switch (packet.aeth.syndrome) {
    case Aeth::kNakRemoteAccess:
      failure_ = CompletionStatus::kRemoteAccessError;
      break;
    case Aeth::kNakInvalidRequest:
      failure_ = CompletionStatus::kRemoteInvalidRequest;
      break;
    default:
      failure_ = CompletionStatus::kRemoteOperationError;
      break;
  }
}

// The peer had no receive request: nothing from this packet on was kept. It says nothing about the paths.
void Requester::on_receiver_not_ready(Context& cx, Psn psn, uint8_t timer) {
  if (!sent_.contains(psn) || sent_.at(psn).state == PacketState::kDelivered || cx.now < not_ready_until_)
    return;
  ++cx.services.counters.not_ready_received;
  if (cx.connection.rnr_retry != kRnrForEver && not_ready_count_ >= cx.connection.rnr_retry) {
    failure_ = CompletionStatus::kRnrRetryExceeded;
    return;
  }
  ++not_ready_count_;
  for (Psn at = psn; at < sent_.next(); ++at)
    if (sent_.lose(at)) {
      ++cx.services.counters.retransmits_not_ready;
      ++retransmits_[static_cast<size_t>(RetransmitCause::kNotReady)];
      cx.note(TraceEvent::kLostNotReady, at);
      control_->forget(nominal_size(sent_.at(at).bytes));
    }
  not_ready_until_ = cx.now + rnr_delay(timer);
  restart_timers(not_ready_until_);
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
  while (head != cursor_) {
    const SendRequest& request = cx.send_queue.at(head);
    const bool ready = awaits_answer(request.operation) ? request.answered
                                                        : acknowledged_ && request.last_psn <= *acknowledged_;
    if (!ready) break;
    if (consumes_receive(request.operation)) --consuming_;
    --unfinished_;
    --unanswered_;
    ++cx.services.counters.messages_completed;
    complete_oldest_request(cx);
    moved_at_ = cx.now;
    ++head;
  }
  if (local_error_ && head == cursor_) failure_ = local_error_;
}

void Requester::complete_oldest_request(Context& cx) {
  if (!complete_oldest(cx, CompletionStatus::kSuccess)) failure_ = CompletionStatus::kGeneralError;
}

void Requester::abandon() {
  if (control_ == nullptr) return;
  const Psn next = sent_.next();
  for (Psn psn = sent_.oldest(); psn < next; ++psn)
    if (sent_.at(psn).state == PacketState::kInFlight) control_->forget(nominal_size(sent_.at(psn).bytes));
  sent_.reset(config_->window_packets, next);
  next_copy_ = next;
  copy_at_ = kNever;
  copies_due_ = false;
}

void Requester::flush(Context& cx, CompletionStatus first) {
  abandon();
  if (!flush_requests(cx, first)) failure_ = CompletionStatus::kGeneralError;
  cursor_ = cx.send_queue.head();
  started_ = stranded_ = held_up_ = false;
  unfinished_ = unanswered_ = 0;
  consuming_ = 0;
  local_error_.reset();
  next_response_ = answers_->owed.tail();
  answers_->owed.release(next_response_);
  oldest_message_ = message_;
}

}  // namespace mrc
