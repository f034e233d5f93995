// SPDX-License-Identifier: BSD-2-Clause
#include "tests/fuzz/pipe_port.h"

#include <algorithm>
#include <cstring>

namespace mrc::fuzz {

namespace {
constexpr size_t kBuffersAtOnce = 6;
}

PipePort::Buffer* PipePort::take() {
  if (free_.empty()) {
    all_.push_back(
        std::unique_ptr<Buffer>(new Buffer));  // not filled with zeros: that takes longer than its use
    return all_.back().get();
  }
  Buffer* buffer = free_.back();
  free_.pop_back();
  return buffer;
}

size_t PipePort::receive(std::span<RxFrame> frames) {
  size_t count = 0;
  while (count < frames.size() && first_ < arrived_.size()) {
    Buffer* buffer = arrived_[first_++];
    frames[count++] = {buffer->bytes, buffer->length, buffer};
  }
  if (first_ == arrived_.size()) {
    arrived_.clear();
    first_ = 0;
  }
  return count;
}

void PipePort::release(std::span<const RxFrame> frames) {
  for (const RxFrame& frame : frames) free_.push_back(static_cast<Buffer*>(frame.handle));
}

size_t PipePort::acquire(std::span<TxFrame> frames) {
  if ((faults & kNoBuffers) != 0) return 0;
  // A few at a time: what is left is moved about after every burst.
  frames = frames.first(std::min(frames.size(), kBuffersAtOnce));
  for (TxFrame& frame : frames) {
    Buffer* buffer = take();
    frame = {buffer->bytes, 0, buffer};
  }
  return frames.size();
}

void PipePort::transmit(std::span<const TxFrame> frames) {
  for (const TxFrame& frame : frames) {
    if (drop_next > 0) {
      --drop_next;
      continue;
    }
    if (((faults | peer->faults) & kDown) != 0 || (faults & kLosesAll) != 0) continue;
    peer->deliver(frame.data, frame.length);
    if ((faults & kTwice) != 0) peer->deliver(frame.data, frame.length);
  }
  discard(frames);
}

void PipePort::discard(std::span<const TxFrame> frames) {
  for (const TxFrame& frame : frames) free_.push_back(static_cast<Buffer*>(frame.handle));
}

void PipePort::deliver(const uint8_t* frame, size_t bytes) {
  Buffer* buffer = take();
  std::memcpy(buffer->bytes, frame, bytes);
  buffer->length = static_cast<uint32_t>(bytes);
  arrived_.push_back(buffer);
}

void PipePort::clear() {
  free_.insert(free_.end(), arrived_.begin() + static_cast<ptrdiff_t>(first_), arrived_.end());
  arrived_.clear();
  first_ = 0;
  faults = 0;
  drop_next = 0;
}

}  // namespace mrc::fuzz
