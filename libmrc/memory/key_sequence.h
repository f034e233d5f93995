// SPDX-License-Identifier: BSD-2-Clause
// The keys of registered memory, one after the other: 24 bits of number and 8 bits of tag, as IBTA cuts them
// (programs change the tag of a window). Who has seen some cannot tell the next, and none comes twice: a
// number not within 2^24 keys, a whole key not within 2^32.
#pragma once

#include <cstdint>

#include "libmrc/guard/keyed_hash.h"
#include "libmrc/wire/identifiers.h"

namespace mrc {

class KeySequence {
 public:
  static constexpr unsigned kTagBits = 8;

  explicit KeySequence(RandomSource& random) : hash_(random) {}

  MemoryKey next() {
    uint32_t number;
    uint32_t round;
    do {
      number = shuffled(count_ & kNumberMask);
      round = count_++ >> kNumberBits;
    } while (number == 0);  // key 0 is none
    const auto tag = static_cast<uint8_t>(hash_(uint64_t{1} << 63 | number) + round);
    return MemoryKey{number << kTagBits | tag};
  }

  static constexpr uint32_t number_of(MemoryKey key) { return static_cast<uint32_t>(key) >> kTagBits; }

 private:
  static constexpr unsigned kNumberBits = 24;
  static constexpr uint32_t kNumberMask = (1u << kNumberBits) - 1;

  // A Feistel network: every number from every number, in an order that only the hash's key tells.
  uint32_t shuffled(uint32_t number) const {
    constexpr unsigned kHalf = kNumberBits / 2;
    constexpr uint32_t kHalfMask = (1u << kHalf) - 1;
    constexpr uint64_t kRounds = 10;
    uint32_t left = number >> kHalf;
    uint32_t right = number & kHalfMask;
    for (uint64_t round = 0; round < kRounds; ++round) {
      const uint32_t mixed = left ^ (static_cast<uint32_t>(hash_(round << 32 | right)) & kHalfMask);
      left = right;
      right = mixed;
    }
    return left << kHalf | right;
  }

  KeyedHash hash_;
  uint32_t count_ = 0;
};

}  // namespace mrc
