// SPDX-License-Identifier: BSD-2-Clause
// MRC 12.S4: messages under way that use up a receive request (SEND, WriteImm), by their RQMSN: which receive
// request each has, and what its last packet said. Packets of several such messages arrive interleaved;
// completions are in order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "libmrc/containers/growing_ring.h"
#include "libmrc/wire/packet.h"
#include "libmrc/work/context.h"

namespace mrc {

class ReceiveSlots {
 public:
  struct Slot {
    bool bound = false;    // it has a receive request
    bool ended = false;    // its last packet has arrived
    bool is_send = false;  // else WriteImm
    bool has_immediate = false;
    bool invalidates = false;
    bool solicited = false;
    bool too_long = false;  // does not fit into the receive request
    bool lost = false;      // has none and needs none: lossy connections only
    Psn last_psn;
    uint32_t immediate = 0;
    uint32_t bytes = 0;
    uint64_t work_id = 0;
    std::span<const Segment> segments;
    std::vector<Segment> copied;          // only with a shared receive queue
    CompletionQueue* told = nullptr;      // where its completion goes
    SharedReceiveQueue* named = nullptr;  // that its sender named; it is held meanwhile
    bool from_shared() const { return !copied.empty(); }
    void let_go() {
      if (named != nullptr) --named->held;
      named = nullptr;
    }
    // Part of a SEND, into its receive request. kAck, or what the peer is refused with; the receive request
    // is to blame then. `message_bytes`: of all that is to fit, as far as is known.
    uint8_t place(Context& cx, uint64_t message_bytes, uint64_t offset, std::span<const uint8_t> payload);
    // Its last packet has arrived; `message_bytes` in all.
    void end(const Packet& packet, uint32_t message_bytes);
  };
  enum class Bind : uint8_t {
    kBound,
    kNotReady,
    kHeldBack,  // there are requests, but this queue pair holds enough of the shared ones
    kOutOfRange
  };

  struct Size {
    uint32_t messages_max = 0;     // under way
    uint32_t copied_segments = 0;  // of the shared receive queue, 0 if there is none
  };
  void reset(const Size& size);

  // The message shall not have a receive request: it is lost. False: too late, requests behind its own are in
  // use.
  bool lose(Context& cx, uint16_t receive_msn);

  uint16_t next() const { return next_; }
  // Gives the message its receive request, if it has none yet.
  Bind bind(Context& cx, uint16_t receive_msn);
  Slot& at(uint16_t receive_msn) { return slots_.at(receive_msn); }
  bool is_bound(uint16_t receive_msn) {
    return static_cast<uint16_t>(receive_msn - next_) < slots_.size() && at(receive_msn).bound;
  }
  // The slot of the message whose turn it is.
  Slot& front() { return at(next_); }
  // That message is done: its receive request is used up, and the application is told. False: the completion
  // queue overran. `datagram`: of whom it came, if it was a datagram; it then has a GRH in front.
  bool deliver(Context& cx, const Packet* datagram = nullptr);
  // The same for a message of a connection, after what it asks for besides. kAck, or what the peer is refused
  // with.
  uint8_t finish(Context& cx);
  // Receive requests taken from a shared queue that no message has finished, to be flushed with an error.
  template <typename Each>
  void drain(Each&& each) {
    for (uint64_t i = 0; i < slots_.size(); ++i) {
      Slot& slot = at(static_cast<uint16_t>(next_ + i));
      if (slot.bound && !slot.lost && slot.from_shared()) each(slot);
      slot.let_go();
      slot.bound = slot.ended = slot.lost = false;
    }
    held_shared_ = 0;
  }

 private:
  bool make_room(uint16_t receive_msn) noexcept;
  void pop(Context& cx);
  Bind bind_shared(Context& cx, uint16_t receive_msn);
  // Receive requests that the messages before this one use up.
  uint64_t used_before(uint16_t receive_msn);

  GrowingRing<Slot> slots_;
  uint32_t copied_segments_ = 0;
  uint32_t slots_max_ = 0;
  uint16_t next_ = 0;
  uint32_t held_shared_ = 0;  // requests of the shared queue that messages under way have
  bool any_lost_ = false;     // some message was lost, ever
};

}  // namespace mrc
