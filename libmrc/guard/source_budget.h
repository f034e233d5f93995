// SPDX-License-Identifier: BSD-2-Clause
// How many answers a stranger gets: who asks in somebody else's name shall not make us a loud speaker. So
// many at once and so many a second for every source address; sources that share a place in the table share
// its budget, so that all of them together are bounded, too.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "libmrc/guard/keyed_hash.h"
#include "libmrc/wire/identifiers.h"
#include "libmrc/wire/time.h"

namespace mrc {

class SourceBudget {
 public:
  SourceBudget(RandomSource& random, uint32_t per_second, uint32_t at_once)
      : hash_(random),
        interval_(kSecond / per_second),
        ahead_max_(interval_ * (at_once - 1)),
        spent_until_(kPlaces, Nanoseconds{0}) {}

  // False: this source has had its share.
  bool take(const IpAddress& source, Nanoseconds now) {
    uint64_t words[2];
    std::memcpy(words, source.bytes.data(), sizeof words);
    Nanoseconds& spent_until = spent_until_[hash_(words) % kPlaces];
    const Nanoseconds from = std::max(spent_until, now);
    if (from - now > ahead_max_) return false;
    spent_until = from + interval_;
    return true;
  }

 private:
  static constexpr size_t kPlaces = 1024;

  KeyedHash hash_;
  Nanoseconds interval_;   // what an answer costs
  Nanoseconds ahead_max_;  // how much may be spent in advance
  std::vector<Nanoseconds> spent_until_;
};

}  // namespace mrc
