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
#include "libmrc/wire/packet.h"
#include "libmrc/work/context.h"
#include "libmrc/work/receive_slots.h"
#include "libmrc/work/responder_fault.h"

namespace mrc {

class Datagram {
 public:
  // `copied_segments`: of the shared receive queue, 0 if there is none. `every_plane`: see
  // DatagramDestinations.
  void reset(uint32_t copied_segments, uint64_t seed, bool every_plane);
  void start_sending(Psn first) { psn_ = first; }
  void set_queue_key(uint32_t queue_key) { queue_key_ = queue_key; }
  uint32_t queue_key() const { return queue_key_; }

  struct Burst {
    size_t packets = 0;
    bool blocked = false;  // more could go, but the port has no room now
  };
  Burst transmit(Context& cx, size_t budget);
  void receive(Context& cx, const Packet& packet);
  void on_plane_answer(const IpAddress& from, Qpn qpn, Plane plane) {
    destinations_.on_probe_answer(from, qpn, plane);
  }

  // The rest is what queue pairs ask of any requester and responder.
  void skip_to(uint64_t) {}
  void on_timer(Context& cx) {
    if (cx.now >= ask_at_) ask_at_ = kNever;
  }
  Nanoseconds next_deadline() const { return ask_at_; }
  bool drained(const Context&) const { return true; }
  bool has_work(const Context& cx) const;
  // Whether something that counts as sent has not left yet.
  bool holds() const { return !held_.empty(); }
  void on_pause(Nanoseconds, Nanoseconds) {}  // nothing is waited for
  std::optional<CompletionStatus> failure() const { return failure_; }
  void flush(Context& cx, CompletionStatus first);
  const ResponderFault* fault() const { return fault_ ? &*fault_ : nullptr; }
  void repeat_nak(Context&, Plane) {}
  bool takes_next(Psn) const { return false; }
  void fault_now(Psn, uint8_t) {}  // there is no connection to end
  ReceiveSlots& slots() { return slots_; }

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

  uint32_t queue_key_ = 0;
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

}  // namespace mrc
