// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/core/frame_pool.h"

#include <cassert>
#include <cstring>
#include <new>

#include "libmrc/wire/frame.h"

#if defined(__SANITIZE_ADDRESS__)
#define MRC_SIM_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MRC_SIM_ASAN 1
#endif
#endif
#ifdef MRC_SIM_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

namespace mrc::sim {

uint32_t FramePool::large_bytes() {
  return static_cast<uint32_t>((kFrameBytesMax + 63) / 64 * 64);
}

void FramePool::grow(Class& wanted) {
  const size_t stride = sizeof(Frame) + wanted.capacity;
  static_assert(sizeof(Frame) % alignof(Frame) == 0);
  slabs_.push_back(std::make_unique<uint8_t[]>(stride * kFramesPerSlab));
  bytes_reserved_ += stride * kFramesPerSlab;
  for (size_t i = kFramesPerSlab; i-- > 0;) {
    auto* frame = new (slabs_.back().get() + i * stride) Frame;
    frame->capacity = wanted.capacity;
    frame->next = wanted.free;
    wanted.free = frame;
    ASAN_POISON_MEMORY_REGION(frame->bytes(), frame->capacity);
  }
}

namespace {

// Whether everything between head and tail is the same byte.
bool can_fold(const uint8_t* bytes, uint32_t length) {
  if (length <= Frame::kFoldedHead + 1 + Frame::kFoldedTail) return false;
  const uint8_t* middle = bytes + Frame::kFoldedHead;
  return std::memcmp(middle, middle + 1, length - Frame::kFoldedHead - Frame::kFoldedTail - 1) == 0;
}

}  // namespace

Frame* FramePool::take(Class& from) {
  if (from.free == nullptr) grow(from);
  Frame* frame = from.free;
  from.free = frame->next;
  ++outstanding_;
  const uint32_t capacity = frame->capacity;
  *frame = Frame{};
  frame->capacity = capacity;
  ASAN_UNPOISON_MEMORY_REGION(frame->bytes(), capacity);
  return frame;
}

Frame* FramePool::copy(const Frame& frame) {
  Frame* copied = take_for(frame.stored_bytes());
  const uint32_t capacity = copied->capacity;
  *copied = frame;
  copied->capacity = capacity;
  copied->next = nullptr;
  std::memcpy(copied->bytes(), frame.bytes(), frame.stored_bytes());
  return copied;
}

Frame* FramePool::keep(const uint8_t* bytes, uint32_t length) {
  static_assert(Frame::kFoldedHead + 1 + Frame::kFoldedTail <= kSmallBytes);
  const bool folded = length > kSmallBytes && can_fold(bytes, length);
  Frame* frame = folded ? take(small_) : take_for(length);
  frame->length = length;
  frame->folded = folded;
  if (folded) {
    std::memcpy(frame->bytes(), bytes, Frame::kFoldedHead + 1);
    std::memcpy(frame->bytes() + Frame::kFoldedHead + 1, bytes + length - Frame::kFoldedTail,
                Frame::kFoldedTail);
  } else {
    std::memcpy(frame->bytes(), bytes, length);
  }
  return frame;
}

Frame* FramePool::unfold(Frame* frame) {
  if (!frame->folded) return frame;
  Frame* whole = take(large_);
  const uint32_t capacity = whole->capacity;
  *whole = *frame;
  whole->capacity = capacity;
  whole->folded = false;
  write_bytes(*frame, whole->bytes());
  give(frame);
  return whole;
}

void write_bytes(const Frame& frame, uint8_t* to) {
  const uint8_t* bytes = frame.bytes();
  if (!frame.folded) {
    std::memcpy(to, bytes, frame.length);
    return;
  }
  std::memcpy(to, bytes, Frame::kFoldedHead);
  const uint32_t tail_at = frame.length - Frame::kFoldedTail;
  std::memset(to + Frame::kFoldedHead, bytes[Frame::kFoldedHead], tail_at - Frame::kFoldedHead);
  std::memcpy(to + tail_at, bytes + Frame::kFoldedHead + 1, Frame::kFoldedTail);
}

uint8_t* FramePool::draft(uint32_t number) {
  while (drafts_.size() <= number) drafts_.push_back(std::make_unique<uint8_t[]>(large_.capacity));
  return drafts_[number].get();
}

void FramePool::give(Frame* frame) {
  assert(outstanding_ > 0);
  --outstanding_;
  Class& owner = frame->capacity == kSmallBytes ? small_ : large_;
  frame->next = owner.free;
  owner.free = frame;
  ASAN_UNPOISON_MEMORY_REGION(frame->bytes(), frame->capacity);
  ASAN_POISON_MEMORY_REGION(frame->bytes(), frame->capacity);
}

void FramePool::seal(Frame* frame) {
  ASAN_POISON_MEMORY_REGION(frame->bytes() + frame->length, frame->capacity - frame->length);
}

}  // namespace mrc::sim
