// SPDX-License-Identifier: BSD-2-Clause
// How many frames to a peer may still be staged in this burst, by plane. Planes that share a carrier share
// its room, and it is asked once.
#pragma once

#include <array>
#include <bit>
#include <cstddef>

#include "libmrc/path/path_set.h"
#include "libmrc/peer/connection.h"
#include "libmrc/port/transmitter.h"

namespace mrc {

class LaneRoom {
 public:
  LaneRoom(Transmitter& transmitter, const Connection& connection) : lane_of_(connection.lanes) {
    for (PlaneMask left = connection.resolved; left != 0; left &= left - 1) {
      const auto plane = static_cast<Plane>(std::countr_zero(left));
      const Transmitter::LaneId lane = connection.lanes[plane];
      if (planes_of_[lane] == 0) room_[lane] = transmitter.room(lane, connection.next_hops[plane]);
      planes_of_[lane] |= PlaneMask{1} << plane;
      if (room_[lane] > 0) planes_ |= PlaneMask{1} << plane;
    }
  }

  // Those with room at the start.
  PlaneMask planes() const { return planes_; }
  // One frame has been staged. The planes that have no room any more because of it.
  PlaneMask take(Plane plane) {
    const Transmitter::LaneId lane = lane_of_[plane];
    return --room_[lane] == 0 ? planes_of_[lane] : 0;
  }

 private:
  std::array<size_t, Transmitter::kLanesMax> room_;
  std::array<PlaneMask, Transmitter::kLanesMax> planes_of_{};
  const std::array<Transmitter::LaneId, kPlanesMax>& lane_of_;
  PlaneMask planes_ = 0;
};

}  // namespace mrc
