// SPDX-License-Identifier: BSD-2-Clause
// MRC 12.R10, 3.4: how often and how long a connection tries before it gives up: `linear` attempts at a fixed
// timeout, then `exponential` ones with a doubling one.
#pragma once

#include <algorithm>
#include <cstdint>

#include "libmrc/wire/time.h"

namespace mrc {

class RetryPolicy {
 public:
  static constexpr uint8_t kForEver = 25;
  static constexpr Nanoseconds kTimeoutMax = 17'179'869'184;  // 1.024 us x 2^24

  void configure(Nanoseconds timeout, uint8_t linear, uint8_t exponential) {
    timeout_ = timeout;
    linear_ = linear;
    exponential_ = exponential;
    attempts_ = 0;
  }

  // 0 = the timer is off.
  Nanoseconds timeout() const {
    if (timeout_ == 0 || attempts_ <= linear_) return timeout_;
    const unsigned doublings = std::min<unsigned>(attempts_ - linear_, 24);
    return std::min(timeout_ << doublings, std::max(kTimeoutMax, timeout_));
  }
  // How long it takes from the first attempt until there are none left; kNever: they never end.
  Nanoseconds patience() const {
    if (timeout_ == 0 || exponential_ == kForEver) return kNever;
    Nanoseconds all = timeout_ * (linear_ + 1);
    for (unsigned i = 1; i <= exponential_; ++i)
      all += std::min(timeout_ << std::min(i, 24u), std::max(kTimeoutMax, timeout_));
    return all;
  }
  // MRC 3.4: every timeout and every recoverable NACK counts. False: there are no attempts left.
  [[nodiscard]] bool charge() {
    if (exponential_ != kForEver && attempts_ >= static_cast<uint32_t>(linear_) + exponential_) return false;
    if (attempts_ < UINT32_MAX) ++attempts_;
    return true;
  }
  // MRC 3.4 [P]: progress of the cumulative PSN starts over.
  void progress() { attempts_ = 0; }
  uint32_t attempts() const { return attempts_; }

 private:
  Nanoseconds timeout_ = 0;
  uint8_t linear_ = 7;
  uint8_t exponential_ = 0;
  uint32_t attempts_ = 0;
};

}  // namespace mrc
