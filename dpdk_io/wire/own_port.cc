// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/wire/own_port.h"

#include <algorithm>

#include "dpdk_io/host/fork_guard.h"

namespace mrc {

size_t OwnPort::receive(std::span<RxFrame> frames) {
  const size_t count = carrier_->receive(frames);
  if (count == 0) return 0;
  const bool faulty = fault() != PlaneFault::kNone;
  size_t taken = 0;
  for (size_t i = 0; i < count; ++i) {
    if (!faulty && takes(frames[i].data, frames[i].length)) {
      frames[taken++] = frames[i];
      continue;
    }
    ++(faulty ? carrier_->counters().dropped_by_fault : carrier_->counters().dropped_malformed);
    carrier_->release({&frames[i], 1});
  }
  return taken;
}

void OwnPort::transmit(std::span<const TxFrame> frames) {
  if (in_forked_child()) return;
  const bool faulty = fault() != PlaneFault::kNone;
  if (faulty || !wire_up()) {
    PortCounters& counters = carrier_->counters();
    (faulty ? counters.dropped_by_fault : counters.dropped_without_link) += frames.size();
    return discard(frames);
  }
  TxFrame leaving[kBurst];
  while (!frames.empty()) {
    const size_t burst = std::min(frames.size(), kBurst);
    size_t count = 0;
    for (const TxFrame& frame : frames.first(burst)) {
      if (write_next_hop(frame.data)) {
        leaving[count++] = frame;
        continue;
      }
      ++carrier_->counters().dropped_without_link;
      discard({&frame, 1});
    }
    carrier_->transmit({leaving, count});
    frames = frames.subspan(burst);
  }
}

}  // namespace mrc
