// SPDX-License-Identifier: BSD-2-Clause
// A port whose frames arrive when the other end looks, in order, and that can fail in every way a port can.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "libmrc/port/port.h"
#include "libmrc/wire/frame.h"

namespace mrc::fuzz {

class PipePort : public Port, public Carrier {
 public:
  // What is wrong with it; a set of bits.
  enum Fault : uint8_t {
    kDown = 1 << 0,       // no link
    kBlocked = 1 << 1,    // no room
    kNoBuffers = 1 << 2,  // nothing to write a frame into
    kNoNextHop = 1 << 3,  // nobody knows the way
    kLosesAll = 1 << 4,   // takes frames that never arrive
    kTwice = 1 << 5,      // what is sent arrives twice
  };

  MacAddress address() const override { return {}; }
  bool link_up() const override { return (faults & kDown) == 0; }
  Carrier* wire() override { return this; }
  bool resolve(const IpAddress&, Qpn, MacAddress*) override { return (faults & kNoNextHop) == 0; }
  size_t receive(std::span<RxFrame> frames) override;
  void release(std::span<const RxFrame> frames) override;
  size_t transmit_room(const MacAddress&) override { return (faults & kBlocked) == 0 ? kBurst : 0; }
  size_t acquire(std::span<TxFrame> frames) override;
  void transmit(std::span<const TxFrame> frames) override;
  void discard(std::span<const TxFrame> frames) override;

  void deliver(const uint8_t* frame, size_t bytes);
  // Whole again, and nothing is under way to it.
  void clear();
  bool empty() const { return first_ == arrived_.size(); }

  PipePort* peer = nullptr;
  uint8_t faults = 0;
  uint32_t drop_next = 0;

 private:
  struct Buffer {
    uint8_t bytes[kFrameBytesMax];
    uint32_t length;
  };
  Buffer* take();
  std::vector<std::unique_ptr<Buffer>> all_;
  std::vector<Buffer*> free_;
  std::vector<Buffer*> arrived_;
  size_t first_ = 0;  // of arrived_ that was not received yet
};

}  // namespace mrc::fuzz
