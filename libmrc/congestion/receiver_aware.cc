// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/congestion/receiver_aware.h"

#include <cmath>

namespace mrc {

namespace {
constexpr double kDegreeSteps = 8;  // per doubling
constexpr uint8_t kDegreeCodeMax = 127;
// Below so many packets a share is also paced: whole packets are too coarse a measure for it.
constexpr double kPacedPackets = 8;
constexpr double kRttWeight = 0.125;
constexpr uint32_t kPenaltyMax = 127;
constexpr uint32_t kPenaltyUnit = 128;
constexpr Nanoseconds kPatienceRounds = 4;
}  // namespace

uint8_t encode_incast_degree(uint32_t senders) {
  if (senders <= 1) return 1;
  const double code = 1 + std::ceil(kDegreeSteps * std::log2(static_cast<double>(senders)));
  return static_cast<uint8_t>(std::min<double>(code, kDegreeCodeMax));
}

double decode_incast_degree(uint8_t code) {
  return code <= 1 ? 1 : std::exp2((code - 1) / kDegreeSteps);
}

// ------------------------------------------------------------------------------------------------- sender

void ReceiverAware::reset(const NsccConfig& config, uint32_t expected_senders, uint64_t seed) {
  *this = ReceiverAware{};
  nscc_.reset(config);
  expected_ = expected_senders;
  // The largest window holds 1.5 round trips: with this the first pace is the share of the link's rate.
  rtt_ = static_cast<double>(config.base_rtt) * 1.5;
  phase_ = static_cast<double>((seed * 0x9E3779B97F4A7C15u) >> 40) / (1 << 24);
  set_degree(std::max(1.0, expected_));
}

void ReceiverAware::set_degree(double degree) {
  degree_ = degree;
  share_bytes_ = static_cast<double>(nscc_.config().max_cwnd) / degree;
}

bool ReceiverAware::paced() const {
  return degree_ > 1 && share_bytes_ < kPacedPackets * nscc_.config().mtu;
}

Nanoseconds ReceiverAware::pace_end() const {
  if (!paced()) return 0;
  const double gap = static_cast<double>(last_sent_bytes_) * rtt_ / share_bytes_;
  // Senders that begin together fall apart at once: the first gap is a part of one.
  return last_sent_at_ + static_cast<Nanoseconds>(first_gap_ ? gap * phase_ : gap);
}

bool ReceiverAware::window_open() const {
  return nscc_.may_send() &&
         static_cast<double>(nscc_.inflight()) < std::max<double>(share_bytes_, nscc_.config().mtu);
}

bool ReceiverAware::may_send(Nanoseconds now) const {
  return window_open() && now >= pace_end();
}

Nanoseconds ReceiverAware::next_send_at() const {
  return window_open() ? pace_end() : kNever;
}

void ReceiverAware::on_sent(Nanoseconds now, uint64_t bytes) {
  nscc_.on_sent(now, bytes);
  first_gap_ = last_sent_bytes_ == 0;
  last_sent_at_ = now;
  last_sent_bytes_ = bytes;
}

void ReceiverAware::on_sack(const SackSignal& sack) {
  SackSignal below = sack;
  below.penalty = 0;  // spent here
  below.restore = false;
  nscc_.on_sack(below);
  if (sack.rtt != 0) rtt_ += kRttWeight * (static_cast<double>(sack.rtt) - rtt_);
  if (sack.penalty == 0) return;
  double degree = decode_incast_degree(sack.penalty);
  if (expected_ > 0) {
    // The hint holds until all who were expected had two turns to show up at the receiver.
    if (expected_until_ == kNever) {
      const double turn =
          nscc_.config().mtu * rtt_ * expected_ / static_cast<double>(nscc_.config().max_cwnd);
      expected_until_ = sack.now + static_cast<Nanoseconds>(2 * std::max(turn, 2 * rtt_));
    }
    if (sack.now < expected_until_) degree = std::max(degree, expected_);
  }
  set_degree(degree);
}

void ReceiverAware::on_trim_nack(Nanoseconds now, uint64_t bytes, bool last_hop) {
  // MRC 5.1: trims of the last hop need no reaction when the receiver shares it out.
  if (last_hop && degree_ > 1) {
    nscc_.forget(bytes);
  } else {
    nscc_.on_trim_nack(now, bytes, last_hop);
  }
}

// ----------------------------------------------------------------------------------------------- receiver

void ReceiverShare::reset(const Config& config) {
  config_ = config;
  senders_.assign(config.senders_max, Sender{});
  oldest_ = newest_ = kNone;
  active_ = 0;
}

// How long a sender may be silent and still count: some round trips, or some turns if it is paced.
Nanoseconds ReceiverShare::patience() const {
  const Nanoseconds packet_time = uint64_t{config_.packet_bytes} * 8 * kSecond / config_.link_rate_bps;
  return kPatienceRounds * std::max(config_.base_rtt + config_.target_delay, active_ * packet_time);
}

void ReceiverShare::unlink(uint32_t index) {
  const Sender& sender = senders_[index];
  (sender.older == kNone ? oldest_ : senders_[sender.older].newer) = sender.newer;
  (sender.newer == kNone ? newest_ : senders_[sender.newer].older) = sender.older;
}

void ReceiverShare::expire(Nanoseconds now) {
  const Nanoseconds limit = patience();
  while (oldest_ != kNone && now - senders_[oldest_].last_data > limit) on_done(oldest_);
}

void ReceiverShare::on_data(uint32_t index, Nanoseconds now) {
  Sender& sender = senders_[index];
  if (sender.active) {
    sender.last_data = now;
    if (newest_ == index) return;
    unlink(index);
  } else {
    sender.active = true;
    sender.last_data = now;
    sender.told = 1;
    ++active_;
  }
  sender.older = newest_;
  sender.newer = kNone;
  (newest_ == kNone ? oldest_ : senders_[newest_].newer) = index;
  newest_ = index;
}

void ReceiverShare::on_done(uint32_t index) {
  if (!senders_[index].active) return;
  senders_[index].active = false;
  unlink(index);
  --active_;
}

uint32_t ReceiverShare::active(Nanoseconds now) {
  expire(now);
  return active_;
}

ReceiverShare::Advice ReceiverShare::advise(uint32_t index, Language language, Nanoseconds now) {
  const uint32_t degree = std::max(1u, active(now));
  if (language == Language::kDegree) return {encode_incast_degree(degree), false};
  Sender& sender = senders_[index];
  if (now < sender.penalty_until) return {sender.penalty, false};
  if (degree <= sender.told) {
    sender.told = degree;  // NSCC grows by itself
    return {};
  }
  // MRC 5.3: p in every SACK of one round trip leaves 1 - p/128 of the window. Small steps wait for more.
  const uint32_t penalty = std::min(kPenaltyMax, kPenaltyUnit - kPenaltyUnit * sender.told / degree);
  if (penalty < kPenaltyUnit / 16) return {};
  sender.told = degree;
  sender.penalty = static_cast<uint8_t>(penalty);
  sender.penalty_until = now + config_.base_rtt + config_.target_delay;
  return {sender.penalty, false};
}

}  // namespace mrc
