// SPDX-License-Identifier: BSD-2-Clause
// A seeded generator (splitmix64): the same seed gives the same run on every machine.
#pragma once

#include <cstdint>

namespace mrc::sim {

constexpr uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t next() { return mix(state_ += 0x9E3779B97F4A7C15u); }
  // In [0, bound); bound > 0.
  uint64_t below(uint64_t bound) { return next() % bound; }
  // In [low, high].
  uint64_t between(uint64_t low, uint64_t high) { return low + below(high - low + 1); }
  bool chance(double probability) { return unit() < probability; }
  double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

 private:
  uint64_t state_;
};

}  // namespace mrc::sim
