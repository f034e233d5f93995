// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/share/shared_port.h"

#include <algorithm>

#include "dpdk_io/host/fork_guard.h"

namespace mrc {

size_t SharedCarrier::receive(std::span<RxFrame> frames) {
  const size_t count = link_.receive(frames);
  size_t taken = 0;
  PortCounters& counters = link_.counters();
  for (size_t i = 0; i < count; ++i) {
    const WirePort* port = ports_[frames[i].plane];
    if (port == nullptr || !port->takes(frames[i].data, frames[i].length))
      ++counters.dropped_malformed;
    else if (port->fault() != PlaneFault::kNone)
      ++counters.dropped_by_fault;
    else
      frames[taken++] = frames[i];
  }
  link_.release(frames.subspan(taken, count - taken));
  return taken;
}

bool SharedCarrier::leaves(const TxFrame& frame) {
  PortCounters& counters = link_.counters();
  const WirePort* port = ports_[frame.plane];
  if (port != nullptr && port->fault() != PlaneFault::kNone) {
    ++counters.dropped_by_fault;
    return false;
  }
  if (port != nullptr && port->wire_up() && port->write_next_hop(frame.data)) return true;
  ++counters.dropped_without_link;
  return false;
}

void SharedCarrier::transmit(std::span<const TxFrame> frames) {
  if (in_forked_child()) return;
  TxFrame leaving[kBurst];
  while (!frames.empty()) {
    const size_t burst = std::min(frames.size(), kBurst);
    size_t count = 0;
    for (const TxFrame& frame : frames.first(burst)) {
      if (leaves(frame))
        leaving[count++] = frame;
      else
        link_.discard({&frame, 1});
    }
    link_.transmit({leaving, count});
    frames = frames.subspan(burst);
  }
}

}  // namespace mrc
