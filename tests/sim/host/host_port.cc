// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/host/host_port.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "tests/sim/core/frame_headers.h"

namespace mrc::sim {

HostPort::~HostPort() {
  while (Frame* frame = arrived_.pop()) core_.frames.give(frame);
}

bool HostPort::resolve(const IpAddress& destination, Qpn, MacAddress* next_hop) {
  *next_hop = {{2, 0, 0, destination.bytes[13], destination.bytes[14], destination.bytes[15]}};
  return true;
}

bool HostPort::arrive(uint32_t channel, Frame* frame) {
  const bool full = arrived_.count() >= receive_frames_max_;
  if (!up_ || full) {
    core_.trace.note(core_.events.now(), channel, *frame, up_ ? Fate::kDropReceiver : Fate::kLostDown);
    core_.frames.give(frame);
    return false;
  }
  core_.trace.note(core_.events.now(), channel, *frame, Fate::kDelivered);
  arrived_.push(frame);
  return true;
}

size_t HostPort::receive(std::span<RxFrame> frames) {
  size_t count = 0;
  for (; count < frames.size() && !arrived_.empty(); ++count) {
    Frame* frame = core_.frames.unfold(arrived_.pop());
    FramePool::seal(frame);
    frames[count] = {frame->bytes(), frame->length, frame};
  }
  frames_received_ += count;
  return count;
}

void HostPort::release(std::span<const RxFrame> frames) {
  for (const RxFrame& frame : frames) core_.frames.give(static_cast<Frame*>(frame.handle));
}

size_t HostPort::acquire(std::span<TxFrame> frames) {
  size_t count = 0;
  for (uint32_t number = 0; number < kDrafts && count < std::min(frames.size(), kAcquireMax); ++number) {
    if ((drafts_held_ >> number & 1) != 0) continue;
    drafts_held_ |= uint32_t{1} << number;
    frames[count++] = {core_.frames.draft(plane_ * kDrafts + number), 0, draft_handle(number)};
  }
  return count;
}

void HostPort::transmit(std::span<const TxFrame> frames) {
  for (const TxFrame& given : frames) {
    Frame* frame = core_.frames.keep(given.data, given.length);
    read_headers(frame);
    ++frames_sent_;
    core_.trace.note(core_.events.now(), out_.id(), *frame, Fate::kSent);
    out_.send(frame);
  }
  discard(frames);
}

void HostPort::discard(std::span<const TxFrame> frames) {
  for (const TxFrame& frame : frames) drafts_held_ &= ~(uint32_t{1} << draft_number(frame.handle));
}

}  // namespace mrc::sim
