// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/link.h"

#include <algorithm>

namespace mrc::sim {

void Link::send(std::span<const uint8_t> bytes) {
  ++counters_.sent;
  const Nanoseconds now = events_.now();
  const auto on_wire = static_cast<Nanoseconds>(static_cast<double>(bytes.size() * 8) / bits_per_ns_);
  busy_until_ = std::max(busy_until_, now) + on_wire;
  if (now >= faults_.black_hole_from && now < faults_.black_hole_until) {
    ++counters_.lost;
    return;
  }
  if (random_.chance(faults_.loss)) {
    ++counters_.lost;
    return;
  }
  Frame frame(bytes.begin(), bytes.end());
  if (random_.chance(faults_.corruption)) {
    ++counters_.corrupted;
    const uint64_t flips = random_.between(1, 3);
    for (uint64_t i = 0; i < flips; ++i)
      frame[random_.below(frame.size())] ^= static_cast<uint8_t>(random_.between(1, 255));
    if (random_.chance(0.2)) frame.resize(random_.below(frame.size() + 1));
  }
  Nanoseconds arrival = busy_until_ + delay_;
  if (random_.chance(faults_.reordering)) arrival += random_.below(faults_.reorder_delay + 1);
  if (random_.chance(faults_.duplication)) {
    ++counters_.duplicated;
    deliver(frame, arrival + random_.below(faults_.reorder_delay + 1000));
  }
  deliver(std::move(frame), arrival);
}

void Link::deliver(Frame frame, Nanoseconds time) {
  for (const uint8_t byte : frame) trace_ = (trace_ ^ byte) * 0x100000001B3u;
  trace_ = (trace_ ^ time) * 0x100000001B3u;
  events_.at(time, [this, frame = std::move(frame)]() mutable { receiver_(std::move(frame)); });
}

}  // namespace mrc::sim
