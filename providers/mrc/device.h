// SPDX-License-Identifier: BSD-2-Clause
// A device of this process: engine, ports and progress, shared by all contexts that are open on it. Opening a
// context costs nothing; the engine and DPDK start when the first memory region or queue pair is made.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "dpdk_io/device_ports.h"
#include "libmrc/engine/engine.h"
#include "providers/mrc/progress.h"
#include "providers/mrc/stats_writer.h"
#include "providers/mrc/system_random.h"

namespace mrc::provider {

class Context;

class Device final : private EventSink {
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
  // The port that programs see: up while one of the planes is. A device that was not started says so too.
  bool port_up() const { return port_up_.load(std::memory_order_relaxed); }
  // Only once started; everything but the doorbell under Progress::Control.
  Engine& engine() { return *engine_; }
  Progress& progress() { return progress_; }
  DevicePorts& ports() { return *ports_; }

  // Who is told about completions in a queue of the device's own, which is no verbs object (its owner is
  // null). Under the device's lock, before the queue is used; null when it is gone.
  struct Watcher {
    virtual void on_completions() = 0;

   protected:
    ~Watcher() = default;
  };
  void set_watcher(Watcher* watcher) { watcher_ = watcher; }

 private:
  explicit Device(const char* name) : name_(name) {}
  ~Device() override = default;

  int start_parts(std::string* error);
  void stop();
  static void at_exit();

  void completions(CompletionQueue& queue) override;
  void completion_queue_overrun(CompletionQueue& queue) override;
  void queue_pair_event(QueuePair& qp, QueuePairEvent event) override;
  void shared_receive_limit(SharedReceiveQueue& queue) override;
  void ports_changed(PlaneMask up) override;

  const std::string name_;
  unsigned users_ = 0;         // that have opened it
  std::mutex contexts_mutex_;  // taken after all others
  std::vector<Context*> contexts_;
  std::atomic<bool> port_up_{true};
  std::mutex start_mutex_;
  int failure_ = 0;

  SystemRandom random_;
  std::unique_ptr<DevicePorts> ports_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<StatsWriter> stats_;
  Watcher* watcher_ = nullptr;
  Progress progress_;
};

}  // namespace mrc::provider
