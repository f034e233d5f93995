// SPDX-License-Identifier: BSD-2-Clause
// A host of the simulation: the shipped engine behind simulated ports, run when frames arrive, when its
// application posts, when its ports have room again and when it has a deadline.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "libmrc/engine/engine.h"
#include "tests/sim/core/channel.h"
#include "tests/sim/host/host_port.h"

namespace mrc::sim {

struct HostConfig {
  EngineConfig engine;
  bool v4 = false;
  uint32_t transmit_frames_max = 6;    // data frames a port takes before it has no room
  uint32_t receive_frames_max = 4096;  // frames a port holds until the engine takes them
  Nanoseconds burst_gap = 200;         // between two runs of the engine
  std::optional<DcqcnSettings> dcqcn;  // of its ports; for RC
};

// Reacts to what the engine reports; a workload overrides what it needs.
class HostListener {
 public:
  virtual ~HostListener() = default;
  virtual void on_completions(CompletionQueue&) {}
  virtual void on_event(QueuePair&, QueuePairEvent) {}
  virtual void on_overrun(CompletionQueue&) {}
  // After every run of the engine; only with Host::watch().
  virtual void on_run(uint32_t /*host*/) {}
};

class Host : private EventSink {
 public:
  Host(Core& core, uint32_t number, const HostConfig& config, const std::vector<Channel*>& outgoing);

  uint32_t number() const { return number_; }
  Engine& engine() { return *engine_; }
  HostPort& port(Plane plane) { return *ports_[plane]; }
  size_t port_count() const { return ports_.size(); }
  IpAddress address() const { return address_; }
  void set_listener(HostListener* listener) { listener_ = listener; }
  void watch(bool on) { watched_ = on; }

  // The application posted something.
  void wake() { wake_at(core_.events.now()); }
  // The engine does not run before this time.
  void pause_until(Picoseconds time);
  void set_port_up(Plane plane, bool up);

  // The fabric's side.
  void arrive(Plane plane, uint32_t channel, Frame* frame);
  void room_changed(Plane plane);
  void pace(Plane plane);
  void on_wake();
  void on_timer();

  uint64_t runs() const { return runs_; }

 private:
  void completions(CompletionQueue& queue) override;
  void completion_queue_overrun(CompletionQueue& queue) override;
  void queue_pair_event(QueuePair& qp, QueuePairEvent event) override;
  void run();
  void wake_at(Picoseconds time);
  void set_timer(Picoseconds time);
  bool frames_wait() const;
  bool heed_notification(Plane plane, uint32_t channel, Frame* frame);
  void notify_sender(Plane plane, const Frame& frame);

  Core& core_;
  uint32_t number_;
  HostConfig config_;
  IpAddress address_;
  std::vector<std::unique_ptr<HostPort>> ports_;
  std::unique_ptr<Engine> engine_;
  HostListener* listener_ = nullptr;
  std::vector<CompletionQueue*> completed_;
  Picoseconds wake_time_ = kForever;   // of the one wake event that counts
  Picoseconds timer_time_ = kForever;  // of the one timer event that counts
  Picoseconds last_run_ = 0;
  Picoseconds paused_until_ = 0;
  bool ran_ = false;
  bool blocked_ = false;  // the engine has frames to send and waits for room
  bool watched_ = false;
  uint64_t runs_ = 0;
  std::unordered_map<uint32_t, Picoseconds> notified_;  // DCQCN: when its sender was last told, by QPN
};

}  // namespace mrc::sim
