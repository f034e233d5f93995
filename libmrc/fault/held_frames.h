// SPDX-License-Identifier: BSD-2-Clause
// Copies of frames that wait: for a time, or until others have overtaken them. Their memory is there before
// the first one comes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "libmrc/port/carrier.h"
#include "libmrc/wire/frame.h"
#include "libmrc/wire/time.h"

namespace mrc {

struct HeldFrame {
  Carrier* carrier = nullptr;  // leaves by it; null: has arrived
  Plane plane = 0;
  bool intact = false;
  uint32_t length = 0;
  uint32_t overtaken_by = 0;  // goes when so many more have passed; 0: by time alone
  Nanoseconds due = 0;        // then at the latest
  uint32_t place = 0;         // of its bytes
};

class HeldFrames {
 public:
  static constexpr size_t kMax = 256;

  // May throw: not on the data path.
  void make_room() {
    if (memory_ != nullptr) return;
    memory_ = std::make_unique<uint8_t[]>(kMax * kFrameBytesMax);
    free_.reserve(kMax);
    waiting_.reserve(kMax);
    for (size_t i = kMax; i-- > 0;) free_.push_back(static_cast<uint32_t>(i));
  }

  bool empty() const { return waiting_.empty(); }
  Nanoseconds next_due() const {
    Nanoseconds due = kNever;
    for (const HeldFrame& frame : waiting_) due = std::min(due, frame.due);
    return due;
  }
  std::span<uint8_t> bytes_of(const HeldFrame& frame) {
    return {memory_.get() + size_t{frame.place} * kFrameBytesMax, frame.length};
  }

  // False: there is no room, and nothing was kept.
  bool hold(HeldFrame frame, const uint8_t* bytes) {
    if (free_.empty() || frame.length > kFrameBytesMax) return false;
    frame.place = free_.back();
    free_.pop_back();
    std::copy_n(bytes, frame.length, memory_.get() + size_t{frame.place} * kFrameBytesMax);
    waiting_.push_back(frame);
    return true;
  }
  // One more has passed in that direction and by that plane.
  void overtake(bool leaves, Plane plane) {
    for (HeldFrame& frame : waiting_)
      if ((frame.carrier != nullptr) == leaves && frame.plane == plane && frame.overtaken_by > 1 &&
          --frame.overtaken_by == 1)
        frame.due = 0;
  }
  // Hands over what is due, oldest first. `go` says whether it could be done.
  template <typename Go>
  void release(Nanoseconds now, Go&& go) {
    for (size_t i = 0; i < waiting_.size();) {
      const HeldFrame frame = waiting_[i];
      if (frame.due > now || !go(frame)) {
        ++i;
        continue;
      }
      waiting_.erase(waiting_.begin() + static_cast<ptrdiff_t>(i));
      free_.push_back(frame.place);
    }
  }

 private:
  std::unique_ptr<uint8_t[]> memory_;
  std::vector<uint32_t> free_;
  std::vector<HeldFrame> waiting_;
};

}  // namespace mrc
