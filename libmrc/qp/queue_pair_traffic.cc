// SPDX-License-Identifier: BSD-2-Clause
// The data path of a queue pair: what arrives, what is sent, and time.
#include <algorithm>

#include "libmrc/qp/queue_pair.h"

namespace mrc {

namespace {
// For answers of a queue pair that nobody has told a timeout.
constexpr Nanoseconds kAnswerTimeout = 67 * kMillisecond;
constexpr Nanoseconds kNegotiationMax = 30 * kSecond;
}  // namespace

// ------------------------------------------------------------------------------------------- arrivals

[[gnu::hot]] void QueuePair::receive(const Packet& packet, Plane plane, Services& services, Nanoseconds now) {
  const Wire on = wire();
  if (on == Wire::kRaw) {  // no packet names it
    ++services.counters.drops_unsupported;
    return;
  }
  if (on != Wire::kDatagram && packet.source != connection_.destination) {
    ++services.counters.drops_wrong_peer;
    return;
  }
  Context cx = context(services, now);
  last_plane_ = plane;
  if ((packet.xrc || connection_.xrc) && !packet.trimmed && !take_named_queue(cx, packet)) {
    settle(services, now);
    return;
  }
  switch (on) {
    case Wire::kMrc:
      receive_mrc(cx, packet, plane);
      break;
    case Wire::kRc:
      receive_rc(cx, packet);
      break;
    case Wire::kDatagram:
      receive_datagram(cx, packet);
      break;
    case Wire::kRaw:
      break;
  }
  settle(services, now);
}

bool QueuePair::take_frame(std::span<const uint8_t> frame, Services& services, Nanoseconds now) {
  const RawPackets::Taking taking(raw_);
  if (!connected()) {
    ++services.counters.drops_wrong_state;
    return true;
  }
  Context cx = context(services, now);
  return raw_.receive(cx, frame);
}

// IBTA A14: a request names the queue that it uses receives of, and whose domain its keys are looked up in.
// False: it is dealt with.
bool QueuePair::take_named_queue(Context& cx, const Packet& packet) {
  const bool names = names_queue(packet.bth.opcode);
  const bool expected = connection_.xrc && (names || wire() == Wire::kRc);
  if (packet.xrc != expected || (names && config_.served == nullptr)) {
    ++cx.services.counters.drops_bad_control;
    return false;
  }
  if (!names || !may_take(true)) return true;
  SharedReceiveQueue* queue = config_.served->find(packet.xeth.queue);
  if (queue == nullptr) {
    ++cx.services.counters.requests_refused;
    // Who does not know the PSN ends no connection.
    with_responder([&](auto& responder) {
      if (responder.takes_next(packet.bth.psn)) responder.fault_now(packet.bth.psn, Aeth::kNakInvalidRequest);
    });
    return false;
  }
  connection_.domain = {queue->domain(), qpn_};
  cx.shared_receives = queue;
  cx.receive_completions = queue->completions;
  return true;
}

// Whether this state takes requests of the peer's, or answers to our own (IBTA 10.3.1).
[[gnu::hot]] bool QueuePair::may_take(bool request) const {
  const QueuePairState now_in = state();
  return connected() && (request || now_in != QueuePairState::kReadyToReceive || sending_);
}

// What MRC and plain RC have in common before a packet is looked at closely. False: it is dealt with.
template <typename TheResponder>
bool QueuePair::admit(Context& cx, bool request, TheResponder& responder) {
  const QueuePairState now_in = state();
  if (now_in == QueuePairState::kError && request && responder.fault() != nullptr) {
    ++cx.services.counters.requests_in_vain;
    responder.repeat_nak(cx, last_plane_);
    return false;
  }
  if (!may_take(request)) {
    ++cx.services.counters.drops_wrong_state;
    return false;
  }
  if (now_in == QueuePairState::kReadyToReceive && !established_) {
    established_ = true;
    note(QueuePairEvent::kConnected);
  }
  return true;
}

[[gnu::hot]] void QueuePair::receive_mrc(Context& cx, const Packet& packet, Plane plane) {
  const Opcode opcode = packet.bth.opcode;
  if (!is_mrc(opcode)) {
    ++cx.services.counters.drops_unsupported;
    return;
  }
  if (!admit(cx, is_request(opcode) || opcode == Opcode::kProbe, responder_)) return;
  if (packet.trimmed) {
    responder_.on_trimmed(cx, packet, plane);
    return;
  }
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
        if (!is_write(opcode) && connection_.extension == PeerExtension::kUnknown) {
          // Who sends it speaks it.
          connection_.extension = PeerExtension::kSupported;
          negotiation_.stop();
        }
        responder_.on_request(cx, packet, plane, requester_);
        if (may_take(false)) requester_.refresh_reverse_path(cx);
      } else {
        ++cx.services.counters.drops_unsupported;
      }
  }
}

void QueuePair::receive_rc(Context& cx, const Packet& packet) {
  const Opcode opcode = packet.bth.opcode;
  if (!is_plain_rc(opcode) || packet.trimmed) {
    ++cx.services.counters.drops_unsupported;
    return;
  }
  constexpr uint16_t kAnswers = OpcodeTraits::kReadResponse | OpcodeTraits::kAtomicAck;
  const bool acknowledges = opcode == Opcode::kRcAcknowledge;
  const bool answers = (traits_of(opcode) & kAnswers) != 0;
  if (!admit(cx, !acknowledges && !answers, rc_responder_)) return;
  if (acknowledges) {
    rc_requester_.on_acknowledge(cx, packet);
  } else if (answers) {
    rc_requester_.on_answer(cx, packet);
  } else {
    rc_responder_.on_request(cx, packet);
  }
}

void QueuePair::receive_datagram(Context& cx, const Packet& packet) {
  if (!is_ud(packet.bth.opcode) || packet.trimmed) {
    ++cx.services.counters.drops_unsupported;
  } else if (!may_take(true)) {
    ++cx.services.counters.drops_wrong_state;
  } else {
    datagram_.receive(cx, packet);
  }
}

// ------------------------------------------------------------------------------------------- sending

[[gnu::hot]] QueuePair::More QueuePair::transmit(size_t budget, bool fresh_answers, Services& services,
                                                 Nanoseconds now) {
  Context cx = context(services, now);
  if (state() == QueuePairState::kError) {
    // Requests posted to a queue pair in error come straight back.
    if (!send_queue_.empty())
      with_requester([&](auto& requester) { requester.flush(cx, CompletionStatus::kFlushed); });
    if (!receive_queue_.empty()) flush_receives(services, CompletionStatus::kFlushed);
    return More::kNothing;
  }
  if (!connected()) return More::kNothing;
  resolve_next_hops(services);
  switch (wire()) {
    case Wire::kMrc:
      return transmit_mrc(cx, budget, fresh_answers);
    case Wire::kRc:
      return transmit_rc(cx, budget);
    case Wire::kDatagram:
      return transmit_unanswered(cx, budget, datagram_);
    case Wire::kRaw:
      return transmit_unanswered(cx, budget, raw_);
  }
  return More::kNothing;
}

// MRC 5.1: queue pairs to one peer share its window. Whoever hears an answer has opened it, but if others
// waited before, they come first: a window of one packet would else belong to one of them for ever.
bool QueuePair::others_wait() const {
  return shares_window() && !peer_->waiting.empty();
}

// Answers to READs and atomics ride in the stream of our own requests. Before RTS that has no PSN yet, so the
// peer is asked which one it expects.
void QueuePair::start_answering(Context& cx) {
  if (sending_ || responses_.head() == responses_.tail()) return;
  if (peer_expects_) {
    // Nothing was said about timeouts: repeat for ever, for the peer gives up by its own.
    if (timeout_ == 0) requester_.retry().configure(kAnswerTimeout, 7, RetryPolicy::kForEver);
    start_requester(*peer_expects_, cx.services);
    return;
  }
  asks_for_psn_ = true;
  if (!negotiation_.under_way()) negotiation_.start(cx.now);
  await_negotiation(cx.now);
}

// As long as requests are repeated, but not for ever: a peer of MRC 1.0 need not answer.
void QueuePair::await_negotiation(Nanoseconds now) {
  negotiation_.await(now, std::min(requester_.retry().patience(), kNegotiationMax));
}

[[gnu::hot]] QueuePair::More QueuePair::transmit_mrc(Context& cx, size_t budget, bool fresh_answers) {
  Requester::Burst burst;
  if (!sending_) start_answering(cx);
  if (may_take(false)) {
    if (its_turn_ || !others_wait()) {
      // A message that the peer's program may take for an answer must not overtake what it answers: the
      // acknowledgement goes ahead, by the same path. (A SEND carries it.)
      PathId path = kNoPath;
      if (responder_.acknowledgement_due() && requester_.next_writes_immediate(cx)) {
        path = cx.paths.select(cx.connection.resolved);
        if (path != kNoPath) responder_.send_control_packets(cx, path);
      }
      burst = requester_.transmit(cx, budget, path);
    } else {
      burst.window_closed = requester_.has_work(cx);
    }
    settle(cx.services, cx.now);
    if (state() == QueuePairState::kError) return More::kNothing;
    report_drained(cx);
    if (requester_.awaits_negotiation(cx)) await_negotiation(cx.now);
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
  if (burst.packets == budget && requester_.wants_to_send(cx)) return More::kReady;
  return responder_.control_due() ? More::kDeferred : More::kNothing;
}

QueuePair::More QueuePair::transmit_rc(Context& cx, size_t budget) {
  // Answers first: the peer waits for them, and there are never more than it asked for.
  const RcResponder::Burst answers = rc_responder_.transmit(cx, budget);
  RcRequester::Burst burst;
  if (may_take(false)) burst = rc_requester_.transmit(cx, budget);
  settle(cx.services, cx.now);
  if (state() == QueuePairState::kError) return More::kNothing;
  if (may_take(false)) report_drained(cx);
  if (answers.blocked || burst.blocked) return More::kBlocked;
  const bool more = rc_responder_.has_work() || (may_take(false) && rc_requester_.has_work(cx));
  return more ? More::kReady : More::kNothing;
}

template <typename Sender>
QueuePair::More QueuePair::transmit_unanswered(Context& cx, size_t budget, Sender& sender) {
  typename Sender::Burst burst;
  if (may_take(false)) burst = sender.transmit(cx, budget);
  settle(cx.services, cx.now);
  if (state() == QueuePairState::kError || !may_take(false)) return More::kNothing;
  report_drained(cx);
  if (burst.blocked) return More::kBlocked;
  return sender.has_work(cx) ? More::kReady : More::kNothing;
}

void QueuePair::report_drained(Context& cx) {
  if (state() != QueuePairState::kDraining || drain_reported_) return;
  if (!with_requester([&](auto& requester) { return requester.drained(cx); })) return;
  drain_reported_ = true;
  note(QueuePairEvent::kDrained);
}

// ----------------------------------------------------------------------------------------------- time

void QueuePair::on_timer(Services& services, Nanoseconds now) {
  if (!connected()) return;
  resolve_next_hops(services);
  Context cx = context(services, now);
  if (negotiation_.under_way() && !negotiation_.on_timer(cx) &&
      connection_.extension == PeerExtension::kUnknown)
    connection_.extension = PeerExtension::kUnanswered;
  if (!may_take(false)) return;
  with_requester([&](auto& requester) { requester.on_timer(cx); });
  settle(services, now);
}

void QueuePair::on_pause(Nanoseconds away, Nanoseconds now) {
  if (!connected() || !may_take(false)) return;
  with_requester([&](auto& requester) { requester.on_pause(away, now); });
}

[[gnu::hot]] Nanoseconds QueuePair::next_deadline() {
  if (!connected()) return kNever;
  const Nanoseconds asking = negotiation_.next_deadline();
  if (!may_take(false)) return asking;
  return std::min(asking, with_requester([](auto& requester) { return requester.next_deadline(); }));
}

// ---------------------------------------------------------------------------------------------- ports

void QueuePair::on_port(Plane plane, bool up, Services& services, Nanoseconds now) {
  if (!connected() || !speaks_mrc()) return;
  if (up) {
    paths_.port_up(plane, now);
  } else {
    paths_.port_down(plane);
    if (may_take(false)) {
      Context cx = context(services, now);
      requester_.on_port_down(cx, plane);
    }
  }
}

void QueuePair::announce_ports(PlaneMask usable, uint32_t announcement, Services& services, Nanoseconds now) {
  Context cx = context(services, now);
  Bth bth;
  bth.opcode = Opcode::kEndpointRequest;
  bth.destination = kEndpointQpn;
  Erth erth;
  erth.operation = EndpointOperation::kPortStatusUpdate;
  erth.port_status_mask = usable;
  const bool coarse = services.config.coarse_timestamps;
  erth.time = {to_wire_timestamp(now, coarse), coarse};
  EndpointRequests::Asker asker;
  asker.qpn = qpn_;
  asker.announcement = announcement;
  // MRC 4.6 [P]: on every port that is left.
  for (PlaneMask planes = usable & connection_.resolved; planes != 0; planes &= planes - 1) {
    bth.psn = Psn(services.endpoint_requests.add(asker));
    const PathId path = paths_.control_path(static_cast<Plane>(__builtin_ctz(planes)));
    if (send_control(cx, path, &PlaneFrames::control, bth, erth)) ++services.counters.port_updates_sent;
  }
}

void QueuePair::on_endpoint_response(const Packet& packet) {
  if (packet.eeth.operation != EndpointOperation::kCapabilities || !negotiation_.under_way() ||
      packet.source != connection_.destination)
    return;
  const bool tells = (packet.eeth.vendor_info & kTellsExpectedPsn) != 0;
  if (asks_for_psn_ && tells) {
    asks_for_psn_ = false;
    peer_expects_ = Psn{packet.eeth.expected_psn};
  }
  // A peer that does not tell is asked on, ever less often: to begin anew at once would be a question per
  // round trip.
  if (!asks_for_psn_) negotiation_.stop();
  connection_.extension =
      (packet.eeth.vendor_info & kSpeaksExtension) != 0 ? PeerExtension::kSupported : PeerExtension::kRefused;
}

}  // namespace mrc
