// SPDX-License-Identifier: BSD-2-Clause
// Unreliable datagrams (RoCEv2 UD): every message is one packet, to a destination of its own. A send is
// complete when the port has it, or when it had to be put aside because there was no way to its destination
// yet; what arrives without a receive request, or with the wrong queue key, is dropped.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "libmrc/datagram/datagram_destination.h"
#include "libmrc/peer/connection.h"
#include "libmrc/wire/packet.h"
#include "libmrc/work/context.h"
#include "libmrc/work/receive_slots.h"
#include "libmrc/work/responder_fault.h"
#include "libmrc/work/terms.h"
#include "libmrc/work/unanswered.h"

namespace mrc {

class Datagram : public Unanswered {
 public:
  // Both are the queue pair's and outlive it.
  Datagram(Connection& connection, const Terms& terms) : connection_(connection), terms_(terms) {}
  Datagram(const Datagram&) = delete;
  Datagram& operator=(const Datagram&) = delete;

  // --- what any transport has: see IsTransport ---
  void connect(Psn first, Services& services, Nanoseconds now);
  void start_sending(Psn first, uint64_t, Services&) {
    psn_ = first;
    sending_ = true;
  }
  void disconnect(Services&) { forget(); }
  Arrival classify(const Packet& packet) const {
    return is_ud(packet.bth.opcode) && !packet.trimmed ? Arrival::kRequest : Arrival::kUnsupported;
  }
  void receive(Context& cx, const Packet& packet, Plane plane);
  More transmit(Context& cx, size_t budget, bool) { return take_turn(*this, cx, budget); }
  void on_timer(Context& cx) {
    if (sending_ && cx.now >= ask_at_) ask_at_ = kNever;
  }
  Nanoseconds next_deadline() const { return sending_ ? ask_at_ : kNever; }
  std::optional<CompletionStatus> failure() const { return failure_; }
  const ResponderFault* fault() const { return fault_ ? &*fault_ : nullptr; }
  void flush(Context& cx, CompletionStatus first);
  template <typename Each>
  void drain_receives(Each&& each) {
    slots_.drain(each);
  }

  // --- of datagrams alone ---
  Burst send(Context& cx, size_t budget);
  bool has_work(const Context& cx) const;
  void on_plane_answer(const IpAddress& from, Qpn qpn, Plane plane) {
    destinations_.on_probe_answer(from, qpn, plane);
  }
  // Whether something that counts as sent has not left yet.
  bool holds() const { return !held_.empty(); }

 private:
  // A datagram without its payload.
  struct Head {
    DatagramAddress address;
    bool has_immediate = false;
    bool solicited = false;
    uint32_t immediate = 0;
    uint32_t bytes = 0;
  };
  // One that had no way when its turn came. Its buffer is the application's again, and those to other
  // destinations do not wait behind it.
  struct Held {
    Head head;
    std::vector<uint8_t> payload;
    Nanoseconds since = 0;
  };
  enum class Way : uint8_t { kOpen, kNoRoom, kNoNextHop };
  // Where a datagram would go now.
  struct Route {
    Way way = Way::kNoNextHop;
    DatagramDestination* destination = nullptr;
    const EvEntry* path = nullptr;
  };
  static constexpr size_t kHeldMax = 64;

  void forget();
  CompletionStatus check(const Context& cx, const SendRequest& request) const;
  static Head head_of(const SendRequest& request);
  Route route(Context& cx, const DatagramAddress& address);
  bool is_behind_held(const DatagramAddress& address, size_t count) const;
  void send_held(Context& cx, size_t budget, Burst* burst);
  bool send_copy(Context& cx, const Held& copy, const Route& route);
  bool hold(Context& cx, const SendRequest& request);
  bool send_to_group(Context& cx, const SendRequest& request, Burst* burst);
  void send_or_hold_copy(Context& cx, Qpn way, Burst* burst);
  bool send_oldest(Context& cx, const SendRequest& request, const Route& route);
  void wait_for(Context& cx, const Route& route, Burst* burst);
  static uint8_t* begin_buffer(Context& cx, const Route& route);
  FrameWriter begin(Context& cx, const Head& head, const Route& route, uint8_t* buffer);
  void finish(Context& cx, const Head& head, const Route& route, FrameWriter* frame);
  void finish_oldest(Context& cx);

  Connection& connection_;
  const Terms& terms_;
  Psn psn_;
  std::deque<Held> held_;
  // What goes to a group now, and to whom. Kept for its memory.
  Held to_group_;
  std::vector<Qpn> members_;
  Nanoseconds waiting_since_ = 0;  // the oldest request has no way and cannot be held since then; 0 = it has
  Nanoseconds ask_at_ = kNever;    // when a next hop is asked for again
  ReceiveSlots slots_;             // never more than one
  std::optional<ResponderFault> fault_;
  std::optional<CompletionStatus> failure_;
  DatagramDestinations destinations_;
};
static_assert(IsTransport<Datagram>);

}  // namespace mrc
