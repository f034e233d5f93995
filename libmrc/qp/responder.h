// SPDX-License-Identifier: BSD-2-Clause
// Places arriving packets in memory in whatever order they come, delivers immediates in order, and answers:
// SACKs for what arrived, transport acknowledgements for what is done.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "libmrc/qp/context.h"
#include "libmrc/reliability/receive_window.h"
#include "libmrc/wire/packet.h"

namespace mrc {

class Responder {
 public:
  void reset(const TransportConfig& config, Psn first);

  void on_request(Context& cx, const Packet& packet, Plane plane);
  void on_probe(Context& cx, const Packet& packet, Plane plane);
  // A request for a queue pair that has ended with a NAK: the requester may not have heard it.
  void repeat_nak(Context& cx, Plane plane);

  // Whether an answer waits to be sent, and sending it. Answers that only an AckReq asked for are not urgent:
  // they may wait for one burst, so that they ride behind the data the application sends in return (`behind`:
  // its path).
  bool control_due() const { return sack_due_ || ack_due_; }
  bool control_urgent() const { return sack_urgent_; }
  void send_control_packets(Context& cx, PathId behind);

  // Set once a request broke a rule and its turn came: the queue pair must enter the error state.
  bool faulted() const { return nak_.has_value(); }

  const ReceiveWindow& window() const { return window_; }

 private:
  // An immediate that has arrived before its turn.
  struct Stash {
    bool used = false;
    bool solicited = false;
    Psn psn;
    uint32_t immediate = 0;
    uint32_t bytes = 0;
  };
  struct Fault {
    Psn psn;
    uint8_t syndrome;
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

  uint8_t place(Context& cx, const Packet& packet);
  bool memory_allows(Context& cx, const Packet& packet, uint8_t** to) const;
  bool stash(const Packet& packet);
  void fault(Psn psn, uint8_t syndrome);
  void advance(Context& cx);
  void deliver_immediate(Context& cx, Psn psn);
  void send_sack(Context& cx, PathId path, const Trigger& trigger, std::optional<uint16_t> probe);
  void send_acknowledge(Context& cx, PathId path);
  void send_nack(Context& cx, const Packet& packet, Plane plane, NackReason reason);
  Trigger trigger_of(const Packet& packet, Plane plane) const;

  const TransportConfig* config_ = nullptr;
  ReceiveWindow window_;
  uint32_t msn_ = 0;             // messages completed in order
  uint64_t received_bytes_ = 0;  // of new packets
  uint32_t unsacked_bytes_ = 0;  // MRC 3.1, sack_trigger_cnt
  bool anything_received_ = false;
  bool sack_due_ = false;
  bool sack_urgent_ = false;
  bool ack_due_ = false;
  Trigger trigger_;
  Nanoseconds last_window_nack_ = 0;

  uint16_t next_receive_msn_ = 0;
  std::vector<Stash> stash_;    // by RQMSN; power of two
  std::optional<Fault> fault_;  // the lowest faulty packet that has arrived
  std::optional<Fault> nak_;    // it has had its turn
};

}  // namespace mrc
