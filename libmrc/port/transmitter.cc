// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/port/transmitter.h"

namespace mrc {

namespace {
// A plane begins a burst with at least so many buffers: data and the answers behind them shall not be torn
// apart because the buffers are used up in between.
constexpr uint32_t kSpareBuffers = 4;
}  // namespace

Transmitter::Transmitter(std::span<Port* const> ports) : lanes_(ports.size()) {
  for (size_t i = 0; i < ports.size(); ++i) lanes_[i].port = ports[i];
}

Transmitter::~Transmitter() {
  for (Lane& lane : lanes_) {
    flush(lane);
    lane.port->discard({lane.frames.data(), lane.acquired});
  }
}

size_t Transmitter::room(Plane plane, const MacAddress& next_hop) {
  Lane& lane = lanes_[plane];
  const size_t room = lane.port->transmit_room(next_hop);
  return room > lane.staged ? room - lane.staged : 0;
}

[[gnu::hot]] bool Transmitter::refill(Lane& lane) {
  flush(lane);
  if (lane.acquired == 0) take_buffers(lane);
  return lane.acquired > 0;
}

void Transmitter::take_buffers(Lane& lane) {
  lane.acquired += static_cast<uint32_t>(lane.port->acquire(std::span(lane.frames).subspan(lane.acquired)));
}

[[gnu::hot]] void Transmitter::flush(Lane& lane) {
  if (lane.staged == 0) return;
  lane.port->transmit({lane.frames.data(), lane.staged});
  // The buffers that were not used move to the front.
  for (uint32_t i = lane.staged; i < lane.acquired; ++i) lane.frames[i - lane.staged] = lane.frames[i];
  lane.acquired -= lane.staged;
  lane.staged = 0;
  if (lane.acquired < kSpareBuffers) take_buffers(lane);
}

[[gnu::hot]] void Transmitter::flush_all() {
  for (Lane& lane : lanes_) flush(lane);
}

}  // namespace mrc
