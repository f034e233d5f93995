// SPDX-License-Identifier: BSD-2-Clause
// Frames and where they live. A frame is handed on by pointer from the sender's port to the receiver's;
// switches change header bytes in place. A payload that is one byte over and over is not kept (folded): a
// large network has hundreds of thousands of frames under way, and most scenarios send nothing else.
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
  union {
    Picoseconds time = 0;  // on a wire: when it arrives
    uint64_t came_by;      // in a queue of a switch that counts them (PauseControl): the channel it came by
  };
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
  bool folded =
      false;  // bytes() are its first kFoldedHead, then the byte in between, then the last kFoldedTail

  static constexpr uint32_t kFoldedHead = 192;  // more than all headers
  static constexpr uint32_t kFoldedTail = 8;    // ICRC, and what stands for the payload in traces

  uint8_t* bytes() { return reinterpret_cast<uint8_t*>(this + 1); }
  const uint8_t* bytes() const { return reinterpret_cast<const uint8_t*>(this + 1); }
  uint32_t stored_bytes() const { return folded ? kFoldedHead + 1 + kFoldedTail : length; }
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
  // A frame with these bytes, in as little room as they need.
  Frame* keep(const uint8_t* bytes, uint32_t length);
  // The same frame with all its bytes; one that is not folded stays as it is.
  Frame* unfold(Frame* frame);
  // A buffer for any frame of the engine's that is not one yet: the buffers that engines hold between their
  // runs have nothing in them, so all hosts hold the same ones. `number`: of the buffer.
  uint8_t* draft(uint32_t number);

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
  std::vector<std::unique_ptr<uint8_t[]>> drafts_;
  uint64_t outstanding_ = 0;
  uint64_t bytes_reserved_ = 0;
};

// All bytes of a frame, folded or not, to where there is room for its length.
void write_bytes(const Frame& frame, uint8_t* to);

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
