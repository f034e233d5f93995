// SPDX-License-Identifier: BSD-2-Clause
// What the requester does when nothing is heard.
#include <algorithm>

#include "libmrc/mrc/requester.h"

namespace mrc {

namespace {
constexpr Nanoseconds kSilenceUnknownRtt = kMillisecond;
// Looking for a next hop may take a while, and says nothing about the peer.
constexpr Nanoseconds kNextHopPatience = 5 * kSecond;
constexpr Nanoseconds kMovePatienceMin = kSecond;
constexpr size_t kPathProbesPerCall = 16;
// So many questions are asked at the same pace, for a question or its answer may be lost like anything else.
constexpr uint32_t kSilencesAlike = 2;
// So many at once at most, by different paths: what broke may be the path, or the one that answers take.
constexpr uint32_t kQuestionsMax = 4;
}  // namespace

[[gnu::hot]] Nanoseconds Requester::silence_allowed() const {
  // MRC 3.3 (d): a round trip and the queueing it may meet; longer every time nothing comes back.
  Nanoseconds once = kSilenceUnknownRtt;
  if (rtt_.known()) {
    once = std::max(config_->silence_min, rtt_.smoothed() + 4 * rtt_.variation());
  } else if (config_->congestion != CongestionAlgorithm::kNone) {
    // Whoever set up congestion control has said how long a round trip is. A first window that was lost as a
    // whole, as in a large incast, must not wait for a timer.
    once = std::max(config_->silence_min, 2 * (config_->nscc.base_rtt + config_->nscc.target_delay));
  }
  const uint32_t doublings = std::min(silences_ > kSilencesAlike ? silences_ - kSilencesAlike : 0, 16u);
  return std::min(once << doublings, config_->probe_interval_max);
}

Nanoseconds Requester::next_deadline() const {
  Nanoseconds deadline = kNever;
  if (failure()) return deadline;
  if (busy()) {
    deadline = std::min(deadline, quiet_.since() + silence_allowed());
    if (const Nanoseconds timeout = retry_.timeout(); timeout != 0)
      deadline = std::min(deadline, unmoved_.since() + timeout);
  }
  deadline = std::min({deadline, suspects_late_at_, copy_at_, ask_at_});
  if (not_ready_.until() != 0) deadline = std::min(deadline, not_ready_.until());
  return deadline;
}

Requester::Waiting Requester::waiting() const {
  Waiting waiting;
  waiting.unfinished = unfinished_;
  waiting.unanswered = unanswered_;
  waiting.window = control_->cwnd();
  waiting.window_used = control_->inflight();
  if (const Nanoseconds timeout = retry_.timeout(); timeout != 0)
    waiting.retransmission_at = unmoved_.since() + timeout;
  waiting.asks_at = quiet_.since() + silence_allowed();
  waiting.attempts = retry_.attempts();
  waiting.silences = silences_;
  waiting.not_ready_count = not_ready_.count();
  waiting.not_ready_until = not_ready_.until();
  return waiting;
}

bool Requester::may_take_its_time(Nanoseconds now) const {
  const Nanoseconds patience = std::max(kMovePatienceMin, retry_.patience());
  return patience == kNever || now - moved_at_ <= patience;
}

void Requester::on_timer(Context& cx) {
  if (failure()) return;
  not_ready_.on_timer(cx.now);
  const Nanoseconds timeout = retry_.timeout();
  if (busy() && timeout != 0 && cx.now >= unmoved_.since() + timeout) {
    // MRC 3.3 (e): the backstop. A connection that has nothing on the wire because its window is closed has
    // not been let down by the network. But the peer has a say in the window, so that too must end.
    const bool waiting =
        sent_.in_flight() == 0 && sent_.lost() > 0 && !stranded_ && !held_up_ && may_take_its_time(cx.now);
    if (!waiting && !retry_.charge()) {
      ++cx.services.counters.retry_exceeded;
      requests_.fail(CompletionStatus::kRetryExceeded);
      return;
    }
    for (Psn psn = sent_.oldest(); psn < sent_.next(); ++psn)
      if (sent_.at(psn).sent_at + timeout <= cx.now)
        lose(cx, psn, &cx.services.counters.retransmits_timeout, TraceEvent::kLostTimeout);
    if (sent_.outstanding() == 0) nudge(cx);
    unmoved_.restart(cx.now);
  }
  if (cx.now >= ask_at_) ask_early(cx);
  if (cx.now >= suspects_late_at_) look_at_late_suspects(cx);
  if (cx.now >= copy_at_) {
    copy_at_ = kNever;
    copies_due_ = true;
    if (!has_work(cx)) put_off_copies(cx.now);
  }
  if (busy() && cx.now >= quiet_.since() + silence_allowed()) {
    ++silences_;
    quiet_.restart(cx.now);
    if (sent_.outstanding() == 0) {
      asked_at_ = cx.now;
      nudge(cx);
      ask(cx, 1);
    } else if (sent_.in_flight() > 0 || sent_.lost() == 0) {  // or only the cumulative PSN was not heard of
      ask(cx, 0);
    }
  }
}

void Requester::ask_about_paths(Context& cx) {
  for (size_t i = 0; i < kPathProbesPerCall; ++i) {
    const PathId path = cx.paths.take_due_probe(cx.now);
    if (path == kNoPath) return;
    send_probe(cx, path);
  }
}

// Ports are down, here or there, or no next hop is known: that too uses up retries, or it would never end.
void Requester::strand(const Context& cx) {
  if (stranded_) return;
  if (!busy()) restart_timers(cx.now + (cx.connection.resolved == 0 ? kNextHopPatience : 0));
  stranded_ = true;
}

// No port has room for the peer. If it was there before it does not take what it is sent, and that must end
// as if it did not answer. Else the link with it is still being made, which may take long. (A host that is
// late may have heard of the peer and still know no round trip.)
void Requester::hold_up(const Context& cx) {
  if (held_up_) return;
  const bool was_there = sack_seen_ || acknowledged_;
  if (!busy()) restart_timers(cx.now + (was_there ? 0 : kLinkPatience));
  held_up_ = true;
}

void Requester::on_pause(Nanoseconds away, Nanoseconds now) {
  // Pauses within one round trip count together.
  away_ = now - awake_since_ > rtt_.smoothed() ? away : away_ + away;
  awake_since_ = now;
  unmoved_.excuse(away, now, retry_.timeout());
  quiet_.excuse(away, now, silence_allowed());
}

// By one more path after every silence; so many have gone already.
void Requester::ask(Context& cx, uint32_t gone) {
  for (uint32_t i = gone; i < std::min(silences_, kQuestionsMax); ++i)
    if (const PathId path = cx.turns.next_in_use(cx.paths, cx.connection.resolved); path != kNoPath)
      send_probe(cx, path);
}

// MRC 12.R11, 1.6: asks the responder for a SACK by this path, without using a PSN.
void Requester::send_probe(Context& cx, PathId path) {
  if ((cx.connection.resolved >> cx.paths.at(path).plane & 1) == 0) return;
  Bth bth;
  bth.opcode = Opcode::kProbe;
  bth.destination = cx.connection.remote_qpn;
  Peth peth;
  peth.probe_id = next_probe_id_++;
  peth.source_qpn_low = static_cast<uint16_t>(cx.connection.local_qpn.value());
  peth.destination_qpn_low = static_cast<uint16_t>(cx.connection.remote_qpn.value());
  peth.time = {to_wire_timestamp(cx.now, config_->coarse_timestamps), config_->coarse_timestamps};
  if (!send_control(cx, path, &PlaneFrames::probe, bth, peth)) return;
  remember({path, peth.probe_id, cx.paths.next_order(), cx.now});
  ++cx.services.counters.probes_sent;
  cx.note(TraceEvent::kProbeSent, sent_.next(), path, peth.probe_id);
}

// The answer names it by its id. A few places are enough until one would take the place of another that may
// still be answered.
void Requester::remember(const Probe& probe) noexcept {
  const Probe before = probes_.empty() ? Probe{} : probes_[probe.id % probes_.size()];
  const bool taken = before.path != kNoPath && probe.sent_at - before.sent_at < kProbeLife;
  if (probes_.empty() || (taken && probes_.size() < kProbesMax)) {
    try {
      std::vector<Probe> more(probes_.empty() ? kProbesMin : kProbesMax);
      for (const Probe& each : probes_) more[each.id % more.size()] = each;
      probes_.swap(more);
    } catch (const std::bad_alloc&) {
      if (probes_.empty()) return;
    }
  }
  probes_[probe.id % probes_.size()] = probe;
}

// Everything arrived but a completion is missing: a duplicate of the last packet brings the acknowledgement
// again.
void Requester::nudge(Context& cx) {
  if (unanswered_ == 0) return;
  const PathId path = cx.turns.select(cx.paths, cx.connection.resolved);
  if (path == kNoPath) return;
  uint8_t* buffer = begin_buffer(cx, cx.paths.at(path).plane);
  if (buffer == nullptr) return;
  // The newest message of which something was sent; an answer whose data may be gone is not repeated.
  const Message& message = message_at(started_ && offset_ > 0 ? message_ : message_ - 1);
  if (message.is_response) {
    send_probe(cx, path);
    return;
  }
  if (!write_again(cx, message, sent_.next() - 1, path, buffer)) return;
  ++cx.services.counters.retransmits_ack_lost;
  ++retransmits_[static_cast<size_t>(RetransmitCause::kAckLost)];
  ++cx.services.counters.retransmissions_sent;
}

}  // namespace mrc
