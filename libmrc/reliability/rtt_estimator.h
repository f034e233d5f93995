// SPDX-License-Identifier: BSD-2-Clause
// Smoothed round-trip time and its least value, from samples that are not ambiguous.
#pragma once

#include <algorithm>

#include "libmrc/wire/time.h"

namespace mrc {

class RttEstimator {
 public:
  void sample(Nanoseconds rtt) {
    least_ = std::min(least_, rtt);
    if (smoothed_ == 0) {
      smoothed_ = rtt;
      variation_ = rtt / 2;
      return;
    }
    const Nanoseconds deviation = rtt > smoothed_ ? rtt - smoothed_ : smoothed_ - rtt;
    variation_ += (deviation >> 2) - (variation_ >> 2);
    smoothed_ += (rtt >> 3) - (smoothed_ >> 3);
  }
  bool known() const { return smoothed_ != 0; }
  Nanoseconds smoothed() const { return smoothed_; }
  Nanoseconds variation() const { return variation_; }
  Nanoseconds least() const { return least_; }

 private:
  Nanoseconds smoothed_ = 0;
  Nanoseconds variation_ = 0;
  Nanoseconds least_ = kNever;
};

}  // namespace mrc
