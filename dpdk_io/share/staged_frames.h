// SPDX-License-Identifier: BSD-2-Clause
// Frames that are copied into buffers of a carrier and leave in bursts.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>

#include "libmrc/port/carrier.h"
#include "libmrc/wire/frame.h"

namespace mrc {

class StagedFrames {
 public:
  explicit StagedFrames(Carrier& carrier) : carrier_(carrier) {}
  ~StagedFrames() {
    flush();
    carrier_.discard({frames_.data(), acquired_});
  }
  StagedFrames(const StagedFrames&) = delete;
  StagedFrames& operator=(const StagedFrames&) = delete;

  // A copy that nobody else can change; it leaves with commit(). Empty: no room.
  std::span<const uint8_t> copy(std::span<const uint8_t> frame) {
    if (frame.size() > kFrameBytesMax) return {};
    if (staged_ == acquired_ && !refill()) return {};
    std::memcpy(frames_[staged_].data, frame.data(), frame.size());
    frames_[staged_].length = static_cast<uint32_t>(frame.size());
    return {frames_[staged_].data, frame.size()};
  }
  void commit(Plane plane) {
    frames_[staged_].plane = plane;
    if (++staged_ == acquired_) flush();
  }
  void flush() {
    if (staged_ == 0) return;
    carrier_.transmit({frames_.data(), staged_});
    std::copy(frames_.begin() + staged_, frames_.begin() + acquired_, frames_.begin());
    acquired_ -= staged_;
    staged_ = 0;
  }

 private:
  bool refill() {
    flush();
    if (acquired_ == 0) acquired_ = static_cast<uint32_t>(carrier_.acquire(frames_));
    return acquired_ > 0;
  }

  Carrier& carrier_;
  uint32_t staged_ = 0;
  uint32_t acquired_ = 0;
  std::array<TxFrame, kBurst> frames_{};
};

}  // namespace mrc
