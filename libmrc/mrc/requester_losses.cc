// SPDX-License-Identifier: BSD-2-Clause
// What the requester takes for lost, of what the peer has not spoken of.
#include <algorithm>
#include <new>

#include "libmrc/mrc/requester.h"

namespace mrc {

namespace {
constexpr Nanoseconds kReorderScaleDecay = 200 * kMillisecond;
constexpr uint64_t kOutOfOrderMin = 5;  // MRC 3.3
}  // namespace

// Nothing has arrived that was sent after the oldest that has not: there is nothing to find. The oldest was
// sent before all others, unless it was sent again.
bool Requester::nobody_overtaken(const Sack& sack) const {
  if ((sack.bitmap | sack.out_of_order) != 0 || sack.answers_probe || !suspects_.empty()) return false;
  const SentPacket& oldest = sent_.at(sent_.oldest());
  return oldest.transmissions == 1 && oldest.order > arrivals_.newest() && oldest.sent_at >= newest_delivery_;
}

// MRC 12.R8, 3.2: a zero inside the bitmap, and the PSN behind the cumulative one, are the only evidence of
// loss.
void Requester::find_losses(Context& cx, const Sack& sack) {
  if (sent_.in_flight() == 0 || nobody_overtaken(sack)) return;
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
  bool once_only = false;
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
    if (overtaken(cx, packet, reorder_window()) || both_overtaken(cx, packet)) {
      lose(cx, psn, &cx.services.counters.retransmits_reordering, TraceEvent::kLostReordering);
      continue;
    }
    // To call it lost takes the whole window. A quarter is enough to leave its path alone until that is
    // known, for this costs nothing if it was wrong; nothing at all where the path has never carried
    // anything.
    const bool proven = cx.paths.at(packet.path).delivered_order != 0;
    if (overtaken(cx, packet, proven ? reorder_window() / 4 : 0)) cx.paths.overdue(packet.path);
    ++under_way;
    if (packet.transmissions > 1) continue;
    once_only = once_only || packet.copied_after == 0;
    first_late = std::min(first_late, late_at(packet));
  }
  suspects_.resize(kept);
  suspects_passed_ = 0;
  if (once_only && copies_help(cx)) copies_due_ = true;
  // If nothing else is under way, no later SACK will show that they are lost: then time does.
  suspects_late_at_ = under_way == sent_.in_flight() ? first_late : kNever;
  suspects_waited_ = false;
  if (suspects_late_at_ == kNever) return;
  const Nanoseconds round_trip = std::min(rtt_.smoothed(), suspects_late_at_);
  ask_at_the_latest(std::max(cx.now, suspects_late_at_ - round_trip));
}

bool Requester::others_than_suspects_under_way() const {
  const auto suspects = std::count_if(suspects_.begin(), suspects_.end(), [this](Psn psn) {
    return sent_.contains(psn) && sent_.at(psn).state == PacketState::kInFlight;
  });
  return suspects < sent_.in_flight();
}

// More may have been sent since then, and who sends little hears little: if nobody has asked what has become
// of it all, it is not lost for want of news. Once.
void Requester::look_at_late_suspects(Context& cx) {
  if (suspects_waited_ || !others_than_suspects_under_way()) return give_up_late_suspects(cx);
  suspects_waited_ = true;
  suspects_late_at_ = cx.now + rtt_.smoothed() + 4 * rtt_.variation();
  ask_early(cx);
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
  const Nanoseconds late =
      std::max(packet.sent_at,
               std::min(awake_since_, packet.sent_at + away_ + ExcusedTimer::kExcuses * span)) +
      span;
  const Nanoseconds copied = copied_at(packet);
  if (copied == kNever || copied < awake_since_) return late;
  return std::min(late, copied + span - reorder_window() + patience_with_both());
}

// MRC 3.3 (b): something that was sent much later has arrived, and others of its plane did not take so long.
bool Requester::overtaken(const Context& cx, const SentPacket& packet, Nanoseconds patience) const {
  return newest_delivery_ > packet.sent_at + patience &&
         cx.now > packet.sent_at + plane_rtt_.recent(packet.plane) + patience;
}

// It and its copy.
bool Requester::both_overtaken(const Context& cx, const SentPacket& packet) const {
  const Nanoseconds copied = copied_at(packet);
  const Nanoseconds patience = patience_with_both();
  return copied != kNever && newest_delivery_ > copied + patience &&
         cx.now > copied + plane_rtt_.recent(packet.plane) + patience;
}

void Requester::judge(Context& cx, Psn psn) {
  const SentPacket& packet = sent_.at(psn);
  if (packet.state != PacketState::kInFlight) return;
  // MRC 3.3 (a): a path is a FIFO; what was sent later on it has arrived.
  if (packet.order < arrivals_.of(packet.path)) {
    lose(cx, psn, &cx.services.counters.retransmits_same_path, TraceEvent::kLostSamePath);
  } else if (overtaken(cx, packet, reorder_window())) {
    lose(cx, psn, &cx.services.counters.retransmits_reordering, TraceEvent::kLostReordering);
  }
}

void Requester::lose(Context& cx, Psn psn, uint64_t* cause, TraceEvent why) {
  if (!sent_.lose(psn)) return;
  sent_.at(psn).vanished = true;
  ++packets_lost_;
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
  // Who hears nothing at all cannot tell which path it was, or whether it was one: perhaps it is that
  // program, and all others to the same host are well.
  const bool deaf = silent && newest_delivery_ < packet.sent_at;
  if (deaf || packet.sent_at < control_->excuses_losses_before()) return settle(cx.paths, psn);
  if (!cx.paths.lost(packet.path, packet.order, packet.sent_at, cx.now)) return;
  ++cx.services.counters.paths_demoted;
  cx.note(TraceEvent::kPathBad, psn, packet.path);
}

void Requester::count_retransmit(Context& cx, RetransmitCause cause, PathId path) {
  ++retransmits_[static_cast<size_t>(cause)];
  cx.paths.count_retransmit(path, cause);
}

// What became of it will not be known, or says nothing about its path: nobody need wait for it there.
void Requester::settle(PathSet& paths, Psn psn) const {
  if (sent_.at(psn).suspect) paths.settled(sent_.at(psn).path);
}

void Requester::on_port_down(Context& cx, Plane plane) {
  for (Psn psn = sent_.oldest(); psn < sent_.next(); ++psn) {
    if (sent_.at(psn).plane != plane || !sent_.lose(psn)) continue;
    settle(cx.paths, psn);
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

}  // namespace mrc
