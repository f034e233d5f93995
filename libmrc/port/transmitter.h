// SPDX-License-Identifier: BSD-2-Clause
// Stages outgoing frames per plane and hands them to the ports in bursts, so that a packet costs no virtual
// call.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "libmrc/port/port.h"

namespace mrc {

class Transmitter {
 public:
  explicit Transmitter(std::span<Port* const> ports);
  ~Transmitter();
  Transmitter(const Transmitter&) = delete;
  Transmitter& operator=(const Transmitter&) = delete;

  size_t plane_count() const { return lanes_.size(); }
  Port& port(Plane plane) { return *lanes_[plane].port; }

  // Frames that may still be staged towards `next_hop` without being dropped by the port.
  size_t room(Plane plane, const MacAddress& next_hop);

  // A buffer to write the next frame of this plane into, or nullptr when the port has none. Calling it again
  // without commit() gives the same buffer.
  uint8_t* begin(Plane plane) {
    Lane& lane = lanes_[plane];
    if (lane.staged == lane.acquired && !refill(lane)) return nullptr;
    return lane.frames[lane.staged].data;
  }
  void commit(Plane plane, size_t length) {
    Lane& lane = lanes_[plane];
    lane.frames[lane.staged].length = static_cast<uint32_t>(length);
    ++frames_sent_;
    if (++lane.staged == lane.acquired) flush(lane);
  }
  void flush_all();

  uint64_t frames_sent() const { return frames_sent_; }

 private:
  struct Lane {
    Port* port = nullptr;
    uint32_t staged = 0;    // written, not yet handed over
    uint32_t acquired = 0;  // buffers held
    std::array<TxFrame, kBurst> frames{};
  };
  bool refill(Lane& lane);
  void take_buffers(Lane& lane);
  void flush(Lane& lane);

  std::vector<Lane> lanes_;
  uint64_t frames_sent_ = 0;
};

}  // namespace mrc
