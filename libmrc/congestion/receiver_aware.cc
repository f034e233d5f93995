// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/congestion/receiver_aware.h"

#include <cmath>

namespace mrc {

namespace {
constexpr double kDegreeSteps = 8;  // per doubling
constexpr uint8_t kDegreeCodeMax = 127;
constexpr double kDegreeMax = 4096;  // a guess is not more
// Below so many packets a share is also paced: whole packets are too coarse a measure for it.
constexpr double kPacedPackets = 32;
constexpr double kRttWeight = 0.125;
constexpr double kWindowRtts = 1.5;
constexpr double kCatchUpRtts = 0.25;
constexpr double kExcessMax = 0.5;
constexpr double kExcessMaxWindow = 4;
// MRC 3.1: what the receiver may hold back before it sends a SACK is not in the network any more.
constexpr double kUnreportedBytes = 16384;
constexpr uint32_t kPenaltyMax = 127;
constexpr Nanoseconds kPatienceRounds = 4;
constexpr double kCrowdGrows = 1.5;  // by as much, and turns begin anew
constexpr double kCrowdGone = 4;
// Nobody waits longer for its turn, whatever it was told of others: 55,000 full packets take as long at
// 10 Gb/s. A count that is a lie, or that changes all the time, must not keep us from sending.
constexpr Nanoseconds kTurnMax = 250 * kMillisecond;
}  // namespace

uint8_t encode_incast_degree(uint32_t senders) {
  if (senders <= 1) return 1;
  const double code = 1 + std::ceil(kDegreeSteps * std::log2(static_cast<double>(senders)));
  return static_cast<uint8_t>(std::min<double>(code, kDegreeCodeMax));
}

double decode_incast_degree(uint8_t code) {
  // A NACK has eight bits for it.
  return code <= 1 ? 1 : std::exp2((std::min(code, kDegreeCodeMax) - 1) / kDegreeSteps);
}

// ------------------------------------------------------------------------------------------------- sender

void ReceiverAware::reset(const NsccConfig& config, uint32_t expected_senders, uint64_t seed) {
  *this = ReceiverAware{};
  nscc_.reset(config);
  expected_ = expected_senders;
  known_ = expected_senders > 0;
  // MRC 5.2: the largest window holds 1.5 base round trips of the link; spread over them it is the link's
  // rate.
  full_rtt_ns_ = rtt_ns_ = kWindowRtts * static_cast<double>(config.base_rtt);
  random_ = seed;
  set_degree(std::max(1.0, expected_));
}

// 0..1
double ReceiverAware::draw() {
  random_ = (random_ + 1) * 0x9E3779B97F4A7C15u;
  return static_cast<double>((random_ ^ random_ >> 29) * 0xBF58476D1CE4E5B9u >> 40) / (1 << 24);
}

void ReceiverAware::set_degree(double degree) {
  degree_ = degree;
  share_bytes_ = static_cast<double>(nscc_.config().max_cwnd) / degree;
}

bool ReceiverAware::paced() const {
  return degree_ > 1 && share_bytes_ < kPacedPackets * nscc_.config().mtu;
}

// The time one packet takes of this sender's share of the link's rate.
double ReceiverAware::turn_ns(uint64_t bytes) const {
  return static_cast<double>(bytes) * full_rtt_ns_ / share_bytes_;
}

Nanoseconds ReceiverAware::pace_end() const {
  if (!paced()) return 0;
  const double turn = turn_ns(last_sent_bytes_);
  // Like a window, the pace follows the round trip. When turns are longer than round trips all senders would
  // correct the same queue before any of them sees the effect, so each corrects only its part per turn.
  const double turns_late = std::max(1.0, turn / full_rtt_ns_);
  const double excess = std::min(rtt_ns_ / full_rtt_ns_ - 1, turns_late > 1 ? kExcessMax : kExcessMaxWindow);
  const double gap = turn * (1 + excess / turns_late);
  return std::min(turn_started_ + static_cast<Nanoseconds>(gap * turn_part_), last_sent_at_ + kTurnMax);
}

bool ReceiverAware::window_open() const {
  // Less than a packet per round trip: the pace is all. What was sent before the receiver could say so, and
  // was lost without a word, must not keep this sender from its turns.
  if (sparse()) return nscc_.window_open();
  return nscc_.window_open() && static_cast<double>(nscc_.inflight()) < share_bytes_ + kUnreportedBytes;
}

bool ReceiverAware::wants_answer(uint64_t bytes) const {
  return nscc_.wants_answer(bytes) || share_bytes_ < kUnreportedBytes ||
         static_cast<double>(nscc_.inflight() + bytes) >= share_bytes_ + kUnreportedBytes;
}

bool ReceiverAware::may_send(Nanoseconds now) const {
  return window_open() && now >= pace_end();
}

Nanoseconds ReceiverAware::next_send_at() const {
  return window_open() ? pace_end() : kNever;
}

void ReceiverAware::on_sent(Nanoseconds now, uint64_t bytes) {
  nscc_.on_sent(now, bytes);
  // Who polls a little late may catch up.
  const auto late = static_cast<Nanoseconds>(full_rtt_ns_ * kCatchUpRtts);
  turn_started_ = std::max(std::min(pace_end(), now), now - std::min(now, late));
  // Senders that begin together fall apart at once: the first gap is a part of one. Those that failed
  // together do not come again together.
  turn_part_ = guessed_ ? 2 * draw() : last_sent_bytes_ == 0 ? draw() : 1;
  took_turn_ = sparse();
  last_sent_bytes_ = bytes;
  last_sent_at_ = now;
  sent_since_squeeze_ = true;
}

void ReceiverAware::on_sack(const SackSignal& sack) {
  SackSignal below = sack;
  below.penalty = 0;  // spent here
  below.restore = false;
  failures_ = 0;
  nscc_.on_sack(below);
  if (sack.rtt != 0) {
    // The fewer packets a round trip has, the more each says.
    const double weight = std::min(1.0, kRttWeight * std::max(1.0, turn_ns(nscc_.config().mtu) / rtt_ns_));
    rtt_ns_ += weight * (static_cast<double>(sack.rtt) - rtt_ns_);
  }
  if (sack.penalty == 0) {
    if (guessed_)
      set_degree(std::max({1.0, degree_ / 2, expected_}));  // what gets through was squeezed enough
    return;
  }
  on_degree(sack.now, sack.penalty);
}

void ReceiverAware::on_degree(Nanoseconds now, uint8_t code) {
  const bool was_guessed = guessed_;
  guessed_ = false;
  known_ = true;
  failures_ = 0;
  double degree = decode_incast_degree(code);
  if (expected_ > 0) {
    // The hint holds until all who were expected had two turns to show up at the receiver.
    if (expected_until_ == kNever) {
      const double turn = turn_ns(nscc_.config().mtu);
      expected_until_ = now + static_cast<Nanoseconds>(2 * std::max(turn, 2 * full_rtt_ns_));
    }
    if (now < expected_until_) degree = std::max(degree, expected_);
  }
  const bool in_step = !paced() || was_guessed || degree >= kCrowdGrows * known_degree_;
  set_degree(degree);
  if (in_step && paced()) {
    // All who heard it now, and began together, must not take their turns together.
    turn_part_ = draw();
    turn_started_ = now;
    took_turn_ = false;
    known_degree_ = degree;
    told_at_ = now;
  }
  if (degree < known_degree_ / kCrowdGone) known_degree_ = degree;
}

void ReceiverAware::on_trim_nack(Nanoseconds now, uint64_t bytes, bool last_hop) {
  // Whoever met a crowd moves to another time of the turn; who got through stays. So turns sort themselves.
  if (last_hop && took_turn_) turn_part_ = 0.5 + draw();
  took_turn_ = false;
  // MRC 5.1: trims of the last hop need no reaction when the receiver shares it out.
  if (last_hop && degree_ > 1) {
    nscc_.forget(bytes);
  } else {
    nscc_.on_trim_nack(now, bytes, last_hop);
  }
  if (last_hop) squeeze(!known_);
}

void ReceiverAware::on_loss(uint64_t bytes) {
  nscc_.on_loss(bytes);
  if (!known_) squeeze();  // a SACK showed the loss, and said how many there are
}

void ReceiverAware::on_timeout(uint64_t bytes) {
  nscc_.on_timeout(bytes);
  squeeze();
}

// Nothing gets through and the receiver has not been heard: there are at least as many senders as packets in
// a window, and twice as many as thought. At most one step per packet sent; the next SACK says better.
// `crowded`: there is no doubt that there are others.
void ReceiverAware::squeeze(bool crowded) {
  if (!sent_since_squeeze_ || (!crowded && cwnd() > nscc_.config().mtu)) return;
  sent_since_squeeze_ = false;
  if (++failures_ == 1 && known_) return;  // one may be bad luck
  guessed_ = true;
  turn_part_ = 2 * draw();
  const double packets = static_cast<double>(nscc_.config().max_cwnd) / nscc_.config().mtu;
  set_degree(std::min(kDegreeMax, std::max(packets, 2 * degree_)));
}

// ----------------------------------------------------------------------------------------------- receiver

void ReceiverShare::reset(const Config& config) {
  config_ = config;
  config_.link_rate_bps = std::max<uint64_t>(config.link_rate_bps, 1);
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
  if (index >= senders_.size()) return;
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
  if (index >= senders_.size() || !senders_[index].active) return;
  senders_[index].active = false;
  unlink(index);
  --active_;
}

uint32_t ReceiverShare::active(Nanoseconds now) {
  expire(now);
  return active_;
}

uint8_t ReceiverShare::degree(Nanoseconds now) {
  return encode_incast_degree(std::max(1u, active(now)));
}

uint8_t ReceiverShare::penalty(uint32_t index, Nanoseconds now) {
  if (index >= senders_.size()) return 0;
  Sender& sender = senders_[index];
  if (now < sender.penalty_until) return sender.penalty;
  const uint32_t degree = std::max(1u, active(now));
  if (degree <= sender.told) {
    sender.told = degree;  // NSCC grows by itself
    return 0;
  }
  // p in every SACK of one round trip leaves 1 - p/128 of the window. Small steps wait for more.
  const uint32_t wanted = std::min(kPenaltyMax, kPenaltyUnit - kPenaltyUnit * sender.told / degree);
  if (wanted < kPenaltyUnit / 16) return 0;
  sender.told = degree;
  sender.penalty = static_cast<uint8_t>(wanted);
  sender.penalty_until = now + config_.base_rtt + config_.target_delay;
  return sender.penalty;
}

}  // namespace mrc
