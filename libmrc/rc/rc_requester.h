// SPDX-License-Identifier: BSD-2-Clause
// The requester of plain RoCEv2 RC: packets leave in order by one path, a fixed window is all that holds them
// back, and whatever goes wrong makes it go back to the oldest packet that is not acknowledged (go-back-N).
// It is the baseline of comparisons and speaks to soft-RoCE. rc_requester.cc sends, rc_requester_feedback.cc
// hears and waits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "libmrc/path/retransmit_cause.h"
#include "libmrc/reliability/excused_timer.h"
#include "libmrc/reliability/retry.h"
#include "libmrc/wire/packet.h"
#include "libmrc/work/context.h"
#include "libmrc/work/receiver_not_ready.h"
#include "libmrc/work/request_order.h"

namespace mrc {

class RcRequester {
 public:
  void reset(const TransportConfig& config, Psn first);
  void skip_to(uint64_t send_index) {  // requests before it are gone
    cursor_ = send_index;
    requests_.skip_to(send_index);
  }
  void abandon() {}  // nothing is in anybody's books
  RetryPolicy& retry() { return retry_; }

  struct Burst {
    size_t packets = 0;
    bool blocked = false;  // more could go, but the port has no room now
  };
  Burst transmit(Context& cx, size_t budget);

  void on_acknowledge(Context& cx, const Packet& packet);
  // A READ response or the acknowledgement of an atomic.
  void on_answer(Context& cx, const Packet& packet);
  void on_timer(Context& cx);
  void on_pause(Nanoseconds away, Nanoseconds now) { unmoved_.excuse(away, now, retry_.timeout()); }

  // Set when the connection cannot go on: the status of the oldest request that is not complete.
  std::optional<CompletionStatus> failure() const { return requests_.failure(); }
  void flush(Context& cx, CompletionStatus first);

  bool has_work(const Context& cx) const;
  // No request is under way (those not started do not count).
  bool drained(const Context& cx) const { return requests_.all_done(cx); }
  Nanoseconds next_deadline() const;
  Psn oldest() const { return oldest_; }  // the first that is not acknowledged
  const RetransmitCounts& retransmits() const { return retransmits_; }

 private:
  // Sending.
  bool prepare(Context& cx);
  bool may_start_next(const Context& cx) const;
  CompletionStatus check(const Context& cx, const SendRequest& request) const;
  bool start_request(Context& cx);
  bool send_packet(Context& cx, uint8_t* buffer);
  bool wants_acknowledgement(const Context& cx, const SendRequest& request, bool last) const;
  bool write_atomic_write(Context& cx, const SendRequest& request, uint8_t* buffer);
  void write_flush(Context& cx, const SendRequest& request, uint8_t* buffer);
  bool write_packet(Context& cx, const SendRequest& request, uint8_t* buffer);
  // Packets that were sent and are not acknowledged; READs are limited by their number instead.
  uint32_t in_flight() const { return static_cast<uint32_t>(next_ - oldest_) - answer_psns_; }
  bool busy() const { return oldest_ != next_; }
  bool waits() const { return busy() || held_up_; }
  void hold_up(const Context& cx);
  bool going_back() const { return at_ != next_; }
  // As much has been repeated as may be before the peer shows that it is alive.
  bool held_back() const { return going_back() && repeated_ >= repeat_limit_; }

  // Hearing.
  bool acknowledge_up_to(Context& cx, Psn psn);
  void finish_oldest(Context& cx);
  void progressed(Context& cx);
  void implied_nak(Context& cx);
  void on_not_ready(Context& cx, uint8_t timer);
  bool place_answer(Context& cx, const SendRequest& request, const Packet& packet);
  void go_back(Context& cx, RetransmitCause cause);
  void retry_from_oldest(Context& cx, RetransmitCause cause);
  void count_retransmit(Context& cx);

  RetryPolicy retry_;
  uint32_t window_ = 0;  // packets

  Psn oldest_;  // the first that is not acknowledged (or, of a READ, not answered)
  Psn next_;    // the first that was never sent
  Psn at_;      // the next to send: next_, or less while going back
  RequestOrder requests_;
  uint64_t cursor_ = 0;  // send queue index of the request that holds at_
  uint32_t answers_awaited_ = 0;
  uint32_t answer_psns_ = 0;   // PSNs in [oldest_, next_) that belong to READs and atomics
  uint32_t unasked_ = 0;       // packets since an acknowledgement was asked for
  RetransmitCause cause_{};    // why it went back
  uint32_t repeated_ = 0;      // packets, since it went back or something was acknowledged
  uint32_t repeat_limit_ = 0;  // for these

  RetransmitCounts retransmits_{};
  ExcusedTimer unmoved_;  // of retransmissions
  bool held_up_ = false;  // there is something to send, and the port has no room for it
  bool heard_ = false;    // of the peer, ever
  ReceiverNotReady not_ready_;
  std::optional<Psn> implied_at_;  // an answer was found missing here, and has been asked for again
  bool refused_ = false;  // a NAK that ends the connection has come, but an answer before it is missing
};

}  // namespace mrc
