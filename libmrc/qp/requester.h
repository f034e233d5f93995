// SPDX-License-Identifier: BSD-2-Clause
// Turns send requests into packets, keeps the window, learns from SACK, NACK, ACK and silence what arrived
// and what was lost, repeats the lost, and completes requests in order.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "libmrc/congestion/fixed_window.h"
#include "libmrc/qp/context.h"
#include "libmrc/reliability/retry.h"
#include "libmrc/reliability/rtt_estimator.h"
#include "libmrc/reliability/sent_packets.h"
#include "libmrc/wire/packet.h"

namespace mrc {

class Requester {
 public:
  void reset(const TransportConfig& config, Psn first);
  void skip_to(uint64_t send_index) { cursor_ = send_index; }  // requests before it are gone
  RetryPolicy& retry() { return retry_; }

  struct Burst {
    size_t packets = 0;
    PathId last_path = kNoPath;  // of the last data packet
    bool blocked = false;        // more could go, but the ports have no room now
  };
  Burst transmit(Context& cx, size_t budget);

  void on_sack(Context& cx, const Packet& packet);
  void on_nack(Context& cx, const Packet& packet);
  void on_acknowledge(Context& cx, const Packet& packet);
  void on_timer(Context& cx);

  // Set when the connection cannot go on: the status of the oldest request that is not complete.
  std::optional<CompletionStatus> failure() const { return failure_; }
  // Completes everything that is left: the oldest with `first` (if there is one), the rest as flushed.
  void flush(Context& cx, CompletionStatus first);

  bool wants_to_send(const SendQueue& queue) const;
  Nanoseconds next_deadline() const;

  const SentPackets& sent() const { return sent_; }
  const RttEstimator& rtt() const { return rtt_; }

 private:
  struct Probe {
    PathId path = kNoPath;
    uint16_t id = 0;
    uint64_t order = 0;
    Nanoseconds sent_at = 0;
  };
  static constexpr size_t kProbesMax = 256;  // power of two: remembered probes, by id

  bool prepare_next_request(Context& cx);
  bool send_new(Context& cx, PathId path, uint8_t* buffer);
  bool can_follow(Context& cx) const;
  bool send_again(Context& cx, Psn psn, PathId path, uint8_t* buffer);
  bool write_packet(Context& cx, const SendRequest& request, Psn psn, PathId path, bool again,
                    bool ack_request, uint8_t* buffer);
  bool gather(Context& cx, const SendRequest& request, uint32_t offset, uint32_t bytes, FrameWriter* frame);
  CompletionStatus check(Context& cx, const SendRequest& request) const;
  void fail_locally(Context& cx, CompletionStatus status);

  bool credit(Context& cx, Psn psn);
  void credit_up_to(Context& cx, Psn psn);
  void learn_from_trigger(Context& cx, const Packet& packet);
  void find_losses(Context& cx, Psn base, uint64_t bitmap);
  void judge(Context& cx, Psn psn);
  void lose(Context& cx, Psn psn, uint64_t* cause);
  void complete_up_to(Context& cx, Psn psn);
  void complete(Context& cx, const SendRequest& request, CompletionStatus status);
  void send_probe(Context& cx, PathId path);
  void nudge(Context& cx);
  void heard(Nanoseconds now);

  bool busy() const { return sent_.outstanding() > 0 || unacknowledged_ > 0; }
  Nanoseconds silence_allowed() const;
  Nanoseconds reorder_window() const;

  const TransportConfig* config_ = nullptr;
  SentPackets sent_;
  FixedWindow window_;
  RetryPolicy retry_;
  RttEstimator rtt_;

  // Turning requests into packets.
  uint64_t cursor_ = 0;          // send queue index of the request being sent
  uint32_t offset_ = 0;          // bytes of it that have been sent
  bool started_ = false;         // it has its PSNs
  uint32_t unacknowledged_ = 0;  // requests of which something was sent, not complete
  uint16_t msn_ = 0;
  uint16_t receive_msn_ = 0;
  uint16_t immediates_ = 0;  // WriteImm requests in flight
  uint64_t order_ = 0;       // transmissions so far

  // What is known of deliveries.
  Nanoseconds newest_delivery_ = 0;  // send time of the latest-sent packet known to have arrived
  uint32_t received_units_ = 0;
  bool sack_seen_ = false;
  uint32_t reorder_scale_ = 1;  // grows when a retransmission turns out to have been needless
  Nanoseconds last_needless_ = 0;

  // Timers.
  Nanoseconds timer_base_ = 0;   // the retransmission timer counts from here
  Nanoseconds quiet_since_ = 0;  // the probe timer counts from here
  uint32_t silences_ = 0;        // probes since anything was heard

  uint16_t next_probe_id_ = 1;
  std::array<Probe, kProbesMax> probes_{};
  Nanoseconds next_path_probe_ = kNever;  // mirror of the path set's

  std::optional<CompletionStatus> local_error_;  // of the request at cursor_; reported in its turn
  std::optional<CompletionStatus> failure_;
};

}  // namespace mrc
