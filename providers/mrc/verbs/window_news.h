// SPDX-License-Identifier: BSD-2-Clause
// Memory windows are bound and invalidated by requests of a queue pair, in its shard; the others hear of it
// here, and believe it before they receive anything more.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "libmrc/memory/memory_table.h"
#include "providers/mrc/verbs/spin_lock.h"

namespace mrc::provider {

class WindowNews {
 public:
  // There may be so many windows: nothing is allocated later.
  void make_room(size_t windows) {
    std::lock_guard lock(lock_);
    if (waiting_.capacity() < windows) waiting_.reserve(2 * windows);
  }

  // Any thread. A newer word about a window takes the place of an older one.
  void tell(const MemoryRegion& window) {
    std::lock_guard lock(lock_);
    for (MemoryRegion& known : waiting_) {
      if (KeySequence::number_of(known.key) != KeySequence::number_of(window.key)) continue;
      known = window;
      return;
    }
    waiting_.push_back(window);
    any_.store(true, std::memory_order_release);
  }

  // Under the lock of the shard with this table.
  void apply(MemoryTable& memory) {
    if (!any_.load(std::memory_order_acquire)) [[likely]]
      return;
    std::lock_guard lock(lock_);
    for (const MemoryRegion& window : waiting_) memory.follow(window);
    waiting_.clear();
    any_.store(false, std::memory_order_relaxed);
  }

  void clear() {
    std::lock_guard lock(lock_);
    waiting_.clear();
    any_.store(false, std::memory_order_relaxed);
  }

 private:
  SpinLock lock_;  // taken after all others
  std::vector<MemoryRegion> waiting_;
  std::atomic<bool> any_{false};
};

}  // namespace mrc::provider
