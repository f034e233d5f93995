// SPDX-License-Identifier: BSD-2-Clause
// The free frames of the own arena. First in, first out: a frame that was just read is still in the reader's
// cache, and writing it at once would take it away from there line by line. So no more frames are in use than
// are needed: they grow with what is under way.
#pragma once

#include <array>
#include <cstdint>

#include "dpdk_io/link/arena.h"

namespace mrc {

class FramePool {
 public:
  uint32_t free_count() const { return head_ - tail_; }
  uint32_t size() const { return size_; }
  void give(uint32_t frame) { free_[head_++ % Arena::kFramesMax] = frame; }
  uint32_t take() { return free_[tail_++ % Arena::kFramesMax]; }
  // Frames that nobody has used before.
  void grow(uint32_t most, uint32_t count) {
    for (; count > 0 && size_ < most && size_ < Arena::kFramesMax; --count) give(size_++);
  }

 private:
  uint32_t head_ = 0;
  uint32_t tail_ = 0;
  uint32_t size_ = 0;
  std::array<uint32_t, Arena::kFramesMax> free_;
};

}  // namespace mrc
