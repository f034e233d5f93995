// SPDX-License-Identifier: BSD-2-Clause
// Locks for sections of some ten nanoseconds. A waiter yields soon, because the holder may sit on the same
// CPU.
#pragma once

#include <sched.h>

#include <atomic>

#include "dpdk_io/host/cancellation.h"

namespace mrc::provider {

inline void cpu_relax() {
#if defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#elif defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Orders a store before a later load of something else, which nothing weaker does.
inline void full_fence() {
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored \
    "-Wtsan"  // the thread sanitizer does not know fences; it sees the atomics around it
#endif
  std::atomic_thread_fence(std::memory_order_seq_cst);
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
}

// Waits for somebody who may be running elsewhere, on this CPU, or (below a real-time thread) not at all.
class Backoff {
 public:
  void wait() {
    ++rounds_;
    if (rounds_ < kSpins) {
      cpu_relax();
    } else if (rounds_ < kYields) {
      sched_yield();
    } else {
      uncancelled::sleep({0, 20'000});
    }
  }

 private:
  static constexpr unsigned kSpins = 64;
  static constexpr unsigned kYields = 512;
  unsigned rounds_ = 0;
};

class SpinLock {
 public:
  void lock() {
    for (Backoff backoff; !try_lock();) backoff.wait();
  }
  bool try_lock() {
    return !held_.load(std::memory_order_relaxed) && !held_.exchange(true, std::memory_order_acquire);
  }
  void unlock() { held_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> held_{false};
};

}  // namespace mrc::provider
