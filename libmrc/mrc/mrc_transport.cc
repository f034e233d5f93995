// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/mrc/mrc_transport.h"

#include "libmrc/work/next_hops.h"

namespace mrc {

namespace {
// For answers of a queue pair that nobody has told a timeout.
constexpr Nanoseconds kAnswerTimeout = 67 * kMillisecond;
constexpr Nanoseconds kNegotiationMax = 30 * kSecond;
}  // namespace

[[gnu::hot]] void MrcTransport::receive(Context& cx, const Packet& packet, Plane plane) {
  if (packet.trimmed) {
    responder_.on_trimmed(cx, packet, plane);
    return;
  }
  const Opcode opcode = packet.bth.opcode;
  switch (opcode) {
    case Opcode::kProbe:
      responder_.on_probe(cx, packet, plane);
      break;
    case Opcode::kSack:
      requester_.on_sack(cx, packet);
      break;
    case Opcode::kNack:
      requester_.on_nack(cx, packet);
      break;
    case Opcode::kAcknowledge:
      requester_.on_acknowledge(cx, packet);
      break;
    default:
      if (is_write(opcode) || (is_request(opcode) && !connection_.strict)) {
        if (!is_write(opcode) && connection_.extension != PeerExtension::kSupported) {
          // Who sends it speaks it.
          negotiation_.stop();
          hear_word(PeerExtension::kSupported, cx.now);
        }
        responder_.on_request(cx, packet, plane, requester_);
        if (sending_) requester_.refresh_reverse_path(cx);
      } else {
        ++cx.services.counters.drops_unsupported;
      }
  }
}

// MRC 5.1: queue pairs to one peer share its window. Whoever hears an answer has opened it, but if others
// waited before, they come first: a window of one packet would else belong to one of them for ever.
bool MrcTransport::others_wait() const {
  return shares_window() && !peer_->waiting.empty();
}

void MrcTransport::send_requests(Context& cx, size_t budget, Requester::Burst* burst) {
  if (!its_turn_ && others_wait()) {
    burst->window_closed = requester_.has_work(cx);
    return;
  }
  // A message that the peer's program may take for an answer must not overtake what it answers: the
  // acknowledgement goes ahead, by the same path. (A SEND carries it.)
  PathId path = kNoPath;
  if (responder_.acknowledgement_due() && requester_.next_writes_immediate(cx)) {
    path = turns_.select(*paths_, connection_.resolved);
    if (path != kNoPath) responder_.send_control_packets(cx, path);
  }
  *burst = requester_.transmit(cx, budget, path);
}

[[gnu::hot]] More MrcTransport::transmit(Context& cx, size_t budget, bool fresh_answers) {
  resolve_next_hops(connection_, Transport::kMrc, cx.services);
  Requester::Burst burst;
  bool knows_more = false;
  if (!sending_) start_answering(cx);
  if (sending_) {
    send_requests(cx, budget, &burst);
    if (failure() || fault() != nullptr) return More::kNothing;
    if (requester_.awaits_negotiation(cx)) knows_more = !await_word(cx.now);
  }
  // Answers ride behind the data, on the same path, so that the peer sees both at once. For that they wait
  // for one burst, but not for another.
  if (responder_.control_due()) {
    answers_waited_ = fresh_answers && !answers_waited_ && !responder_.control_urgent() && burst.packets == 0;
    if (!answers_waited_) responder_.send_control_packets(cx, burst.last_path);
  }
  if (burst.window_closed && shares_window()) {
    // Who came in vain keeps its place.
    its_turn_&& burst.packets == 0 ? peer_->waiting.push_front(waiting_) : peer_->waiting.push_back(waiting_);
  }
  if (burst.packets > 0 || !burst.blocked) its_turn_ = false;
  if (burst.blocked) return More::kBlocked;
  if (knows_more) return More::kReady;
  if (burst.packets == budget && requester_.wants_to_send(cx)) return More::kReady;
  return responder_.control_due() ? More::kDeferred : More::kNothing;
}

More MrcTransport::answer(Context& cx, bool fresh) {
  const bool wants_turn = (sending_ ? requester_.wants_turn(cx) : answers_.owed.size() > 0) ||
                          failure().has_value() || fault() != nullptr;
  if (responder_.control_due()) {
    // For what else comes in the next burst, as above.
    answers_waited_ = fresh && !answers_waited_ && !responder_.control_urgent() && !wants_turn;
    if (answers_waited_) return More::kDeferred;
    resolve_next_hops(connection_, Transport::kMrc, cx.services);
    responder_.send_control_packets(cx, kNoPath);
  }
  return wants_turn || responder_.control_due() ? More::kReady : More::kNothing;
}

// Answers to READs and atomics ride in the stream of our own requests. Before RTS that has no PSN yet, so the
// peer is asked which one it expects.
void MrcTransport::start_answering(Context& cx) {
  if (answers_.owed.size() == 0) return;
  if (peer_expects_) {
    // Nothing was said about timeouts: repeat for ever, for the peer gives up by its own.
    if (terms_.timeout == 0) requester_.retry().configure(kAnswerTimeout, 7, RetryPolicy::kForEver);
    start_sending(*peer_expects_, cx.send_queue.head(), cx.services);
    return;
  }
  asks_for_psn_ = true;
  if (!negotiation_.under_way()) negotiation_.start(cx.now);
  await_negotiation(cx.now);
}

// A request waits for what the peer speaks. It refused some time ago, or did not answer: that may have been
// another program. False: that is known now.
bool MrcTransport::await_word(Nanoseconds now) {
  if (take_word_of_others(now)) return false;
  connection_.extension = PeerExtension::kUnknown;
  if (!negotiation_.under_way()) negotiation_.start(now);
  await_negotiation(now);
  return true;
}

// As long as requests are repeated, but not for ever: a peer of MRC 1.0 need not answer.
void MrcTransport::await_negotiation(Nanoseconds now) {
  negotiation_.await(now, std::min(requester_.retry().patience(), kNegotiationMax));
}

// It was not asked because others were, and is silent: perhaps that program has gone.
void MrcTransport::doubt(Nanoseconds now) {
  on_trust_ = false;
  peer_->speakers.forget(connection_.remote_qpn);
  if (!negotiation_.under_way()) negotiation_.start(now);
}

void MrcTransport::on_timer(Context& cx) {
  resolve_next_hops(connection_, Transport::kMrc, cx.services);
  if (on_trust_ && requester_.retry().attempts() > 0) doubt(cx.now);
  if (connection_.extension == PeerExtension::kUnknown) take_word_of_others(cx.now);
  if (negotiation_.under_way() && !negotiation_.on_timer(cx) &&
      connection_.extension == PeerExtension::kUnknown)
    hear_word(PeerExtension::kUnanswered, cx.now);
  if (sending_) requester_.on_timer(cx);
  responder_.release_writes(cx, requester_);
}

void MrcTransport::ask_about_paths(Context& cx) {
  resolve_next_hops(connection_, Transport::kMrc, cx.services);
  requester_.ask_about_paths(cx);
}

}  // namespace mrc
