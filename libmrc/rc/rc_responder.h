// SPDX-License-Identifier: BSD-2-Clause
// The responder of plain RoCEv2 RC: takes packets strictly in order, places them, and answers in order:
// READ responses, results of atomics, ACKs and NAKs. What comes out of order is dropped and named once.
// rc_responder.cc takes requests, rc_responder_answers.cc answers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "libmrc/wire/packet.h"
#include "libmrc/work/context.h"
#include "libmrc/work/receive_slots.h"
#include "libmrc/work/responder_fault.h"

namespace mrc {

class RcResponder {
 public:
  // `copied_segments`: of the shared receive queue, 0 if there is none.
  void reset(Psn first, uint32_t answers_max, uint32_t copied_segments);

  void on_request(Context& cx, const Packet& packet);

  struct Burst {
    size_t packets = 0;
    bool blocked = false;  // more could go, but the port has no room now
  };
  // Answers that are due, and behind them the ACK or NAK.
  Burst transmit(Context& cx, size_t budget);
  bool has_work() const { return pending_ > 0 || (!fault_ && (ack_due_ || nak_due_ != 0)); }
  // A request for a queue pair that has ended with a NAK: the requester may not have heard it.
  void repeat_nak(Context& cx, Plane plane);

  // Set once a request broke a rule and everything before it was answered: the queue pair must enter the
  // error state.
  const ResponderFault* fault() const { return fault_ && pending_ == 0 ? &*fault_ : nullptr; }

  bool takes_next(Psn psn) const { return psn == expected_; }
  // Ends the connection because of a request that cannot be carried out.
  void fault_now(Psn psn, uint8_t syndrome) {
    if (!fault_) fault_ = ResponderFault{psn, syndrome, false};
  }

  ReceiveSlots& slots() { return slots_; }

 private:
  // IBTA 9.7.5: an answer is kept until as many newer ones exist as the peer may wait for. Until then it can
  // be asked for again: a READ is then carried out anew, an atomic is not.
  struct Answer {
    Psn first;
    Psn last;
    Psn from;  // where the response being sent begins: a READ may be repeated from its middle
    Psn at;    // next packet to send
    bool atomic = false;
    bool silent = false;  // an atomic without a result
    bool due = false;
    bool again = false;   // was sent before
    uint8_t repeats = 0;  // in a row, from the same place
    Nanoseconds repeated_at = 0;
    uint32_t msn = 0;
    uint32_t bytes = 0;
    MemoryKey key{};
    uint64_t address = 0;
    uint64_t result = 0;  // of an atomic
  };
  enum class Message : uint8_t { kNone, kSend, kWrite };
  enum class Taken : uint8_t { kDone, kLost, kNotReady, kFaulty };

  Taken take(Context& cx, const Packet& packet);
  Taken take_send(Context& cx, const Packet& packet);
  Taken take_write(Context& cx, const Packet& packet);
  Taken take_question(Context& cx, const Packet& packet);
  bool deliver(Context& cx, const Packet& packet, uint32_t bytes);
  bool well_formed(const Context& cx, const Packet& packet) const;
  void on_duplicate(Context& cx, const Packet& packet);
  Taken refuse(const Packet& packet, uint8_t syndrome, bool in_receive = false);
  Taken not_ready(const Context& cx) const { return cx.connection.lossy ? Taken::kLost : Taken::kNotReady; }
  Taken no_access(const Context& cx, const Packet& packet) {
    return cx.connection.lossy ? Taken::kLost : refuse(packet, Aeth::kNakRemoteAccess);
  }

  bool make_room_for_answer();
  Answer& add_answer();
  Answer& answer_at(uint64_t index) { return answers_[index & (answers_.size() - 1)]; }
  bool send_answer(Context& cx, Answer& answer);
  bool send_read_response(Context& cx, Answer& answer, uint8_t* buffer);
  bool send_aeth(Context& cx, Psn psn, uint8_t syndrome);

  Psn expected_;
  Psn taken_;         // the last packet of a SEND or WRITE: what an ACK may name
  uint32_t msn_ = 0;  // messages completed
  // The message being received.
  Message message_ = Message::kNone;
  bool lost_ = false;    // it could not be taken; nothing is done with the rest of it
  uint64_t offset_ = 0;  // bytes of it that have arrived
  Reth write_;           // of its first packet
  ReceiveSlots slots_;   // never more than one

  // What is to be said.
  bool ack_due_ = false;
  uint8_t nak_due_ = 0;   // its syndrome; for expected_
  bool told_ = false;     // expected_ was asked for again: not another word until it comes
  uint32_t unacked_ = 0;  // packets since the last ACK
  std::optional<ResponderFault> fault_;

  std::vector<Answer> answers_;  // ring
  uint32_t answers_max_ = 0;
  uint64_t first_answer_ = 0;
  uint64_t end_answer_ = 0;
  uint64_t next_answer_ = 0;  // none before it is due
  uint32_t pending_ = 0;      // answers that are due
};

}  // namespace mrc
