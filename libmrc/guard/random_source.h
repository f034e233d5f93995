// SPDX-License-Identifier: BSD-2-Clause
// Where numbers come from that nobody may guess: memory keys, communication ids, transactions. The transport
// makes no system calls, so a device gives it a source of the system's; simulations and tests leave it out
// and get one that a seed repeats.
#pragma once

#include <cstdint>

namespace mrc {

class RandomSource {
 public:
  virtual ~RandomSource() = default;
  virtual uint64_t next() = 0;
};

// The same numbers for the same seed: for simulations, where nobody guesses.
class SeededRandom final : public RandomSource {
 public:
  explicit SeededRandom(uint64_t seed) : state_(seed) {}
  uint64_t next() override {
    // A counter, well mixed.
    uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
  }

 private:
  uint64_t state_;
};

}  // namespace mrc
