// SPDX-License-Identifier: BSD-2-Clause
// What moves frames: bursts in and out, in buffers that the carrier owns. The engine writes a frame straight
// into such a buffer, so that payload is copied and checksummed once. A wire carries the frames of one plane,
// or of some; the link to the processes of this host carries those of all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "libmrc/wire/identifiers.h"

namespace mrc {

inline constexpr size_t kBurst = 32;

struct RxFrame {
  const uint8_t* data;
  uint32_t length;
  void* handle;         // the carrier's
  Plane plane = 0;      // by which it came; of a carrier for all planes
  bool intact = false;  // cannot have been corrupted on its way, so it need not have an ICRC
};

struct TxFrame {
  uint8_t* data;  // room for kFrameBytesMax bytes
  uint32_t length;
  void* handle;          // the carrier's
  Plane plane = 0;       // by which it goes
  bool damaged = false;  // on purpose: the receiver has to look at its ICRC although it is kept intact
  // The slot of the process of this host that it is for, if its source is what source_for() said: then nobody
  // has to look into the frame again, whose start may have left the cache by then. 0: look.
  uint16_t station = 0;
};

class Carrier {
 public:
  virtual ~Carrier() = default;

  // Received frames stay valid until released, in any order of bursts.
  virtual size_t receive(std::span<RxFrame> frames) = 0;
  virtual void release(std::span<const RxFrame> frames) = 0;

  // How many frames towards `next_hop` would be taken now without being dropped.
  virtual size_t transmit_room(const MacAddress& next_hop) = 0;
  // Buffers to write frames into; may give fewer than asked. Every one is given back by transmit or discard.
  virtual size_t acquire(std::span<TxFrame> frames) = 0;
  virtual void transmit(std::span<const TxFrame> frames) = 0;  // in order; what does not fit is dropped
  virtual void discard(std::span<const TxFrame> frames) = 0;

  // Integrity as an offload: frames arrive as they were sent or not at all, so nobody computes their ICRC.
  virtual bool keeps_intact() const { return false; }
  // Of a carrier to the processes of this host: what its frames of this plane come from, whatever the port's
  // address is. Else none.
  virtual std::optional<MacAddress> source_for(Plane /*plane*/) const { return std::nullopt; }
};

}  // namespace mrc
