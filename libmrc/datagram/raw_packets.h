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
#include "libmrc/work/responder_fault.h"
#include "libmrc/work/unanswered.h"

namespace mrc {

class RawPackets : public Unanswered {
 public:
  explicit RawPackets(Qpn qpn) : way_(qpn.value()) {}
  // Who takes receive requests: all engines of a device may bring frames (QueuePair::take_frame).
  class Taking {
   public:
    explicit Taking(RawPackets* of) : of_(of) {  // null: nobody else does
      while (of_ != nullptr && of_->taking_.test_and_set(std::memory_order_acquire)) {
      }
    }
    ~Taking() {
      if (of_ != nullptr) of_->taking_.clear(std::memory_order_release);
    }
    Taking(const Taking&) = delete;
    Taking& operator=(const Taking&) = delete;

   private:
    RawPackets* of_;
  };

  // --- what any transport has: see IsTransport ---
  void connect(Psn first, Services& services, Nanoseconds now);
  void start_sending(Psn, uint64_t, Services&) { sending_ = true; }
  void disconnect(Services&) { sending_ = false; }
  Arrival classify(const Packet&) const { return Arrival::kUnsupported; }  // no packet names it
  void receive(Context&, const Packet&, Plane) {}
  More transmit(Context& cx, size_t budget, bool) { return take_turn(*this, cx, budget); }
  void on_timer(Context&) {}
  Nanoseconds next_deadline() const { return kNever; }
  std::optional<CompletionStatus> failure() const {
    return overran_.load(std::memory_order_relaxed) ? CompletionStatus::kGeneralError : failure_;
  }
  const ResponderFault* fault() const {
    return bad_memory_.load(std::memory_order_relaxed) ? &kBadMemory : nullptr;
  }
  void flush(Context& cx, CompletionStatus first);
  template <typename Each>
  void drain_receives(Each&&) {}  // there are no messages under way

  // --- of raw packets alone ---
  Burst send(Context& cx, size_t budget);
  bool has_work(const Context& cx) const { return !failure_ && cx.start_requests && !cx.send_queue.empty(); }
  // While the caller is Taking. False: the queue pair's own engine has to look at it.
  bool take(Context& cx, std::span<const uint8_t> frame);

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
  uint32_t way_;                   // any number; queue pairs with different ones use different planes
  Nanoseconds waiting_since_ = 0;  // somebody has no room since then; 0 = all have
  std::vector<uint8_t> frame_;     // the one that is being sent
  std::vector<Qpn> listeners_;     // kept for their memory, as the next
  std::vector<MacAddress> ways_;   // where the frame goes
  std::optional<CompletionStatus> failure_;
};
static_assert(IsTransport<RawPackets>);

}  // namespace mrc
