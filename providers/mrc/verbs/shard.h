// SPDX-License-Identifier: BSD-2-Clause
// One of a device's engines, with its ports, its lock and its thread. To other processes each is a neighbour
// of its own. Threads whose completion queues belong to different shards meet nowhere on the data path.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "dpdk_io/device_ports.h"
#include "dpdk_io/settings/device_config.h"
#include "libmrc/engine/engine.h"
#include "providers/mrc/verbs/capture_tap.h"
#include "providers/mrc/verbs/control_profiles.h"
#include "providers/mrc/verbs/progress.h"
#include "providers/mrc/verbs/stats_writer.h"
#include "providers/mrc/verbs/system_random.h"
#include "providers/mrc/verbs/totals_writer.h"
#include "providers/mrc/verbs/window_news.h"

namespace mrc::provider {

class Device;

// Lives as long as the process: signal handlers may look at it.
class Shard final : private EventSink, private MemoryTable::WindowWatcher {
 public:
  Shard(Device& device, unsigned index) : device_(device), index_(index) {}
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  unsigned index() const { return index_; }
  uint32_t bit() const { return 1u << index_; }

  // Engine and ports, without a turn of them; 0 or an errno with its reason.
  int open(const DeviceConfig& config, std::string* error);
  // From now on it runs; 0 or an errno with its reason.
  int run(std::string* error);
  void stop();
  void stop_at_exit();

  // Only once opened; everything but the doorbell under Progress::Control.
  Engine& engine() { return *engine_; }
  DevicePorts& ports() { return *ports_; }
  bool opened() const { return engine_ != nullptr; }
  // Before that, too.
  Progress& progress() { return progress_; }
  WindowNews& news() { return news_; }
  ControlProfiles& profiles() { return *profiles_; }
  // What a controller has changed just now: read under no lock, and taken under it. What is left in `word` is
  // freed under none. May throw bad_alloc.
  std::optional<ControlProfiles::Word> read_profiles() const;
  void take_profiles(std::optional<ControlProfiles::Word>& word);
  // Who waits for the answers of probes that were sent by this engine; null: nobody. Under the lock.
  struct Prober {
    virtual void answered(uint64_t cookie, Nanoseconds rtt, Plane plane) = 0;

   protected:
    ~Prober() = default;
  };
  // What is injected on purpose: whether it is something else than the engine has, and what concerns no
  // engine. Under no lock.
  bool faults_changed() const;
  void follow_events();
  // Takes the faults that are injected now, if they are other ones than before. Under the lock.
  void follow_faults();
  void set_prober(Prober* prober) { prober_ = prober; }

 private:
  void completions(CompletionQueue& queue) override;
  void completion_queue_overrun(CompletionQueue& queue) override;
  void queue_pair_event(QueuePair& qp, QueuePairEvent event) override;
  void shared_receive_limit(SharedReceiveQueue& queue) override;
  void ports_changed(PlaneMask up) override;
  void ev_probe_answered(uint64_t cookie, Nanoseconds rtt, Plane plane) override;
  void path_event(const QueuePair& qp, const PathEvent& event) override;
  void window_changed(const MemoryRegion& window) override;

  Device& device_;
  const unsigned index_;
  std::string name_;
  SystemRandom random_;
  WindowNews news_;
  std::atomic<uint64_t> faults_version_{0};  // that the engine has
  std::unique_ptr<DevicePorts> ports_;
  std::unique_ptr<ControlProfiles> profiles_;
  Prober* prober_ = nullptr;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<StatsWriter> stats_;
  std::unique_ptr<CaptureTap> capture_;
  std::unique_ptr<TotalsWriter> totals_;
  Progress progress_;
};

}  // namespace mrc::provider
