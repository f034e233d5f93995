// SPDX-License-Identifier: BSD-2-Clause
// Memory that was found to be there a moment ago: the packets of a burst lie side by side, and to ask the
// kernel about each of them would cost more than to copy it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace mrc {

class PresentRanges {
 public:
  bool covers(uintptr_t first, uint64_t bytes, bool writes) const {
    for (const Range& range : ranges_)
      if (range.serves(writes) && first >= range.first && first - range.first < range.bytes &&
          bytes <= range.bytes - (first - range.first))
        return true;
    return false;
  }
  // Whether something shortly before it is known: packets of one message come by several ways.
  bool follows(uintptr_t first, uint64_t distance_max, bool writes) const {
    for (const Range& range : ranges_)
      if (range.serves(writes) && first - range.first <= range.bytes + distance_max) return true;
    return false;
  }
  // In the place of the oldest.
  void add(uintptr_t first, uint64_t bytes, bool writes) {
    ranges_[next_++ % ranges_.size()] = {first, bytes, writes};
  }
  void forget() {
    if (next_ == 0) return;
    ranges_ = {};
    next_ = 0;
  }

 private:
  struct Range {
    uintptr_t first = 0;
    uint64_t bytes = 0;
    bool writable = false;
    bool serves(bool writes) const { return bytes != 0 && (writable || !writes); }
  };
  // A few streams at once: what is read and what is written, by some queue pairs.
  std::array<Range, 8> ranges_{};
  size_t next_ = 0;
};

}  // namespace mrc
