// SPDX-License-Identifier: BSD-2-Clause
// splitmix64: every seed, also 0 or 1, gives a sequence of its own. To choose among paths, not to keep
// secrets.
#pragma once

#include <cstdint>

namespace mrc {

class PathRandom {
 public:
  explicit PathRandom(uint64_t seed = 1) : state_(seed) {}
  uint64_t operator()() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

 private:
  uint64_t state_;
};

}  // namespace mrc
