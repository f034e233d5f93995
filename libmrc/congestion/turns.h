// SPDX-License-Identifier: BSD-2-Clause
// [P] Less than a packet per round trip. A window cannot be smaller than a packet, so a sender whose only
// packet was trimmed waits before it sends the next one: longer each time, and less again as packets come
// through. Without it 1023 senders keep 1023 packets under way where 90 fit, and the remains of those that
// are trimmed take half of the bandwidth.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "libmrc/wire/time.h"

namespace mrc {

class Turns {
 public:
  // Senders with the same seed would stay in step.
  void reset(Nanoseconds rtt, uint64_t seed) {
    *this = Turns{};
    rtt_ = static_cast<double>(rtt);
    random_ = seed;
  }

  bool waiting() const { return share_ < 1; }
  double share() const { return share_; }
  // Nothing is sent before this; 0 = whenever the window allows.
  Nanoseconds next() const { return waiting() ? next_ : 0; }

  // The only packet was trimmed. Until the first one has come through nobody knows how many there are.
  void refused(Nanoseconds now) {
    share_ = std::max(share_ * (settled_ ? kLess : kMuchLess), kShareMin);
    wait(now, 2 * draw());
  }
  // Something came through. `idle`: it met hardly a queue.
  void delivered(Nanoseconds now, Nanoseconds rtt, bool idle) {
    if (rtt != 0) rtt_ += kRttWeight * (static_cast<double>(rtt) - rtt_);
    if (!waiting()) return;
    // The same step for a small share as for a large one, or more: so all come to have the same.
    const double more = kMoreSmall / std::sqrt(share_) + kMoreLarge * share_ * share_;
    share_ = std::min(1.0, (idle ? kIdleGrowth : 1) * share_ + more);
    settled_ = waiting();
    wait(now, 0.5 + draw());
  }

 private:
  static constexpr double kLess = 0.75;
  static constexpr double kMuchLess = 0.5;
  static constexpr double kMoreSmall = 0.003;
  static constexpr double kMoreLarge = 0.15;
  static constexpr double kIdleGrowth = 4;
  // With so little even 4,000 senders lose less than a tenth of the bandwidth to trimmed packets, and one
  // that had bad luck is not the last by far.
  static constexpr double kShareMin = 1.0 / 16;
  static constexpr double kRttWeight = 0.25;
  static constexpr Nanoseconds kWaitMax = 250 * kMillisecond;

  void wait(Nanoseconds now, double part) {
    const double gap = rtt_ * (1 / share_ - 1) * part;
    next_ = now + std::min(static_cast<Nanoseconds>(gap), kWaitMax);
  }
  double draw() {  // 0..1
    random_ = (random_ + 1) * 0x9E3779B97F4A7C15u;
    return static_cast<double>((random_ ^ random_ >> 29) * 0xBF58476D1CE4E5B9u >> 40) / (1 << 24);
  }

  double share_ = 1;      // packets per round trip
  bool settled_ = false;  // something has come through since there are turns
  double rtt_ = 0;        // smoothed, with its queues
  Nanoseconds next_ = 0;
  uint64_t random_ = 1;
};

}  // namespace mrc
