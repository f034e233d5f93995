// SPDX-License-Identifier: BSD-2-Clause
// A device of this process, shared by all contexts that are open on it: its shards, and the memory that they
// have in common. Opening a context costs nothing; the first shard starts when the first memory region or
// queue pair is made, a further one when a thread that has none makes its first queue pair.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "dpdk_io/host/control_page.h"
#include "dpdk_io/settings/device_config.h"
#include "libmrc/engine/engine.h"
#include "providers/mrc/verbs/device_faults.h"
#include "providers/mrc/verbs/device_flows.h"
#include "providers/mrc/verbs/device_memory.h"
#include "providers/mrc/verbs/progress.h"
#include "providers/mrc/verbs/shard.h"

namespace mrc::provider {

class Context;
struct Cq;
struct Srq;

class Device {
 public:
  // The device of that name; every open() needs its close(). The last close() stops it.
  static Device* open(const char* name);
  // One more open(), by whoever has it open: it does not stop before he has closed it too.
  void open_again();
  void close();
  // Whom to tell when the port goes down or up.
  void add(Context* context);
  void remove(Context* context);

  // 0 or an errno. The first failure is final and is explained once on stderr.
  int start();

  const std::string& name() const { return name_; }
  // As they were when the process first looked: what programs see does not change under them.
  const DeviceConfig& settings() const { return settings_; }
  // The port that programs see: up while one of the planes is. A device that was not started says so too.
  bool port_up() const { return port_up_.load(std::memory_order_relaxed); }
  void set_port_up(bool up);
  // Planes that have a link, as far as the first shard knows, and those that the operator lets be used.
  PlaneMask ports_up() const { return ports_up_.load(std::memory_order_relaxed); }
  void set_ports_up(PlaneMask up);
  PlaneMask ports_enabled();
  // What a controller has told the devices of the run directory; before the device is started, too. Null:
  // `why` is an errno, EPERM if it is not this user's to see.
  ControlPage* control(int* why);

  // --- once started ---
  // Those that run. None goes before all do.
  unsigned shards() const { return running_.load(std::memory_order_acquire); }
  Shard& shard(unsigned index) { return *shards_[index]; }
  DeviceMemory& memory() { return memory_; }
  DeviceFlows& flows() { return flows_; }
  // Before that, too.
  DeviceFaults& faults() { return faults_; }
  // Their rules have changed in this process: all shards take them now.
  void follow_faults();
  // An asynchronous event on purpose; of a queue pair, if `qpn` is one's.
  void raise(uint32_t event, uint32_t qpn);
  // The shard with this queue pair.
  Shard& shard_of(Qpn qpn);
  // What is the process's and not a thread's belongs to the first shard.
  Shard& first() { return *shards_[0]; }
  Engine& engine() { return first().engine(); }
  DevicePorts& ports() { return first().ports(); }
  // Of the first shard; before it was started, too.
  Progress& progress() { return first().progress(); }

  // Where a new queue pair with these queues lives: where its shared receive queue is drawn from, else where
  // its send queue belongs. Both belong there from now on, and the completion queues take completions from
  // there.
  Shard& settle(Cq& send, Cq& receive, Srq* shared);
  void settle(Cq& queue, Shard& shard);
  // Of raw packets: the process is one station on its Ethernet, so they are all in one place.
  Shard& settle_in_first(Cq& send, Cq& receive);

  // After a poll of one shard that found nothing: runs those of the others that nobody else does.
  void help_others(const Shard& own, Nanoseconds now_if_known);

  // Who is told about completions in a queue of the device's own, which is no verbs object (its owner is
  // null). Under the first shard's lock, before the queue is used; null when it is gone.
  struct Watcher {
    virtual void on_completions() = 0;

   protected:
    ~Watcher() = default;
  };
  void set_watcher(Watcher* watcher) { watcher_ = watcher; }
  void tell_watcher() {
    if (watcher_ != nullptr) watcher_->on_completions();
  }

  // Which thread makes a completion queue; several may have the same number.
  static constexpr unsigned kLanes = 64;
  static unsigned lane_of_this_thread();

 private:
  friend class DeviceFlows;
  friend class DeviceMemory;
  static constexpr unsigned kShardsMax = DeviceConfig::kEnginesMax;

  explicit Device(const char* name);
  ~Device() = default;

  int start_first(std::string* error);
  void stop();
  static void at_exit();
  Shard& shard_of_lane(unsigned lane);
  Shard* one_more();
  void publish(const Shard& shard) { running_.store(shard.index() + 1, std::memory_order_release); }
  void settle_locked(Cq& queue, Shard& shard);

  const std::string name_;
  const DeviceConfig& settings_;
  unsigned users_ = 0;         // that have opened it
  std::mutex contexts_mutex_;  // taken after all others
  std::vector<Context*> contexts_;
  std::atomic<bool> port_up_{true};
  std::atomic<PlaneMask> ports_up_{~PlaneMask{0}};
  std::mutex control_mutex_;  // taken after all others
  std::unique_ptr<ControlPage> control_;
  std::mutex start_mutex_;
  int failure_ = 0;
  DeviceConfig config_;

  std::array<Shard*, kShardsMax> shards_{};  // never destroyed
  std::atomic<unsigned> running_{0};
  DeviceMemory memory_{*this};
  DeviceFlows flows_{*this};
  DeviceFaults faults_{*this};
  std::mutex settle_mutex_;                            // before the locks of the shards
  std::array<std::optional<unsigned>, kLanes> lanes_;  // that have queue pairs, and their place in the order
  unsigned lanes_used_ = 0;
  unsigned shards_most_ = 1;
  Watcher* watcher_ = nullptr;
};

}  // namespace mrc::provider
