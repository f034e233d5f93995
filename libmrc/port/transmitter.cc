// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/port/transmitter.h"

#include <algorithm>

namespace mrc {

namespace {
// A lane begins a burst with at least so many buffers: data and the answers behind them shall not be torn
// apart because the buffers are used up in between.
constexpr uint32_t kSpareBuffers = 4;
}  // namespace

Transmitter::Transmitter(std::span<Port* const> ports)
    : ports_(ports.begin(), ports.end()),
      all_planes_(static_cast<PlaneMask>((uint64_t{1} << ports_.size()) - 1)) {
  for (size_t i = 0; i < ports_.size(); ++i) {
    const auto plane = static_cast<Plane>(i);
    Carrier* wire = ports_[i]->wire();
    Carrier* link = ports_[i]->same_host();
    wire_lane_[i] = wire != nullptr ? lane_of(*wire, plane, false) : lane_of(*link, plane, true);
    lanes_[wire_lane_[i]].wire = wire != nullptr;
    host_lane_[i] = link != nullptr ? lane_of(*link, plane, true) : wire_lane_[i];
  }
}

Transmitter::LaneId Transmitter::lane_of(Carrier& carrier, Plane plane, bool all_planes) {
  size_t lane = 0;
  while (lane < lanes_.size() && lanes_[lane].carrier != &carrier) ++lane;
  if (lane == lanes_.size()) {
    Lane& made = lanes_.emplace_back();
    made.carrier = &carrier;
    made.all_planes = all_planes;
    made.intact = carrier.keeps_intact();
    made.plane = plane;
  } else if (lanes_[lane].plane != plane) {
    lanes_[lane].all_planes = true;  // a wire that several planes share
  }
  return static_cast<LaneId>(lane);
}

Transmitter::~Transmitter() {
  for (Lane& lane : lanes_) {
    flush(lane);
    lane.carrier->discard(std::span(lane.frames).subspan(lane.first, lane.acquired - lane.first));
  }
}

size_t Transmitter::room(LaneId id, const MacAddress& next_hop) {
  Lane& lane = lanes_[id];
  const size_t room = lane.carrier->transmit_room(next_hop);
  const size_t waiting = lane.staged - lane.first;
  return room > waiting ? room - waiting : 0;
}

[[gnu::hot]] bool Transmitter::refill(Lane& lane) {
  flush(lane);
  if (lane.first == lane.acquired) take_buffers(lane);
  return lane.first < lane.acquired;
}

// Behind those that are left, none of which is written.
void Transmitter::take_buffers(Lane& lane) {
  lane.acquired = static_cast<uint32_t>(
      std::copy(lane.frames.begin() + lane.first, lane.frames.begin() + lane.acquired, lane.frames.begin()) -
      lane.frames.begin());
  lane.first = lane.staged = 0;
  lane.acquired +=
      static_cast<uint32_t>(lane.carrier->acquire(std::span(lane.frames).subspan(lane.acquired)));
}

[[gnu::hot]] void Transmitter::flush(Lane& lane) {
  if (lane.staged == lane.first) return;
  const std::span<const TxFrame> frames{&lane.frames[lane.first], lane.staged - lane.first};
  if (tap_ != nullptr) [[unlikely]]
    tap_->frames_leave(*lane.carrier, frames, lane.intact);
  else
    lane.carrier->transmit(frames);
  lane.first = lane.staged;
  if (lane.acquired - lane.first < kSpareBuffers) take_buffers(lane);
}

[[gnu::hot]] void Transmitter::flush_all() {
  for (Lane& lane : lanes_) flush(lane);
}

}  // namespace mrc
