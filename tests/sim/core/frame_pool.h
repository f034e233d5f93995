// SPDX-License-Identifier: BSD-2-Clause
// Frames and where they live. A frame's bytes are written once, by the engine, and handed on by pointer from
// the sender's port to the receiver's; switches change header bytes in place.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tests/sim/core/time.h"

namespace mrc::sim {

inline constexpr uint32_t kNoHost = UINT32_MAX;

// The bytes stand right behind it. What a switch needs at every hop is read from them once (read_headers).
struct Frame {
  Frame* next = nullptr;  // in the one queue, wire or list that holds it
  Picoseconds time = 0;   // on a wire: when it arrives
  uint64_t flow_hash = 0;
  uint32_t length = 0;
  uint32_t capacity = 0;
  uint32_t destination = kNoHost;  // host number by the outermost address; kNoHost: none of ours
  uint32_t entropy = 0;            // as the engine's Entropy: flow label and UDP source port
  uint8_t dscp = 0;                // outermost
  bool readable = false;           // the headers made sense
  bool v4 = false;                 // outermost
  bool srv6 = false;               // outer IPv6 with an inner packet
  bool trimmed = false;
  bool data = false;  // carries payload (for observers; by opcode)

  uint8_t* bytes() { return reinterpret_cast<uint8_t*>(this + 1); }
  const uint8_t* bytes() const { return reinterpret_cast<const uint8_t*>(this + 1); }
};

class FramePool {
 public:
  FramePool() = default;
  FramePool(const FramePool&) = delete;
  FramePool& operator=(const FramePool&) = delete;

  // Room for any frame of the engine's.
  Frame* take_large() { return take(large_); }
  // The smallest that holds `length` bytes.
  Frame* take_for(uint32_t length) { return take(length <= kSmallBytes ? small_ : large_); }
  Frame* copy(const Frame& frame);
  void give(Frame* frame);

  // Told to AddressSanitizer: nobody may read behind the frame's end.
  static void seal(Frame* frame);

  uint64_t outstanding() const { return outstanding_; }
  uint64_t bytes_reserved() const { return bytes_reserved_; }

  static constexpr uint32_t kSmallBytes = 256;

 private:
  static constexpr size_t kFramesPerSlab = 64;
  struct Class {
    uint32_t capacity;
    Frame* free = nullptr;
  };
  Frame* take(Class& from);
  void grow(Class& wanted);

  static uint32_t large_bytes();
  Class small_{kSmallBytes};
  Class large_{large_bytes()};
  std::vector<std::unique_ptr<uint8_t[]>> slabs_;
  uint64_t outstanding_ = 0;
  uint64_t bytes_reserved_ = 0;
};

// A list of frames, first in, first out.
class FrameList {
 public:
  bool empty() const { return head_ == nullptr; }
  Frame* front() const { return head_; }
  uint32_t count() const { return count_; }
  void push(Frame* frame) {
    frame->next = nullptr;
    (tail_ != nullptr ? tail_->next : head_) = frame;
    tail_ = frame;
    ++count_;
  }
  Frame* pop() {
    Frame* frame = head_;
    if (frame == nullptr) return nullptr;
    head_ = frame->next;
    if (head_ == nullptr) tail_ = nullptr;
    --count_;
    return frame;
  }

 private:
  Frame* head_ = nullptr;
  Frame* tail_ = nullptr;
  uint32_t count_ = 0;
};

}  // namespace mrc::sim
