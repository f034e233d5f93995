// SPDX-License-Identifier: BSD-2-Clause
// Small frames there and back by a carrier, with no protocol.
#pragma once

#include <sched.h>

#include <cstdint>

#include "libmrc/port/carrier.h"

namespace mrc::bench {

inline constexpr uint32_t kSmallFrameBytes = 64;
inline constexpr double kIdleEnd = 2;  // the passive end leaves after so many seconds of silence

// What to do while there is nothing to do: spins for a while, so that a quiet machine shows what the ports
// can do, but not against a process that waits for this CPU.
class Idle {
 public:
  explicit Idle(bool yields) : yields_(yields) {}
  void operator()() {
    if (yields_ || ++rounds_ % kSpins == 0) sched_yield();
  }

 private:
  static constexpr unsigned kSpins = 256;
  const bool yields_;
  unsigned rounds_ = 0;
};

void send_small(Carrier& carrier, const MacAddress& to, uint64_t number);
uint64_t number_in(const RxFrame& frame);
// Says that the run is over.
void send_end(Carrier& carrier, const MacAddress& to);

// Prints half the median of the round trips in us: what perftest calls typical. False: no answer came.
bool print_half_round_trip(Carrier& carrier, const MacAddress& to, double seconds, bool yields);
// The other end; returns when the run is over.
void answer_pings(Carrier& carrier, bool yields);

}  // namespace mrc::bench
