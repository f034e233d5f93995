// SPDX-License-Identifier: BSD-2-Clause
// Time as the engine sees it: nanoseconds given by the caller. Nothing in libmrc reads a clock.
#pragma once

#include <cstdint>

namespace mrc {

// A point in time or a span, both in nanoseconds since an epoch of the caller's.
using Nanoseconds = uint64_t;

inline constexpr Nanoseconds kNever = UINT64_MAX;
inline constexpr Nanoseconds kMicrosecond = 1'000;
inline constexpr Nanoseconds kMillisecond = 1'000'000;
inline constexpr Nanoseconds kSecond = 1'000'000'000;

// MRC 1.3, TSETH: a 16-bit time stamp in ticks of 128 ns (tsr = 0) or 1.024 us (tsr = 1).
inline constexpr unsigned kFineTickShift = 7;
inline constexpr unsigned kCoarseTickShift = 10;

constexpr uint16_t to_wire_timestamp(Nanoseconds time, bool coarse) {
  return static_cast<uint16_t>(time >> (coarse ? kCoarseTickShift : kFineTickShift));
}

// Time since a reflected stamp was taken; right while the age is below one wrap (8.4 ms fine, 67 ms coarse).
constexpr Nanoseconds age_of_wire_timestamp(uint16_t stamp, Nanoseconds now, bool coarse) {
  const unsigned shift = coarse ? kCoarseTickShift : kFineTickShift;
  const auto ticks = static_cast<uint16_t>(static_cast<uint16_t>(now >> shift) - stamp);
  return static_cast<Nanoseconds>(ticks) << shift;
}

}  // namespace mrc
