// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/congestion/nscc.h"

namespace mrc {

namespace {
// MRC 5.2: the network all constants were tuned on, 100 Gb/s and 12 us.
constexpr double kReferenceRtt = 12.0 * kMicrosecond;
constexpr double kReferenceBdpBytes = 150'000;

constexpr double kFairIncreaseMss = 5;
constexpr double kProportionalMss = 4;
constexpr double kEtaMss = 0.15;
constexpr double kFastIncrease = 0.25;
constexpr double kWindowBdp = 1.5;
constexpr uint32_t kAdjustMtus = 8;
constexpr double kDelayWeight = 0.0125;
constexpr uint64_t kLossyShare = 8;    // of what came through
constexpr double kFairGrowth = 0.1;    // per window
constexpr double kFairAfterTurns = 2;  // of eta
constexpr double kCalmDelay = 0.25;    // of base_rtt: where the average goes when only some paths queue

// MRC 5.3, 3: "delay ~ 0" is 1 us on the reference network; [P] in proportion on slower ones.
Nanoseconds no_delay(Nanoseconds base_rtt) {
  return std::max(kMicrosecond, base_rtt / 12);
}

double bdp_bytes(uint64_t link_rate_bps, Nanoseconds base_rtt) {
  return static_cast<double>(link_rate_bps) / 8 * static_cast<double>(base_rtt) / kSecond;
}
}  // namespace

double nscc_scaling_a(uint64_t link_rate_bps, Nanoseconds base_rtt) {
  return bdp_bytes(link_rate_bps, base_rtt) / kReferenceBdpBytes;
}

double nscc_scaling_b(Nanoseconds target_delay) {
  return static_cast<double>(target_delay) / kReferenceRtt;
}

NsccConfig nscc_defaults(uint64_t link_rate_bps, Nanoseconds base_rtt, uint32_t mss, bool trimming) {
  const double a = nscc_scaling_a(link_rate_bps, base_rtt);
  NsccConfig config;
  config.adjust_bytes_threshold = kAdjustMtus * mss;
  config.adjust_period_threshold = base_rtt;
  config.base_rtt = base_rtt;
  config.eta = kEtaMss * mss * a;
  config.fi = kFairIncreaseMss * mss * a;
  config.fi_scale = kFastIncrease * a;
  config.max_cwnd =
      std::max<uint64_t>(mss, static_cast<uint64_t>(kWindowBdp * bdp_bytes(link_rate_bps, base_rtt)));
  config.target_delay = trimming ? base_rtt * 3 / 4 : base_rtt;
  config.qa_threshold = 4 * config.target_delay;
  config.mtu = mss;
  config.trimming = trimming;
  return config;
}

void Nscc::reset(const NsccConfig& config, uint64_t seed) {
  *this = Nscc{};
  takes_turns_ = seed != 0;
  turns_.reset(config.base_rtt + config.target_delay, seed);
  fair_ = config.fi;
  config_ = config;
  cwnd_ = static_cast<double>(config.max_cwnd);  // MRC 5.2: the window starts at its largest
  base_rtt_ = config.base_rtt;
  // MRC 5.2: alpha = 4 MSS a b / target_delay, and fi = 5 MSS a, b = target_delay / 12 us; OCP's set of
  // parameters has no alpha of its own.
  alpha_ = kProportionalMss / kFairIncreaseMss * config.fi / kReferenceRtt;
}

void Nscc::clamp() {
  cwnd_ = std::clamp(cwnd_, static_cast<double>(config_.mtu), static_cast<double>(config_.max_cwnd));
}

void Nscc::shrink(double bytes) {
  cwnd_ -= bytes;
  clamp();
}

void Nscc::forget(uint64_t bytes) {
  inflight_ -= static_cast<int64_t>(bytes);
  ignored_bytes_ += bytes;
  before_floor_ -= std::min(before_floor_, bytes);
}

void Nscc::start(Nanoseconds now) {
  if (started_) return;
  started_ = true;
  adjusted_at_ = eta_at_ = now;
  qa_end_ = now + config_.base_rtt + config_.target_delay;
}

void Nscc::feed_average(double delay) {
  average_delay_ += kDelayWeight * (delay - average_delay_);
}

// MRC 5.3: the delay of this SACK, and the average.
Nanoseconds Nscc::learn_delay(const SackSignal& sack) {
  if (sack.rtt == 0) return average_delay();
  if (!sack.short_packet) base_rtt_ = std::min(base_rtt_, sack.rtt);  // MRC 5.2
  const Nanoseconds delay = sack.rtt - std::min(base_rtt_, sack.rtt);
  // Delay without a mark is the last hop's or a path's own; it must not make the average a reason to
  // decrease.
  const bool calm = !sack.ce && delay > config_.target_delay;
  feed_average(calm ? kCalmDelay * static_cast<double>(base_rtt_) : static_cast<double>(delay));
  return delay;
}

// MRC 5.3: 64 in every SACK of a round trip halves the window, 127 leaves about a packet.
void Nscc::apply_penalty(const SackSignal& sack) {
  if (sack.penalty == 0) {
    if (saved_cwnd_ > 0) cwnd_ = std::max(cwnd_, saved_cwnd_);
    saved_cwnd_ = 0;
    return;
  }
  if (sack.restore && saved_cwnd_ == 0) saved_cwnd_ = cwnd_;
  shrink(static_cast<double>(sack.newly_bytes) * sack.penalty / kPenaltyUnit);
}

void Nscc::on_sack(const SackSignal& sack) {
  start(sack.now);
  forget(sack.newly_bytes);
  achieved_bytes_ += sack.newly_bytes;
  received_bytes_ += sack.newly_bytes;
  const Nanoseconds delay = learn_delay(sack);
  apply_penalty(sack);

  if (sack.newly_bytes != 0) turns_.delivered(sack.now, sack.rtt, delay < config_.target_delay / 2);
  if (quick_adapt(sack.now, sack.ce, delay)) return;
  if (turns_.waiting()) return;  // one packet is still too much
  const bool late = delay >= config_.target_delay;
  if (!sack.ce) {
    // [P] A receiver that asks for less does not get more from the same SACK.
    if (sack.penalty != 0) {
    } else if (late) {
      fair_increase(sack.newly_bytes);
    } else {
      proportional_increase(sack.newly_bytes, delay);
    }
  } else if (late) {
    multiplicative_decrease(sack.now, delay);
  }
  // A mark without delay: only the path changes.
  if (received_bytes_ > config_.adjust_bytes_threshold ||
      sack.now - adjusted_at_ >= config_.adjust_period_threshold)
    fulfil_adjustment(sack.now);
}

// MRC 5.3. [P] Where the last hop does not mark, delay without a mark may be a crowd, and each of its members
// would add five packets per round trip, to have them trimmed. So after turns it begins small.
void Nscc::fair_increase(uint64_t newly) {
  inc_bytes2_ += fair_ * static_cast<double>(newly);
  fair_ = std::min(config_.fi, fair_ * (1 + kFairGrowth * static_cast<double>(newly) / cwnd_));
  stop_fast_increase();
}

void Nscc::proportional_increase(uint64_t newly, Nanoseconds delay) {
  if (delay < no_delay(base_rtt_)) {
    // MRC 5.3: fast increase, once more than a window met no queue at all.
    idle_delay_bytes_ += newly;
    if (fast_ || idle_delay_bytes_ > cwnd()) {
      fast_ = true;
      cwnd_ += static_cast<double>(newly) * config_.fi_scale;
      clamp();
      return;
    }
  } else {
    stop_fast_increase();
  }
  inc_bytes2_ += alpha_ * static_cast<double>(newly) * static_cast<double>(config_.target_delay - delay);
}

void Nscc::multiplicative_decrease(Nanoseconds now, Nanoseconds delay) {
  stop_fast_increase();
  const auto target = static_cast<double>(config_.target_delay);
  if (average_delay_ <= target) return;
  // At most once per base_rtt; [P] where packets queue for longer, once per that time: marks of packets that
  // were under way at the last decrease tell nothing of what it did.
  if (decreased_ && now - decreased_at_ < std::max(base_rtt_, delay)) return;
  decreased_ = true;
  decreased_at_ = now;
  cwnd_ *= std::max(1 - config_.gamma * (average_delay_ - target) / average_delay_, config_.max_md_jump);
  clamp();
}

void Nscc::fulfil_adjustment(Nanoseconds now) {
  cwnd_ += inc_bytes2_ / cwnd_;
  if (now - eta_at_ >= config_.adjust_period_threshold) {
    cwnd_ += config_.eta;
    eta_at_ = now;
  }
  clamp();
  inc_bytes2_ = 0;
  received_bytes_ = 0;
  adjusted_at_ = now;
}

// MRC 5.3, quick adapt: when much was lost and little came through, the window becomes what came through.
// True if it has just done so, or if this signal (`discardable`: a marked SACK, a NACK) is about packets that
// were on their way at that moment.
bool Nscc::quick_adapt(Nanoseconds now, bool discardable, Nanoseconds delay) {
  if (config_.disable_qa) return false;
  if (ignoring() && discardable) return true;
  if (now < qa_end_) return false;
  // MRC 5.2: delay is a reason only where nothing is trimmed. A flow that has little in flight behind the
  // long queue of another would never get out of it.
  // [P] One packet lost where hardly more was asked for is not much: then little came through for want of
  // work.
  const bool lossy = lost_bytes_ > 0 && lost_bytes_ >= achieved_bytes_ / kLossyShare;
  const bool trouble = lossy || (!config_.trimming && delay > config_.qa_threshold);
  const bool fires = trouble && achieved_bytes_ < config_.max_cwnd >> config_.qa_gate;
  if (fires) {
    cwnd_ = std::min(cwnd_, static_cast<double>(achieved_bytes_));
    clamp();
    stop_fast_increase();
    inc_bytes2_ = 0;
    ignore_bytes_ = inflight();
    ignored_bytes_ = 0;
  }
  // [P] What was lost goes with its window even if nothing was done: an old loss says nothing of the next
  // one.
  lost_bytes_ = 0;
  achieved_bytes_ = 0;
  qa_end_ = now + config_.base_rtt + config_.target_delay;
  return fires;
}

void Nscc::on_trim_nack(Nanoseconds now, uint64_t bytes, bool) {
  start(now);
  const bool at_floor = cwnd() <= config_.mtu;
  const bool refused = at_floor && before_floor_ == 0;
  forget(bytes);
  if (takes_turns_ && refused) {
    turns_.refused(now);
    fair_ = std::min(config_.fi, kFairAfterTurns * config_.eta);
  }
  if (ignoring()) return;
  feed_average(static_cast<double>(config_.base_rtt));  // about one network RTT of delay
  lost_bytes_ += bytes;
  if (!quick_adapt(now, true, average_delay())) shrink(static_cast<double>(bytes));
  if (!at_floor && cwnd() <= config_.mtu) before_floor_ = inflight();
}

// MRC 5.3 [P]: the receiver's trouble, not the network's.
void Nscc::on_resource_nack(uint64_t bytes) {
  forget(bytes);
  shrink(static_cast<double>(bytes));
}

void Nscc::on_loss(uint64_t bytes) {
  if (!ignoring()) lost_bytes_ += bytes;
  forget(bytes);
  shrink(static_cast<double>(bytes));
}

// [P] MRC 5.3 does not name it: like an inferred loss, and whatever was thought of empty queues is old.
void Nscc::on_timeout(uint64_t bytes) {
  stop_fast_increase();
  on_loss(bytes);
}

}  // namespace mrc
