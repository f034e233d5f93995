// SPDX-License-Identifier: BSD-2-Clause
// IBTA table 45: the 5-bit RNR timer code and the delay it stands for. And how often a receiver that is not
// ready is asked.
#pragma once

#include <array>
#include <cstdint>

#include "libmrc/wire/time.h"

namespace mrc {

inline constexpr uint8_t kRnrForEver = 7;  // as rnr_retry

constexpr Nanoseconds rnr_delay(uint8_t code) {
  constexpr std::array<uint32_t, 32> kHundredthsOfMs = {
      65536, 1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,   192,
      256,   384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};
  return Nanoseconds{kHundredthsOfMs[code & 31]} * 10 * kMicrosecond;
}

}  // namespace mrc
