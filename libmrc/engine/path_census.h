// SPDX-License-Identifier: BSD-2-Clause
// Counts the paths of a device's queue pairs for the statistics, some queue pairs at a time: with thousands
// of them nobody else may have to wait for a count.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "libmrc/qp/queue_pair.h"

namespace mrc {

struct PathCounts {
  uint32_t active = 0;
  uint32_t all = 0;
};

class PathCensus {
 public:
  // Those of the last whole round.
  PathCounts count(std::span<QueuePair* const> queue_pairs) {
    const size_t end = std::min(next_ + kAtOnce, queue_pairs.size());
    for (; next_ < end; ++next_) {
      const QueuePair& qp = *queue_pairs[next_];
      if (!qp.connected()) continue;
      round_.active += static_cast<uint32_t>(qp.paths().active());
      round_.all += static_cast<uint32_t>(qp.paths().places());
    }
    if (next_ >= queue_pairs.size()) {
      last_ = round_;
      round_ = {};
      next_ = 0;
    }
    return last_;
  }

 private:
  static constexpr size_t kAtOnce = 256;
  size_t next_ = 0;
  PathCounts round_;
  PathCounts last_;
};

}  // namespace mrc
