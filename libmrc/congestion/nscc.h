// SPDX-License-Identifier: BSD-2-Clause
// NSCC ("uet-1.0-nscc", MRC 5, 12.R12): a window in bytes, clocked by SACKs, steered by ECN and delay. Pure
// logic: no paths, no PSNs, no clock.
#pragma once

#include <algorithm>
#include <cstdint>

#include "libmrc/congestion/signals.h"
#include "libmrc/congestion/turns.h"
#include "libmrc/wire/time.h"

namespace mrc {

// MRC 5.2. The first thirteen are those of OCP's mrc_ctl_cc_nscc_cfg.
struct NsccConfig {
  bool disable_qa = false;
  uint32_t adjust_bytes_threshold = 0;
  Nanoseconds adjust_period_threshold = 0;
  Nanoseconds base_rtt = 0;  // the network's; where the least observed one starts from
  double eta = 0;            // bytes added once per period
  double fi = 0;             // fair increase, bytes
  double fi_scale = 0;       // fast increase, bytes per byte
  double gamma = 0.8;
  double max_md_jump = 0.5;
  uint64_t max_cwnd = 0;  // also where the window starts
  uint8_t qa_gate = 3;
  Nanoseconds qa_threshold = 0;
  Nanoseconds target_delay = 0;

  uint32_t mtu = 0;  // nominal bytes of a full packet; the window never falls below it
  bool trimming = false;
};

// MRC 5.2: the defaults for a network. `mss` is the payload of a full packet, `link_rate_bps` the sum of the
// planes.
NsccConfig nscc_defaults(uint64_t link_rate_bps, Nanoseconds base_rtt, uint32_t mss, bool trimming);

// MRC 5.2: scaling a and b, for those who want to look at them.
double nscc_scaling_a(uint64_t link_rate_bps, Nanoseconds base_rtt);
double nscc_scaling_b(Nanoseconds target_delay);

class Nscc {
 public:
  // `seed`: any number of the connection's own; 0 = somebody else sees to what is less than a packet.
  void reset(const NsccConfig& config, uint64_t seed = 0);

  // MRC 5.1: sending goes on while the window is larger than what is in flight.
  bool window_open() const { return static_cast<int64_t>(cwnd_) > inflight_; }
  bool may_send(Nanoseconds now) const { return window_open() && now >= turns_.next(); }
  Nanoseconds next_send_at() const { return window_open() ? turns_.next() : kNever; }

  void on_sent(Nanoseconds, uint64_t bytes) { inflight_ += static_cast<int64_t>(bytes); }
  void on_sack(const SackSignal& sack);
  void on_degree(Nanoseconds, uint8_t) {}  // not MRC's
  // TRIMMED and, since MRC has no receiver credits (MRC 5.1), TRIMMED_LASTHOP too.
  void on_trim_nack(Nanoseconds now, uint64_t bytes, bool last_hop);
  void on_resource_nack(uint64_t bytes);
  void on_loss(uint64_t bytes);     // inferred: a gap, or overtaken
  void on_timeout(uint64_t bytes);  // one packet given up by the timer
  // These bytes have left the network, and that is all there is to say about them.
  void forget(uint64_t bytes);

  bool wants_answer(uint64_t bytes) const { return inflight() + bytes >= cwnd(); }
  uint64_t surely_open(Nanoseconds now) const { return may_send(now) ? room_in(cwnd(), inflight()) : 0; }
  uint64_t cwnd() const { return static_cast<uint64_t>(cwnd_); }
  uint64_t cwnd_max() const { return config_.max_cwnd; }
  Nanoseconds excuses_losses_before() const { return 0; }
  uint64_t inflight() const { return static_cast<uint64_t>(std::max<int64_t>(inflight_, 0)); }
  Nanoseconds base_rtt() const { return base_rtt_; }
  Nanoseconds average_delay() const { return static_cast<Nanoseconds>(average_delay_); }
  bool ignoring() const { return ignored_bytes_ < ignore_bytes_; }
  const NsccConfig& config() const { return config_; }
  const Turns& turns() const { return turns_; }

 private:
  void start(Nanoseconds now);
  Nanoseconds learn_delay(const SackSignal& sack);
  void feed_average(double delay);
  void apply_penalty(const SackSignal& sack);
  bool quick_adapt(Nanoseconds now, bool discardable, Nanoseconds delay);
  void fair_increase(uint64_t newly);
  void proportional_increase(uint64_t newly, Nanoseconds delay);
  void multiplicative_decrease(Nanoseconds now, Nanoseconds delay);
  void fulfil_adjustment(Nanoseconds now);
  void shrink(double bytes);
  void stop_fast_increase() {
    fast_ = false;
    idle_delay_bytes_ = 0;
  }
  void clamp();

  NsccConfig config_;
  double cwnd_ = 0;
  int64_t inflight_ = 0;   // may dip below zero for a moment: a "lost" packet that arrives after all
  double alpha_ = 0;       // bytes per nanosecond
  double inc_bytes2_ = 0;  // bytes * window, divided by the window when applied
  Nanoseconds base_rtt_ = 0;
  double average_delay_ = 0;
  uint64_t received_bytes_ = 0;  // since the last adjustment
  Nanoseconds adjusted_at_ = 0;
  Nanoseconds eta_at_ = 0;
  Nanoseconds decreased_at_ = 0;
  bool decreased_ = false;
  bool started_ = false;  // the first signal starts the measurements

  uint64_t idle_delay_bytes_ = 0;  // bytes in a row that met no queue
  bool fast_ = false;

  Nanoseconds qa_end_ = 0;
  uint64_t achieved_bytes_ = 0;  // in the window of quick adapt
  uint64_t lost_bytes_ = 0;      // likewise, trimmed or taken for lost
  uint64_t ignore_bytes_ = 0;
  uint64_t ignored_bytes_ = 0;

  Turns turns_;
  bool takes_turns_ = false;
  uint64_t before_floor_ = 0;  // under way since before the window became one packet
  double fair_ = 0;            // fair increase as it is now, bytes

  double saved_cwnd_ = 0;  // the window at the start of a penalty that promised to restore it; 0 = none
};

}  // namespace mrc
