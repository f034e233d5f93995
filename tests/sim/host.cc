// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/host.h"

#include <algorithm>
#include <cassert>

#include "libmrc/wire/frame.h"

namespace mrc::sim {

namespace {
// What one burst costs the host at least; also how soon it looks again when it was blocked.
constexpr Nanoseconds kBurstTime = 200;
}  // namespace

bool SimPort::resolve(const IpAddress& destination, Qpn, MacAddress* next_hop) {
  *next_hop = {{2, 0, 0, 0, destination.bytes[14], destination.bytes[15]}};
  return true;
}

size_t SimPort::receive(std::span<RxFrame> frames) {
  size_t count = 0;
  for (; count < frames.size() && !arrived_.empty(); ++count) {
    // Exactly as large as the frame, so that AddressSanitizer sees any read behind its end.
    lent_.push_back(std::move(arrived_.front()));
    arrived_.pop_front();
    lent_.back().shrink_to_fit();
    frames[count] = {lent_.back().data(), static_cast<uint32_t>(lent_.back().size()), nullptr};
  }
  return count;
}

void SimPort::release(std::span<const RxFrame> frames) {
  for (size_t i = 0; i < frames.size(); ++i) lent_.pop_front();
}

size_t SimPort::acquire(std::span<TxFrame> frames) {
  for (TxFrame& frame : frames) {
    if (free_.empty()) free_.push_back(std::make_unique<uint8_t[]>(kFrameBytesMax));
    frame = {free_.back().release(), 0, nullptr};
    free_.pop_back();
  }
  return frames.size();
}

void SimPort::transmit(std::span<const TxFrame> frames) {
  for (const TxFrame& frame : frames) {
    assert(frame.length <= kFrameBytesMax);
    out_.send({frame.data, frame.length});
  }
  discard(frames);
}

void SimPort::discard(std::span<const TxFrame> frames) {
  for (const TxFrame& frame : frames) free_.emplace_back(frame.data);
}

IpAddress Host::address_of(uint32_t number) {
  return IpAddress::v4(10, static_cast<uint8_t>(number >> 16), static_cast<uint8_t>(number >> 8),
                       static_cast<uint8_t>(number));
}

Host::Host(EventQueue& events, uint32_t number, const EngineConfig& config, std::span<Link* const> outgoing)
    : events_(events), address_(address_of(number)) {
  std::vector<Port*> ports;
  for (Link* link : outgoing) {
    const auto id = static_cast<uint8_t>(ports_.size());
    ports_.push_back(
        std::make_unique<SimPort>(MacAddress{{2, 1, id, 0, 0, static_cast<uint8_t>(number)}}, *link));
    ports.push_back(ports_.back().get());
  }
  EventSink* sink = this;
  engine_ = std::make_unique<Engine>(config, ports, sink);
}

void Host::arrive(Plane plane, Frame frame) {
  ports_[plane]->arrive(std::move(frame));
  wake();
}

void Host::wake_at(Nanoseconds time) {
  if (time >= wake_time_) return;
  wake_time_ = time;
  events_.at(time, [this, time] {
    if (wake_time_ == time) run();
  });
}

void Host::run() {
  wake_time_ = kNever;
  const size_t work = engine_->progress(events_.now());
  for (size_t i = 0; i < completed_.size(); ++i) listener_->on_completions(*completed_[i]);
  completed_.clear();
  // The listener may have posted more.
  const bool again = work > 0 || engine_->doorbell_pending();
  const Nanoseconds soon = events_.now() + kBurstTime;
  if (again) wake_at(soon);
  if (const Nanoseconds deadline = engine_->next_deadline(); deadline != kNever)
    wake_at(std::max(deadline, soon));
}

void Host::completions(CompletionQueue& queue) {
  if (listener_ != nullptr) completed_.push_back(&queue);
}

void Host::queue_pair_event(QueuePair& qp, QueuePairEvent event) {
  if (listener_ != nullptr) listener_->on_event(qp, event);
}

}  // namespace mrc::sim
