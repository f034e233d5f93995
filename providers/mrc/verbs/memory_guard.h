// SPDX-License-Identifier: BSD-2-Clause
// Registered memory that the application unmaps without deregistering it. A NIC has the pages pinned and
// notices nothing; here the engine would meet a SIGSEGV in the middle of a copy. Instead the fault is taken:
// for the rest of this turn an empty page lies there, and the region has no rights any more, so that whoever
// uses it gets an error. All other faults go where they would have gone without us.
//
// What it does not help against: memory that is protected instead of unmapped, a file that is truncated,
// other memory that is mapped at the same place, and an application that sets a handler of its own later.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "libmrc/memory/memory_table.h"

namespace mrc::provider {

// Of one device. Lives as long as the process.
class MemoryGuard {
 public:
  // Before its first turn; the first one of the process sets the handlers.
  void watch();

  // Around everything that copies to or from registered memory, under the shard's lock.
  void enter(MemoryTable& memory) {
    memory.doubt_presence();
    memory_ = &memory;
    thread_.store(self(), std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  void leave() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    thread_.store(0, std::memory_order_relaxed);
    if (lent_count_ != 0) [[unlikely]]
      take_back();
  }

 private:
  static constexpr size_t kLentMax = 64;

  static uintptr_t self() { return static_cast<uintptr_t>(pthread_self()); }
  static void on_fault(int signal, void* info, void* context);
  bool lend(void* address);
  void take_back();

  MemoryTable* memory_ = nullptr;
  std::atomic<uintptr_t> thread_{0};  // that is inside
  size_t lent_count_ = 0;
  void* lent_[kLentMax] = {};
  MemoryGuard* next_ = nullptr;
};

}  // namespace mrc::provider
