// SPDX-License-Identifier: BSD-2-Clause
// Locks for sections of some ten nanoseconds. A waiter yields soon, because the holder may sit on the same
// CPU.
#pragma once

#include <sched.h>

#include <atomic>

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

inline constexpr unsigned kSpinsBeforeYield = 64;

class SpinLock {
 public:
  void lock() {
    for (unsigned spins = 0; !try_lock();) {
      if (++spins < kSpinsBeforeYield) {
        cpu_relax();
      } else {
        sched_yield();
      }
    }
  }
  bool try_lock() {
    return !held_.load(std::memory_order_relaxed) && !held_.exchange(true, std::memory_order_acquire);
  }
  void unlock() { held_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> held_{false};
};

}  // namespace mrc::provider
