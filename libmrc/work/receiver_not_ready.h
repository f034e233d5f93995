// SPDX-License-Identifier: BSD-2-Clause
// IBTA 9.7.5, RNR NAK: the peer had no receive request, so that a requester waits and comes again, and how
// often it does that; and what a receiver that is not ready says.
#pragma once

#include <array>
#include <cstdint>

#include "libmrc/wire/headers.h"
#include "libmrc/wire/time.h"
#include "libmrc/work/context.h"

namespace mrc {

inline constexpr uint8_t kRnrForEver = 7;  // as rnr_retry

// IBTA table 45: the delay that a 5-bit timer code stands for.
constexpr Nanoseconds rnr_delay(uint8_t code) {
  constexpr std::array<uint32_t, 32> kHundredthsOfMs = {
      65536, 1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,   192,
      256,   384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};
  return Nanoseconds{kHundredthsOfMs[code & 31]} * 10 * kMicrosecond;
}

// The syndrome that asks the peer to come again after our own delay.
inline uint8_t rnr_syndrome(const Connection& connection) {
  return static_cast<uint8_t>(Aeth::kRnrNak | (connection.rnr_timer & 0x1F));
}

class ReceiverNotReady {
 public:
  // Nothing is sent before that; 0 = it is ready, as far as is known.
  Nanoseconds until() const { return until_; }
  bool waits(Nanoseconds now) const { return now < until_; }
  // Such answers since it took something.
  uint32_t count() const { return count_; }

  // One more. False: that is once too often (IBTA 9.9.2).
  bool take(Context& cx, uint8_t timer) {
    ++cx.services.counters.not_ready_received;
    if (cx.connection.rnr_retry != kRnrForEver && count_ >= cx.connection.rnr_retry) return false;
    ++count_;
    until_ = cx.now + rnr_delay(timer);
    return true;
  }
  void progress() { count_ = 0; }
  void on_timer(Nanoseconds now) {
    if (now >= until_) until_ = 0;
  }

 private:
  Nanoseconds until_ = 0;
  uint32_t count_ = 0;
};

}  // namespace mrc
