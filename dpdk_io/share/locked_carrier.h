// SPDX-License-Identifier: BSD-2-Clause
// A carrier that several threads use: one at a time is inside it. Frames are written and read outside, so
// what is waited for is the hand-over of a burst.
#pragma once

#include <mutex>
#include <span>

#include "libmrc/port/carrier.h"

namespace mrc {

class LockedCarrier final : public Carrier {
 public:
  explicit LockedCarrier(Carrier& carrier) : carrier_(carrier) {}

  size_t receive(std::span<RxFrame> frames) override {
    const std::lock_guard lock(mutex_);
    return carrier_.receive(frames);
  }
  void release(std::span<const RxFrame> frames) override {
    const std::lock_guard lock(mutex_);
    carrier_.release(frames);
  }
  size_t transmit_room(const MacAddress& next_hop) override {
    const std::lock_guard lock(mutex_);
    return carrier_.transmit_room(next_hop);
  }
  size_t acquire(std::span<TxFrame> frames) override {
    const std::lock_guard lock(mutex_);
    return carrier_.acquire(frames);
  }
  void transmit(std::span<const TxFrame> frames) override {
    const std::lock_guard lock(mutex_);
    carrier_.transmit(frames);
  }
  void discard(std::span<const TxFrame> frames) override {
    const std::lock_guard lock(mutex_);
    carrier_.discard(frames);
  }
  bool keeps_intact() const override { return carrier_.keeps_intact(); }

 private:
  std::mutex mutex_;
  Carrier& carrier_;
};

}  // namespace mrc
