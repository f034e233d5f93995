// SPDX-License-Identifier: BSD-2-Clause
// Virtual time of the fabric: picoseconds, so that a byte at 100 Gb/s (80 ps) or 800 Gb/s (10 ps) is exact.
// The engine gets the same time in nanoseconds.
#pragma once

#include <cstdint>

#include "libmrc/wire/time.h"

namespace mrc::sim {

using Picoseconds = uint64_t;

inline constexpr Picoseconds kForever = UINT64_MAX;
inline constexpr Picoseconds kPerNanosecond = 1'000;
inline constexpr Picoseconds kPerMicrosecond = 1'000'000;
inline constexpr Picoseconds kPerMillisecond = 1'000'000'000;
inline constexpr Picoseconds kPerSecond = 1'000'000'000'000;

constexpr Picoseconds from_nanoseconds(Nanoseconds time) {
  return time > kForever / kPerNanosecond ? kForever : time * kPerNanosecond;
}
constexpr Picoseconds from_microseconds(double time) {
  return static_cast<Picoseconds>(time * static_cast<double>(kPerMicrosecond));
}
constexpr Nanoseconds to_nanoseconds(Picoseconds time) {
  return time / kPerNanosecond;
}
constexpr double to_microseconds(Picoseconds time) {
  return static_cast<double>(time) / static_cast<double>(kPerMicrosecond);
}
constexpr double to_seconds(Picoseconds time) {
  return static_cast<double>(time) / static_cast<double>(kPerSecond);
}

}  // namespace mrc::sim
