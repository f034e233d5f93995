// SPDX-License-Identifier: BSD-2-Clause
// A hash whose results cannot be foreseen without its key (SipHash-2-4 of whole 64-bit words), for tables
// that strangers fill and for numbers that strangers must not guess.
#pragma once

#include <cstdint>
#include <span>

#include "libmrc/guard/random_source.h"

namespace mrc {

class KeyedHash {
 public:
  explicit KeyedHash(RandomSource& random) : KeyedHash(random.next(), random.next()) {}
  KeyedHash(uint64_t first, uint64_t second) : first_(first), second_(second) {}

  uint64_t operator()(std::span<const uint64_t> words) const;
  uint64_t operator()(uint64_t word) const { return (*this)(std::span(&word, 1)); }

 private:
  uint64_t first_;
  uint64_t second_;
};

}  // namespace mrc
