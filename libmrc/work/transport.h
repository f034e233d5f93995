// SPDX-License-Identifier: BSD-2-Clause
// What a queue pair asks of its transport. There are several, and a queue pair has one of them: they are told
// apart by type, so that no packet costs a virtual call.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>

#include "libmrc/wire/packet.h"
#include "libmrc/work/context.h"
#include "libmrc/work/receive_slots.h"
#include "libmrc/work/responder_fault.h"

namespace mrc {

// What is left after a turn.
enum class More : uint8_t {
  kNothing,   // until something arrives, is posted or times out
  kDeferred,  // an answer waits for the next burst
  kBlocked,   // there is more, but the ports have no room now
  kReady,     // there is more that could go now
};

// What a packet is to a transport.
enum class Arrival : uint8_t {
  kUnsupported,
  kRequest,  // taken from RTR on
  kAnswer,   // taken once there is something to answer
};

template <typename T>
concept IsTransport = requires(T& transport, const T& looked_at, Context& cx, const Packet& packet,
                               Plane plane, Services& services, Psn psn, Nanoseconds time) {
  // The state machine. RTR; RTS, from this entry of the send queue on; what a program asked for has changed;
  // before RESET and the end, with what is held of the device to be given back.
  transport.connect(psn, services, time);
  transport.start_sending(psn, uint64_t{}, services);
  transport.follow_terms(services.config);
  transport.disconnect(services);
  // From RTS on, or sooner to answer with.
  { looked_at.sending() } -> std::same_as<bool>;
  // Whether the first packet of a peer is an event.
  { T::kConnects } -> std::convertible_to<bool>;

  // The data path. Answers that were put off go before a program leaves.
  { looked_at.classify(packet) } -> std::same_as<Arrival>;
  transport.receive(cx, packet, plane);
  { transport.transmit(cx, size_t{}, bool{}) } -> std::same_as<More>;
  transport.answer_before_leaving(cx);
  transport.on_timer(cx);
  transport.on_pause(time, time);
  { transport.next_deadline() } -> std::same_as<Nanoseconds>;

  // How it ends: by what the peer does not do, or by what it should not have done.
  { looked_at.failure() } -> std::same_as<std::optional<CompletionStatus>>;
  { transport.fault() } -> std::same_as<const ResponderFault*>;
  transport.repeat_nak(cx, plane);
  { looked_at.takes_next(psn) } -> std::same_as<bool>;
  transport.fault_now(psn, uint8_t{});
  transport.flush(cx, CompletionStatus{});
  transport.drain_receives([](const ReceiveSlots::Slot&) {});
  { looked_at.drained(cx) } -> std::same_as<bool>;
  { looked_at.oldest_unacknowledged() } -> std::same_as<Psn>;
};

}  // namespace mrc
