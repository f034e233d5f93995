// SPDX-License-Identifier: BSD-2-Clause
// A host of the simulation: the shipped engine behind simulated ports, driven by arrivals and deadlines.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "libmrc/engine/engine.h"
#include "tests/sim/event_queue.h"
#include "tests/sim/link.h"

namespace mrc::sim {

class SimPort : public Port {
 public:
  SimPort(MacAddress address, Link& out) : address_(address), out_(out) {}

  MacAddress address() const override { return address_; }
  bool link_up() const override { return true; }
  bool resolve(const IpAddress& destination, Qpn, MacAddress* next_hop) override;
  size_t receive(std::span<RxFrame> frames) override;
  void release(std::span<const RxFrame> frames) override;
  size_t transmit_room(const MacAddress&) override { return kBurst; }
  size_t acquire(std::span<TxFrame> frames) override;
  void transmit(std::span<const TxFrame> frames) override;
  void discard(std::span<const TxFrame> frames) override;

  void arrive(Frame frame) { arrived_.push_back(std::move(frame)); }

 private:
  MacAddress address_;
  Link& out_;
  std::deque<Frame> arrived_;
  std::deque<Frame> lent_;                        // to the engine, until released
  std::vector<std::unique_ptr<uint8_t[]>> free_;  // transmit buffers
};

// Reacts to what the engine reports; a workload overrides what it needs.
class HostListener {
 public:
  virtual ~HostListener() = default;
  virtual void on_completions(CompletionQueue&) {}
  virtual void on_event(QueuePair&, QueuePairEvent) {}
};

class Host : private EventSink {
 public:
  // `outgoing`: one link per plane.
  Host(EventQueue& events, uint32_t number, const EngineConfig& config, std::span<Link* const> outgoing);

  Engine& engine() { return *engine_; }
  SimPort& port(Plane plane) { return *ports_[plane]; }
  IpAddress address() const { return address_; }
  void set_listener(HostListener* listener) { listener_ = listener; }

  void arrive(Plane plane, Frame frame);
  // The application posted something.
  void wake() { wake_at(events_.now()); }

  static IpAddress address_of(uint32_t number);

 private:
  void completions(CompletionQueue& queue) override;
  void completion_queue_overrun(CompletionQueue&) override {}
  void queue_pair_event(QueuePair& qp, QueuePairEvent event) override;
  void run();
  void wake_at(Nanoseconds time);

  EventQueue& events_;
  IpAddress address_;
  std::vector<std::unique_ptr<SimPort>> ports_;
  std::unique_ptr<Engine> engine_;
  HostListener* listener_ = nullptr;
  Nanoseconds wake_time_ = kNever;
  std::vector<CompletionQueue*> completed_;
};

}  // namespace mrc::sim
