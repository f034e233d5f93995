// SPDX-License-Identifier: BSD-2-Clause
// What the engine needs of a network port (one per plane): bursts of frames in and out, in buffers that the
// port owns. The engine writes a frame straight into the port's buffer, so that payload is copied and
// checksummed once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "libmrc/wire/identifiers.h"

namespace mrc {

inline constexpr size_t kBurst = 32;

struct RxFrame {
  const uint8_t* data;
  uint32_t length;
  void* handle;  // the port's
};

struct TxFrame {
  uint8_t* data;  // room for kFrameBytesMax bytes
  uint32_t length;
  void* handle;  // the port's
};

class Port {
 public:
  virtual ~Port() = default;

  virtual MacAddress address() const = 0;
  virtual bool link_up() const = 0;

  // Next hop towards a destination. False: not known (yet); the caller asks again later. Not on the data
  // path.
  virtual bool resolve(const IpAddress& destination, Qpn destination_qpn, MacAddress* next_hop) = 0;

  // Received frames stay valid until released, in any order of bursts.
  virtual size_t receive(std::span<RxFrame> frames) = 0;
  virtual void release(std::span<const RxFrame> frames) = 0;

  // How many frames towards `next_hop` would be taken now without being dropped.
  virtual size_t transmit_room(const MacAddress& next_hop) = 0;
  // Buffers to write frames into; may give fewer than asked. Every one is given back by transmit or discard.
  virtual size_t acquire(std::span<TxFrame> frames) = 0;
  virtual void transmit(std::span<const TxFrame> frames) = 0;  // in order; what does not fit is dropped
  virtual void discard(std::span<const TxFrame> frames) = 0;
};

}  // namespace mrc
