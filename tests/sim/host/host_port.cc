// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/host/host_port.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "tests/sim/core/frame_headers.h"

namespace mrc::sim {

HostPort::HostPort(Core& core, Plane plane, MacAddress address, Channel& out, uint32_t transmit_frames_max,
                   uint32_t receive_frames_max, const std::optional<DcqcnSettings>& dcqcn)
    : core_(core),
      plane_(plane),
      address_(address),
      out_(out),
      transmit_frames_max_(transmit_frames_max),
      receive_frames_max_(receive_frames_max) {
  if (dcqcn) paced_ = std::make_unique<PacedSender>(core, out, *dcqcn, transmit_frames_max);
}

HostPort::~HostPort() {
  while (Frame* frame = arrived_.pop()) core_.frames.give(frame);
}

// Switches do not look at it. Where flows are paced every remote queue pair has one of its own.
bool HostPort::resolve(const IpAddress& destination, Qpn qpn, MacAddress* next_hop) {
  *next_hop = {{2, 0, 0, destination.bytes[13], destination.bytes[14], destination.bytes[15]}};
  if (paced_ == nullptr) return true;
  next_hop->bytes[0] = 6;
  next_hop->bytes[1] = static_cast<uint8_t>(qpn.value() >> 8);
  next_hop->bytes[2] = static_cast<uint8_t>(qpn.value());
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
    if (paced_ != nullptr) {
      paced_->send(frame);
    } else {
      out_.send(frame);
    }
  }
  discard(frames);
}

void HostPort::discard(std::span<const TxFrame> frames) {
  for (const TxFrame& frame : frames) drafts_held_ &= ~(uint32_t{1} << draft_number(frame.handle));
}

}  // namespace mrc::sim
