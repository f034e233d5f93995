// SPDX-License-Identifier: BSD-2-Clause
// The network that NSCC's tests reckon with, and what it hears there.
#pragma once

#include <cstdint>

#include "libmrc/congestion/nscc.h"

namespace mrc {

inline constexpr uint64_t kGbps = 1'000'000'000;
inline constexpr Nanoseconds kRtt = 12 * kMicrosecond;
inline constexpr uint64_t kPacket = 4096;

// 100 Gb/s, 12 us, trimming: BDP 150 kB, window 225 kB, target delay 9 us, a = 1.
inline NsccConfig reference() {
  return nscc_defaults(100 * kGbps, kRtt, 4096, true);
}

// Brings the window down without touching anything else that matters.
inline void set_window(Nscc& nscc, uint64_t bytes) {
  const uint64_t excess = nscc.cwnd() - bytes;
  nscc.on_sent(0, excess);
  nscc.on_resource_nack(excess);
}

inline SackSignal sack(Nanoseconds now, uint64_t newly, Nanoseconds delay, bool ce = false) {
  SackSignal signal;
  signal.now = now;
  signal.newly_bytes = newly;
  signal.rtt = kRtt + delay;
  signal.ce = ce;
  return signal;
}

}  // namespace mrc
