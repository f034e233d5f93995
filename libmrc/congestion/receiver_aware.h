// SPDX-License-Identifier: BSD-2-Clause
// A controller for incast, beyond MRC: the receiver counts who sends to it and says so in rcv_cwnd_pen; each
// sender then keeps to its share of one window. NSCC runs underneath and governs everything but the last hop.
//
// Why: below one packet per round trip a window cannot shrink, so with 1023 senders NSCC keeps 1023 packets
// in flight where 50 fit, and the rest are trimmed or lost for ever. A share smaller than a packet is kept by
// waiting: one packet every packet/share round trips, of the round trip as it is measured now, queue
// included. So the sum of all senders is self-clocked like a window: base RTT plus the queue the shares add
// up to.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "libmrc/congestion/nscc.h"

namespace mrc {

// The 7 bits as a degree of incast: 0 says nothing, 1 + 8*log2(senders), rounded up. 1 sender to 55,000.
uint8_t encode_incast_degree(uint32_t senders);
double decode_incast_degree(uint8_t code);

class ReceiverAware {
 public:
  // `expected_senders`: OCP's hint num_remote_recv_peers; 0 = unknown. It rules until the receiver has had
  // time to count. `seed` keeps senders that begin together from staying in step.
  void reset(const NsccConfig& config, uint32_t expected_senders, uint64_t seed);

  bool may_send(Nanoseconds now) const;
  // When sending may go on: 0 = now, kNever = only a SACK can tell.
  Nanoseconds next_send_at() const;

  void on_sent(Nanoseconds now, uint64_t bytes);
  void on_sack(const SackSignal& sack);
  // What the receiver says of who sends to it, in a SACK or with a NACK; not 0.
  void on_degree(Nanoseconds now, uint8_t code);
  void on_trim_nack(Nanoseconds now, uint64_t bytes, bool last_hop);
  void on_resource_nack(uint64_t bytes) { nscc_.on_resource_nack(bytes); }
  void on_loss(uint64_t bytes);
  void on_timeout(uint64_t bytes);
  void forget(uint64_t bytes) { nscc_.forget(bytes); }

  bool wants_answer(uint64_t bytes) const;
  uint64_t surely_open(Nanoseconds) const { return 0; }  // every packet has its time
  // Never less than a packet: a share that is smaller is kept by waiting.
  uint64_t cwnd() const {
    return std::min(nscc_.cwnd(),
                    std::max<uint64_t>(nscc_.config().mtu, static_cast<uint64_t>(share_bytes_)));
  }
  uint64_t cwnd_max() const { return nscc_.cwnd_max(); }
  uint64_t inflight() const { return nscc_.inflight(); }
  double degree() const { return degree_; }
  Nanoseconds excuses_losses_before() const { return told_at_; }
  const Nscc& nscc() const { return nscc_; }

 private:
  void set_degree(double degree);
  void squeeze(bool crowded = false);
  double draw();
  bool paced() const;
  bool sparse() const { return share_bytes_ < nscc_.config().mtu; }  // less than a packet per round trip
  double turn_ns(uint64_t bytes) const;
  bool window_open() const;
  Nanoseconds pace_end() const;

  Nscc nscc_;
  double degree_ = 1;
  double expected_ = 0;
  Nanoseconds expected_until_ = kNever;  // the hint rules up to here
  double share_bytes_ = 0;               // this sender's part of one window; may be less than a packet
  double rtt_ns_ = 0;                    // smoothed, with its queues
  double full_rtt_ns_ = 0;               // when all shares are in flight
  double turn_part_ = 1;                 // how much of a turn to wait for the next packet
  double known_degree_ = 1;              // when turns last began anew
  Nanoseconds told_at_ = 0;              // and when that was
  uint64_t last_sent_bytes_ = 0;
  Nanoseconds last_sent_at_ = 0;
  Nanoseconds turn_started_ = 0;
  bool sent_since_squeeze_ = false;
  bool took_turn_ = false;  // the last packet was sent in its turn, and nothing bad was heard since
  bool known_ = false;      // the degree: from the hint or the receiver
  bool guessed_ = false;    // degree_ comes from squeeze()
  uint32_t failures_ = 0;   // packets lost in a row, as far as counted
  uint64_t random_ = 1;
};

// The responder's side, one per device: which senders are active, and what to put into the next SACK to each.
class ReceiverShare {
 public:
  struct Config {
    uint64_t link_rate_bps = 0;
    Nanoseconds base_rtt = 0;
    Nanoseconds target_delay = 0;
    uint32_t packet_bytes = 4096;  // of a full packet
    uint32_t senders_max = 0;      // a sender is whatever has one controller: a peer. More are not counted.
  };

  void reset(const Config& config);
  // Data of this sender arrived (also a trimmed packet: it wants to send).
  void on_data(uint32_t sender, Nanoseconds now);
  // Everything this sender had announced is here: it does not count until it sends again.
  void on_done(uint32_t sender);
  // What to say in every SACK to senders that are ReceiverAware: how many there are.
  uint8_t degree(Nanoseconds now);
  // MRC 5.3, to any NSCC sender: when the number of senders grows, a decrease for one round trip by as much.
  uint8_t penalty(uint32_t sender, Nanoseconds now);

  uint32_t active(Nanoseconds now);

 private:
  struct Sender {
    Nanoseconds last_data = 0;
    uint32_t older = kNone;  // the active ones in order of their last data
    uint32_t newer = kNone;
    bool active = false;
    uint8_t penalty = 0;  // being told until penalty_until
    Nanoseconds penalty_until = 0;
    uint32_t told = 1;  // the degree its window has been cut for
  };
  static constexpr uint32_t kNone = UINT32_MAX;

  Nanoseconds patience() const;
  void unlink(uint32_t sender);
  void expire(Nanoseconds now);

  Config config_;
  std::vector<Sender> senders_;
  uint32_t oldest_ = kNone;
  uint32_t newest_ = kNone;
  uint32_t active_ = 0;
};

}  // namespace mrc
