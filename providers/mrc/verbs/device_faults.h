// SPDX-License-Identifier: BSD-2-Clause
// What goes wrong on purpose in a device of this process: the rules of the run directory's page, which an
// operator writes (mrcctl), and those of the process's own, from its settings and from mrcdv.h.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "dpdk_io/host/fault_page.h"
#include "libmrc/fault/fault_injector.h"
#include "libmrc/fault/rule_state.h"

namespace mrc::provider {

class Device;

class DeviceFaults {
 public:
  explicit DeviceFaults(Device& device) : device_(device) {}

  // Before anything else, and again at no cost: the rules of the settings, and the page. Without a run
  // directory there is none; who starts the device hears of that.
  void open();

  // A number that is another one when the rules are. Any thread.
  uint64_t version() const {
    const FaultPage* mapped = page_.load(std::memory_order_acquire);
    const uint32_t page = mapped != nullptr ? mapped->changes.load(std::memory_order_relaxed) : 0;
    return uint64_t{page} << 32 | own_changes_.load(std::memory_order_relaxed);
  }
  // What the engine of a shard is to inject; null: nothing. False: the page is being written; ask again.
  bool make(unsigned shard, uint64_t* version, std::unique_ptr<FaultInjector>* injector);
  // Takes the rules that concern no engine, and raises the events that are new.
  void follow();

  // Rules of this process's own. 0 or an errno; a rule gets its id.
  int add(FaultRule* rule);
  int remove(uint32_t id);
  struct Own {
    FaultRule rule;  // without an id: removed
    std::atomic<uint64_t> hits{0};
  };
  // Calls see(rule, hits) for each.
  template <typename See>
  void for_each(See&& see) {
    std::lock_guard lock(mutex_);
    for (const Own& own : own_)
      if (own.rule.id != 0) see(own.rule, own.hits.load(std::memory_order_relaxed));
  }

  // Whether this call is to fail: an errno or 0.
  int on_call(FaultCall call) {
    if (version() != followed_.load(std::memory_order_relaxed)) follow();
    return has_calls_.load(std::memory_order_relaxed) ? choose(call) : 0;
  }

 private:
  static constexpr size_t kOwnMax = 256;  // in all, also those that were removed

  bool collect(std::vector<FaultInjector::Counted>* rules, uint64_t* version);
  int choose(FaultCall call);

  Device& device_;
  std::atomic<FaultPage*> page_{nullptr};  // stays as long as the process
  std::atomic<bool> opened_{false};
  std::atomic<uint32_t> own_changes_{1};
  std::atomic<bool> has_calls_{false};
  std::mutex mutex_;  // taken after the locks of the shards
  uint32_t last_id_ = 0;
  std::deque<Own> own_;  // never moved: engines count in it
  std::vector<RuleState> calls_;
  std::vector<RuleState> events_;  // that were raised
  std::atomic<uint64_t> followed_{0};
};

}  // namespace mrc::provider
