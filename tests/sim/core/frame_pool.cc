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
  Frame* copied = take_for(frame.length);
  const uint32_t capacity = copied->capacity;
  *copied = frame;
  copied->capacity = capacity;
  copied->next = nullptr;
  std::memcpy(copied->bytes(), frame.bytes(), frame.length);
  return copied;
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
