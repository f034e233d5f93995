// SPDX-License-Identifier: BSD-2-Clause
// Unreliable datagrams (RoCEv2 UD): every message is one packet, to a destination of its own. A send is
// complete when the port has it; what arrives without a receive request, or with the wrong queue key, is
// dropped.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "libmrc/path/ev_entry.h"
#include "libmrc/qp/context.h"
#include "libmrc/qp/receive_slots.h"
#include "libmrc/qp/responder_fault.h"
#include "libmrc/wire/packet.h"

namespace mrc {

class Datagram {
 public:
  // `copied_segments`: of the shared receive queue, 0 if there is none.
  void reset(uint32_t copied_segments, uint64_t seed);
  void start_sending(Psn first) { psn_ = first; }
  void set_queue_key(uint32_t queue_key) { queue_key_ = queue_key; }
  uint32_t queue_key() const { return queue_key_; }

  struct Burst {
    size_t packets = 0;
    bool blocked = false;  // more could go, but the port has no room now
  };
  Burst transmit(Context& cx, size_t budget);
  void receive(Context& cx, const Packet& packet);

  // The rest is what queue pairs ask of any requester and responder.
  void skip_to(uint64_t) {}
  void on_timer(Context& cx) {
    if (cx.now >= ask_at_) ask_at_ = kNever;
  }
  Nanoseconds next_deadline() const { return ask_at_; }
  bool drained(const Context&) const { return true; }
  bool has_work(const Context& cx) const;
  void on_pause(Nanoseconds, Nanoseconds) {}  // nothing is waited for
  std::optional<CompletionStatus> failure() const { return failure_; }
  void flush(Context& cx, CompletionStatus first);
  const ResponderFault* fault() const { return fault_ ? &*fault_ : nullptr; }
  void repeat_nak(Context&, Plane) {}
  ReceiveSlots& slots() { return slots_; }

 private:
  // What is known of a destination. There is no connection, so it is remembered from one send to the next.
  struct Destination {
    bool used = false;
    IpAddress address;
    Qpn qpn;  // ports may lead to another process for each
    PlaneMask resolved = 0;
    Nanoseconds ask_at = 0;  // when the ports are asked again
    std::array<MacAddress, kPlanesMax> next_hops{};
    std::vector<EvEntry> paths;   // of the device's path source, if it has one
    std::optional<EvEntry> path;  // the one in use
  };
  static constexpr size_t kDestinations = 64;  // power of two

  CompletionStatus check(const Context& cx, const SendRequest& request) const;
  Destination& look_up(Context& cx, const DatagramAddress& address);
  void resolve(Context& cx, Destination& destination);
  const EvEntry* choose_path(const Context& cx, Destination& destination) const;
  bool wait_for_next_hop(Context& cx, const Destination& destination);
  bool write(Context& cx, const SendRequest& request, const Destination& destination, const EvEntry& path,
             uint8_t* buffer);
  void finish_oldest(Context& cx);

  uint32_t queue_key_ = 0;
  Psn psn_;
  uint64_t seed_ = 0;              // queue pairs choose different paths to one destination
  Nanoseconds waiting_since_ = 0;  // the oldest request has no next hop since then; 0 = it has
  Nanoseconds ask_at_ = kNever;    // nothing is sent before, for want of a next hop
  ReceiveSlots slots_;             // never more than one
  std::optional<ResponderFault> fault_;
  std::optional<CompletionStatus> failure_;
  std::vector<Destination> destinations_;
};

}  // namespace mrc
