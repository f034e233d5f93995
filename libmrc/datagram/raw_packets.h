// SPDX-License-Identifier: BSD-2-Clause
// Raw packets: every message is a whole Ethernet frame, sent as it is and placed as it came. There is no
// connection and no answer: a send is complete when the ports have the frame, and what finds no receive
// request is lost.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "libmrc/work/context.h"
#include "libmrc/work/receive_slots.h"
#include "libmrc/work/responder_fault.h"

namespace mrc {

class RawPackets {
 public:
  // Who takes receive requests: all engines of a device may bring frames (QueuePair::take_frame).
  class Taking {
   public:
    explicit Taking(RawPackets& of) : of_(of) {
      while (of_.taking_.test_and_set(std::memory_order_acquire)) {
      }
    }
    ~Taking() { of_.taking_.clear(std::memory_order_release); }
    Taking(const Taking&) = delete;
    Taking& operator=(const Taking&) = delete;

   private:
    RawPackets& of_;
  };

  // `way`: any number; queue pairs with different ones use different planes.
  void reset(uint32_t way);

  struct Burst {
    size_t packets = 0;
    bool blocked = false;  // more could go, but a port has no room now
  };
  Burst transmit(Context& cx, size_t budget);
  // While the caller is Taking. False: the queue pair's own engine has to look at it.
  bool receive(Context& cx, std::span<const uint8_t> frame);

  // The rest is what queue pairs ask of any requester and responder.
  void skip_to(uint64_t) {}
  void on_timer(Context&) {}
  Nanoseconds next_deadline() const { return kNever; }
  bool drained(const Context&) const { return true; }
  bool has_work(const Context& cx) const { return !failure_ && cx.start_requests && !cx.send_queue.empty(); }
  void on_pause(Nanoseconds, Nanoseconds) {}
  std::optional<CompletionStatus> failure() const {
    return overran_.load(std::memory_order_relaxed) ? CompletionStatus::kGeneralError : failure_;
  }
  void flush(Context& cx, CompletionStatus first);
  const ResponderFault* fault() const {
    return bad_memory_.load(std::memory_order_relaxed) ? &kBadMemory : nullptr;
  }
  void repeat_nak(Context&, Plane) {}
  bool takes_next(Psn) const { return false; }
  void fault_now(Psn, uint8_t) {}
  ReceiveSlots& slots() { return slots_; }

 private:
  static constexpr ResponderFault kBadMemory{Psn{}, Aeth::kNakRemoteOperation, true};

  static CompletionStatus check(const Context& cx, const SendRequest& request);
  std::optional<Plane> choose_plane(const Context& cx) const;
  void find_ways(Context& cx, Plane plane);
  bool has_room(Context& cx, Plane plane);
  void send_copy(Context& cx, Plane plane, const MacAddress& next_hop, size_t bytes);
  void finish_oldest(Context& cx);

  std::atomic_flag taking_;
  std::atomic<bool> bad_memory_{false};  // of a receive request
  std::atomic<bool> overran_{false};
  uint32_t way_ = 0;
  Nanoseconds waiting_since_ = 0;  // somebody has no room since then; 0 = all have
  std::vector<uint8_t> frame_;     // the one that is being sent
  std::vector<Qpn> listeners_;     // kept for their memory, as the next
  std::vector<MacAddress> ways_;   // where the frame goes
  ReceiveSlots slots_;             // of no use here: there are no messages under way
  std::optional<CompletionStatus> failure_;
};

}  // namespace mrc
