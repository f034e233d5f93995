// SPDX-License-Identifier: BSD-2-Clause
// The data path of a queue pair: what arrives, what is sent, and time.
#include "libmrc/qp/queue_pair.h"

namespace mrc {

// ------------------------------------------------------------------------------------------- arrivals

[[gnu::hot]] void QueuePair::receive(const Packet& packet, Plane plane, Services& services, Nanoseconds now) {
  if (config_.type == QueuePairType::kReliable && packet.source != connection_.destination) {
    ++services.counters.drops_wrong_peer;
    return;
  }
  hear_of_pauses(services);
  last_plane_ = plane;
  MrcTransport* const to = own_mrc();
  const bool usual = to != nullptr && takes_all() && !packet.xrc;
  if (usual && to->take_write(services, trace_, packet, plane, now)) [[likely]]
    return;
  Context cx = context(services, now);
  if (usual && to->take_middle(cx, packet, plane)) return;
  if ((packet.xrc || connection_.xrc) && !packet.trimmed && !take_named_queue(cx, packet)) {
    settle(services, now);
    return;
  }
  transport_.call([&](auto& transport) {
    const Arrival arrival = transport.classify(packet);
    if (arrival == Arrival::kUnsupported)
      ++services.counters.drops_unsupported;
    else if (admit(cx, arrival, transport))
      transport.receive(cx, packet, plane);
  });
  settle(services, now);
}

bool QueuePair::take_frame(std::span<const uint8_t> frame, Services& services, Nanoseconds now) {
  auto* const raw = transport_.as<RawPackets>();
  const RawPackets::Taking taking(raw);
  if (!is_connected(state())) {  // its own engine may change it meanwhile
    ++services.counters.drops_wrong_state;
    return true;
  }
  Context cx = context(services, now);
  return raw->take(cx, frame);
}

// IBTA A14: a request names the queue that it uses receives of, and whose domain its keys are looked up in.
// False: it is dealt with.
bool QueuePair::take_named_queue(Context& cx, const Packet& packet) {
  const bool names = names_queue(packet.bth.opcode);
  const bool expected = connection_.xrc && (names || terms_.transport == Transport::kRc);
  if (packet.xrc != expected || (names && config_.served == nullptr)) {
    ++cx.services.counters.drops_bad_control;
    return false;
  }
  if (!names || !connected()) return true;
  SharedReceiveQueue* queue = config_.served->find(packet.xeth.queue);
  if (queue == nullptr) {
    ++cx.services.counters.requests_refused;
    // Who does not know the PSN ends no connection.
    transport_.call([&](auto& transport) {
      if (transport.takes_next(packet.bth.psn)) transport.fault_now(packet.bth.psn, Aeth::kNakInvalidRequest);
    });
    return false;
  }
  connection_.domain = {queue->domain(), qpn_};
  cx.shared_receives = queue;
  cx.receive_completions = queue->completions;
  return true;
}

// Whether this state takes requests of the peer's, or answers to our own (IBTA 10.3.1). False: the packet is
// dealt with.
template <typename TheTransport>
bool QueuePair::admit(Context& cx, Arrival arrival, TheTransport& transport) {
  const QueuePairState now_in = state_under_lock();
  if (now_in == QueuePairState::kError && arrival == Arrival::kRequest && transport.fault() != nullptr) {
    ++cx.services.counters.requests_in_vain;
    transport.repeat_nak(cx, last_plane_);
    return false;
  }
  if (!connected() || (arrival == Arrival::kAnswer && !transport.sending())) {
    ++cx.services.counters.drops_wrong_state;
    return false;
  }
  if (TheTransport::kConnects && now_in == QueuePairState::kReadyToReceive && !established_) {
    established_ = true;
    note(QueuePairEvent::kConnected);
  }
  return true;
}

// ------------------------------------------------------------------------------------------- sending

[[gnu::hot]] More QueuePair::transmit(size_t budget, bool fresh_answers, Services& services,
                                      Nanoseconds now) {
  Context cx = context(services, now);
  if (state_under_lock() == QueuePairState::kError) {
    // Requests posted to a queue pair in error come straight back.
    if (!send_queue_.empty())
      transport_.call([&](auto& transport) { transport.flush(cx, CompletionStatus::kFlushed); });
    if (!receive_queue_.empty()) flush_receives(services, CompletionStatus::kFlushed);
    return More::kNothing;
  }
  hear_of_pauses(services);
  if (!connected()) return More::kNothing;
  const More more =
      transport_.call([&](auto& transport) { return transport.transmit(cx, budget, fresh_answers); });
  settle(services, now);
  if (state_under_lock() == QueuePairState::kError) return More::kNothing;
  report_drained(cx);
  return more;
}

More QueuePair::answer(bool fresh, Services& services, Nanoseconds now) {
  MrcTransport* transport = own_mrc();
  // The others answer in their turn.
  if (transport == nullptr || !connected() || draining()) return More::kReady;
  Context cx = context(services, now);
  return transport->answer(cx, fresh);
}

void QueuePair::report_drained(Context& cx) {
  if (state_under_lock() != QueuePairState::kDraining || drain_reported_) return;
  if (!transport_.call([&](auto& transport) { return transport.drained(cx); })) return;
  drain_reported_ = true;
  note(QueuePairEvent::kDrained);
}

// ----------------------------------------------------------------------------------------------- time

void QueuePair::on_timer(Services& services, Nanoseconds now) {
  if (!connected()) return;
  hear_of_pauses(services);
  Context cx = context(services, now);
  transport_.call([&](auto& transport) { transport.on_timer(cx); });
  settle(services, now);
}

void QueuePair::ask_about_paths(Services& services, Nanoseconds now) {
  hear_of_pauses(services);
  Context cx = context(services, now);
  if (MrcTransport* const to = own_mrc()) to->ask_about_paths(cx);
}

// This host did not run for a while, and nothing was heard because of that.
[[gnu::hot]] void QueuePair::hear_of_pauses(const Services& services) {
  if (services.pauses.count() == pauses_heard_of_) [[likely]]
    return;
  transport_.call([&](auto& transport) {
    services.pauses.tell(&pauses_heard_of_,
                         [&](Nanoseconds away, Nanoseconds until) { transport.on_pause(away, until); });
  });
}

[[gnu::hot]] Nanoseconds QueuePair::next_deadline() {
  if (!connected()) return kNever;
  return transport_.call([](auto& transport) { return transport.next_deadline(); });
}

// ---------------------------------------------------------------------------------------------- ports

void QueuePair::follow_ports(Services& services, Nanoseconds now) {
  MrcTransport* const to = own_mrc();
  if (to == nullptr || !connected()) return;
  Context cx = context(services, now);
  to->follow_ports(cx);
}

void QueuePair::announce_ports(PlaneMask usable, uint32_t announcement, Services& services, Nanoseconds now) {
  Context cx = context(services, now);
  if (MrcTransport* const to = own_mrc()) to->announce_ports(cx, usable, announcement);
}

}  // namespace mrc
