// SPDX-License-Identifier: BSD-2-Clause
// Stages outgoing frames per carrier and hands them over in bursts, so that a packet costs no virtual call.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "libmrc/port/port.h"
#include "libmrc/port/station.h"
#include "libmrc/wire/cache_line.h"

namespace mrc {

// Sees frames that are about to leave, and hands them to the carrier, or not. Called once per burst and lane,
// if there is one.
class FrameTap {
 public:
  virtual void frames_leave(Carrier& carrier, std::span<const TxFrame> frames, bool intact) = 0;

 protected:
  ~FrameTap() = default;
};

class Transmitter {
 public:
  // Where frames to one destination by one plane are staged: below kLanesMax.
  using LaneId = uint8_t;
  static constexpr size_t kLanesMax = size_t{2} * kPlanesMax;

  explicit Transmitter(std::span<Port* const> ports);
  ~Transmitter();
  Transmitter(const Transmitter&) = delete;
  Transmitter& operator=(const Transmitter&) = delete;

  size_t plane_count() const { return ports_.size(); }
  PlaneMask all_planes() const { return all_planes_; }
  Port& port(Plane plane) { return *ports_[plane]; }

  size_t lane_count() const { return lanes_.size(); }
  Carrier& carrier(size_t lane) { return *lanes_[lane].carrier; }
  // Its plane, or that of the frame where it carries all planes.
  Plane plane_of(size_t lane, const RxFrame& frame) const {
    return lanes_[lane].all_planes ? frame.plane : lanes_[lane].plane;
  }
  // Whether it leads to other hosts.
  bool is_wire(size_t lane) const { return lanes_[lane].wire; }
  LaneId lane_to(Plane plane, const MacAddress& next_hop) const {
    return is_same_host(next_hop) ? host_lane_[plane] : wire_lane_[plane];
  }
  bool keeps_intact(Plane plane, const MacAddress& next_hop) const {
    return lanes_[lane_to(plane, next_hop)].intact;
  }
  std::optional<MacAddress> source_for(Plane plane, const MacAddress& next_hop) const {
    if (!is_same_host(next_hop)) return std::nullopt;
    return lanes_[host_lane_[plane]].carrier->source_for(plane);
  }

  // Frames that may still be staged towards `next_hop` without being dropped by the carrier.
  size_t room(LaneId lane, const MacAddress& next_hop);
  size_t room_by(Plane plane, const MacAddress& next_hop) { return room(lane_to(plane, next_hop), next_hop); }

  // A buffer to write the next frame to `next_hop` into, or nullptr when the carrier has none. Calling it
  // again without commit() gives the same buffer, as long as the lane is the same.
  uint8_t* begin(Plane plane, const MacAddress& next_hop) { return begin(lane_to(plane, next_hop)); }
  uint8_t* begin(LaneId id) {
    Lane& lane = lanes_[begun_ = id];
    if (lane.staged == lane.acquired && !refill(lane)) return nullptr;
    if (lane.staged + 1 < lane.acquired) fetch_start(lane.frames[lane.staged + 1].data);
    return lane.frames[lane.staged].data;
  }
  // What begin() gave last, written.
  void commit(Plane plane, size_t length, uint16_t station = 0) {
    Lane& lane = lanes_[begun_];
    TxFrame& frame = lane.frames[lane.staged];
    frame.plane = plane;
    frame.length = static_cast<uint32_t>(length);
    frame.station = station;
    ++frames_sent_;
    if (++lane.staged == lane.acquired) flush(lane);
  }
  void flush_all();

  uint64_t frames_sent() const { return frames_sent_; }

  // Null: nobody looks. It outlives the transmitter, or is taken away before.
  void set_tap(FrameTap* tap) { tap_ = tap; }

 private:
  struct Lane {
    Carrier* carrier = nullptr;
    bool all_planes = false;
    bool intact = false;
    bool wire = false;
    Plane plane = 0;
    // Of the buffers: the first that was not handed over, the first not written, the end.
    uint32_t first = 0;
    uint32_t staged = 0;
    uint32_t acquired = 0;
    std::array<TxFrame, kBurst> frames{};
  };
  // Another CPU may have read it last. That it is to be written here soon is said one frame ahead.
  static void fetch_start(uint8_t* frame) {
    for (size_t line = 0; line < 3; ++line) fetch_to_write(frame + line * kCacheLine);
  }
  LaneId lane_of(Carrier& carrier, Plane plane, bool all_planes);
  bool refill(Lane& lane);
  void take_buffers(Lane& lane);
  void flush(Lane& lane);

  const std::vector<Port*> ports_;
  const PlaneMask all_planes_;
  std::array<LaneId, kPlanesMax> wire_lane_{};
  std::array<LaneId, kPlanesMax> host_lane_{};  // for frames to processes of this host
  std::vector<Lane> lanes_;
  LaneId begun_ = 0;
  uint64_t frames_sent_ = 0;
  FrameTap* tap_ = nullptr;
};

}  // namespace mrc
