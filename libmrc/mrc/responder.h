// SPDX-License-Identifier: BSD-2-Clause
// Places arriving packets in memory in whatever order they come, does in order what needs order (immediates,
// SENDs, READs, atomics), and answers: SACKs for what arrived, transport acknowledgements for what is done.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "libmrc/containers/growing_ring.h"
#include "libmrc/mrc/answers.h"
#include "libmrc/mrc/held_writes.h"
#include "libmrc/mrc/write_order.h"
#include "libmrc/peer/own_paths.h"
#include "libmrc/reliability/receive_window.h"
#include "libmrc/reliability/sent_packets.h"
#include "libmrc/wire/packet.h"
#include "libmrc/work/context.h"
#include "libmrc/work/question.h"
#include "libmrc/work/receive_slots.h"
#include "libmrc/work/responder_fault.h"

namespace mrc {

class Requester;

class Responder {
 public:
  explicit Responder(Answers& answers) : answers_(&answers) {}  // which outlive it
  // `copied_segments`: of the shared receive queue, 0 if there is none.
  void reset(const TransportConfig& config, Psn first, uint32_t answers_max, const ReceiveSlots::Size& slots);

  // Takes a WRITE's packet if that lets nothing else pass and there is nothing unusual about it, which is how
  // most come. False: nothing was done.
  bool take_write(const Connection& connection, Services& services, EventTrace& trace, const Packet& packet,
                  Plane plane, Nanoseconds now);
  // The same for a packet of a SEND, or of the answer to a READ, that does not end it.
  bool take_middle(Context& cx, const Packet& packet, Plane plane);
  void on_request(Context& cx, const Packet& packet, Plane plane, Requester& requester);
  void on_trimmed(Context& cx, const Packet& packet, Plane plane);
  void on_probe(Context& cx, const Packet& packet, Plane plane);
  // Places what is due of WRITEs that were held back (disorder).
  void release_writes(Context& cx, Requester& requester);
  // A request for a queue pair that has ended with a NAK: the requester may not have heard it.
  void repeat_nak(Context& cx, Plane plane);
  // Whether it is a packet that has not come yet, in the window.
  bool takes_next(Psn psn) const { return window_.classify(psn) == ReceiveWindow::Arrival::kNew; }
  // Ends the connection because of a request that has had its turn already.
  void fault_now(Psn psn, uint8_t syndrome) {
    if (!nak_) nak_ = ResponderFault{psn, syndrome, false};
  }

  // MRC 1.4, 4.2, ALWAYS_SKIP: the peer is to leave these paths of its own.
  void shun(PathNames paths) { shunned_ = std::move(paths); }

  // Whether an answer waits to be sent, and sending it. Those that speak of losses are urgent. The others may
  // wait for one burst, so that they ride behind the data the application sends in return (`behind`: its
  // path): a peer that hears of its completion first may stop polling before the data come.
  bool control_due() const { return sack_due_ || ack_due_ || probe_count_ > 0; }
  bool acknowledgement_due() const { return ack_due_; }
  bool control_urgent() const { return sack_urgent_ || probe_count_ > 0; }
  void send_control_packets(Context& cx, PathId behind);

  // Set once a request broke a rule and its turn came: the queue pair must enter the error state.
  const ResponderFault* fault() const { return nak_ ? &*nak_ : nullptr; }

  ReceiveSlots& slots() { return slots_; }
  Psn expected() const { return window_.expected(); }  // the first that is missing
  bool has_received() const { return anything_received_; }
  const ReceiveWindow& window() const { return window_; }

 private:
  // A READ, atomic or FLUSH that waits for its turn.
  struct Ordered {
    bool used = false;
    Psn psn;
    uint16_t msn = 0;
    Question question;
  };
  // The packet that asked for the next SACK.
  struct Trigger {
    Psn psn;
    Entropy entropy{};
    Plane plane = 0;
    bool retransmission = false;
    PathMark mark = PathMark::kNone;
    uint16_t timestamp = 0;
  };
  struct ProbeAnswer {
    Trigger trigger;
    uint16_t id = 0;
  };
  // What became of a new packet: nothing is recorded of one that is refused for now.
  enum class Placed : uint8_t { kRecorded, kNotReady, kDropped };

  static constexpr uint32_t kSackCountMin = 1024;  // MRC 3.1: a packet counts as at least 1 KiB

  // What may take a short way: a packet with data, and nothing unusual about it but its place in the window.
  bool is_usual(const Services& services, const Packet& packet, Plane plane) const {
    return !packet.payload.empty() && !packet.trimmed && !fault_ && !nak_ && services.disorder == nullptr &&
           !config_->counts_senders() && mark_of(packet, plane) == PathMark::kNone;
  }
  // Not what closes a gap: that lets others pass that may have to be carried out.
  bool lets_none_pass(Psn psn) const {
    return window_.would_pass(psn) ||
           (psn != window_.expected() && window_.classify(psn) == ReceiveWindow::Arrival::kNew);
  }
  // Of a packet that has been placed there.
  void take_in(Services& services, EventTrace& trace, const Packet& packet, Plane plane, Nanoseconds now);
  std::span<const Segment> asked_memory(SendQueue& requests, const Packet& packet) const;
  std::span<const Segment> receive_memory(const Packet& packet);
  Placed place_other(Context& cx, const Packet& packet, uint8_t* passing);
  Placed place_write(Context& cx, const Packet& packet, uint8_t* passing);
  Placed place_send(Context& cx, const Packet& packet, uint8_t* passing);
  Placed place_answer(Context& cx, const Packet& packet, uint8_t* passing);
  size_t held_ordered() const;
  Ordered* free_ordered() noexcept;
  Placed hold_ordered(Context& cx, const Packet& packet, uint8_t* passing);
  Placed bind_receive(Context& cx, const Packet& packet, uint8_t* passing);
  Placed lose(Context& cx, const Packet& packet, uint8_t* passing);
  bool hold_write(Context& cx, const Packet& packet, uint8_t* to);
  bool waits_for_held();
  void refuse(Psn psn, uint8_t syndrome, bool in_receive, uint8_t* passing);

  void count_arrival(Counters& counters, const Packet& packet, Plane plane);
  void advance(Context& cx, Requester& requester);
  void pass(Psn psn, bool ends_message, bool asks);
  void deliver_receive(Context& cx, Psn psn);
  void carry_out_ordered(Context& cx, Psn psn);

  void send_sack(Context& cx, PathId path, const Trigger& trigger, std::optional<uint16_t> probe);
  void answer_probes(Context& cx);
  bool send_aeth(Context& cx, PathId path, Psn psn, uint8_t syndrome) const;
  void send_acknowledge(Context& cx, PathId path);
  void send_not_ready(Context& cx, const Packet& packet, Plane plane);
  void send_nack(Context& cx, const Packet& packet, Plane plane, NackReason reason);
  PathMark mark_of(const Packet& packet, Plane plane) const {
    if (shunned_ != nullptr && shuns(packet, plane)) [[unlikely]]
      return PathMark::kAlwaysSkip;
    return packet.ecn == Ecn::kCongestion ? PathMark::kSkipOnce : PathMark::kNone;
  }
  Trigger trigger_of(const Packet& packet, Plane plane) const;
  uint8_t welcome(const Context& cx) const;
  uint8_t word_to_senders(Context& cx) const;

  bool shuns(const Packet& packet, Plane plane) const;

  Answers* answers_;
  const TransportConfig* config_ = nullptr;
  ReceiveWindow window_;
  WriteOrder order_;
  std::unique_ptr<HeldWrites> held_;  // made with the first one
  uint32_t msn_ = 0;                  // messages completed in order
  uint64_t received_bytes_ = 0;       // of new packets, nominal (SPEC 8.3.1)
  bool nothing_follows_ = false;      // behind the cumulative PSN, as far as the requester has said
  uint32_t unsacked_bytes_ = 0;       // MRC 3.1, sack_trigger_cnt
  bool anything_received_ = false;
  bool sack_due_ = false;
  bool sack_wanted_ = false;  // an ACK alone does not do
  bool sack_urgent_ = false;  // it does not wait for a burst
  bool ack_due_ = false;
  Trigger trigger_;
  std::array<ProbeAnswer, 16> probes_{};  // to be answered at the end of the burst
  uint32_t probe_count_ = 0;
  Nanoseconds last_window_nack_ = 0;

  PathNames shunned_;  // paths that the peer is to leave

  ReceiveSlots slots_;
  std::vector<Ordered> ordered_;  // as many as have ever waited at once
  uint32_t ordered_max_ = 0;
  GrowingRing<uint16_t> answer_msn_;     // by PSN: the request that a packet in the window ends the answer to
  std::optional<ResponderFault> fault_;  // the lowest faulty packet that has arrived
  std::optional<ResponderFault> nak_;    // it has had its turn
};

// Here, for every packet that arrives goes through them.

inline Responder::Trigger Responder::trigger_of(const Packet& packet, Plane plane) const {
  Trigger trigger;
  trigger.psn = packet.bth.psn;
  trigger.entropy = packet.entropy;
  trigger.plane = plane;
  trigger.retransmission = packet.bth.retransmission;
  trigger.mark = mark_of(packet, plane);
  trigger.timestamp = packet.bth.has_timestamp ? packet.time.timestamp : 0;
  return trigger;
}

// A new one that is not refused. MRC 12.S5, 3.1, SPEC 7.5.2: what makes a SACK go out.
inline void Responder::count_arrival(Counters& counters, const Packet& packet, Plane plane) {
  const auto bytes = static_cast<uint32_t>(packet.payload.size());
  ++counters.requests_received;
  received_bytes_ += nominal_size(bytes);
  unsacked_bytes_ += std::max(kSackCountMin, bytes);
  const bool wanted = unsacked_bytes_ > config_->sack_threshold_bytes || packet.bth.retransmission;
  if (wanted || packet.bth.ack_request || !anything_received_) {
    trigger_ = trigger_of(packet, plane);
    sack_due_ = true;
    sack_wanted_ = sack_wanted_ || wanted;
    sack_urgent_ = sack_urgent_ || packet.bth.retransmission;
  }
  anything_received_ = true;
}

// What it asked for has been done.
inline void Responder::pass(Psn psn, bool ends_message, bool asks) {
  if (ends_message) {
    ++msn_;
    answers_->owed.note_done(psn);
  }
  nothing_follows_ = ends_message && asks;  // MRC 3.1: who has nothing more to send asks for an answer
  if (asks) ack_due_ = true;
}

[[gnu::always_inline]] inline void Responder::take_in(Services& services, EventTrace& trace,
                                                      const Packet& packet, Plane plane, Nanoseconds now) {
  const Psn psn = packet.bth.psn;
  const bool ends = is_message_end(packet.bth.opcode);
  const bool asks = packet.bth.ack_request;
  services.counters.payload_bytes_placed += packet.payload.size();
  trace.note(now, TraceEvent::kReceived, psn, kNoPath, static_cast<uint32_t>(packet.payload.size()));
  count_arrival(services.counters, packet, plane);
  if (window_.would_pass(psn)) {
    window_.pass_at_once();
    pass(psn, ends, asks);
  } else {
    window_.record(psn, static_cast<uint8_t>((ends ? ReceiveWindow::kEndsMessage : 0) |
                                             (asks ? ReceiveWindow::kAckRequested : 0)));
  }
}

}  // namespace mrc
