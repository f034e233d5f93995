// SPDX-License-Identifier: BSD-2-Clause
// The one clock that the provider gives to the engine.
#pragma once

#include "dpdk_io/host/monotonic_clock.h"
#include "providers/mrc/verbs/counted_clock.h"

namespace mrc::provider {

struct ProcessorCounter {
  [[gnu::always_inline]] static inline uint64_t counts() {
#if defined(__aarch64__)
    uint64_t count;
    asm volatile("mrs %0, cntvct_el0" : "=r"(count));
    return count;
#elif defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return 0;
#endif
  }
  // The kernel has tried it, and goes by it itself.
  static bool is_even();
  static Nanoseconds time() {
    return monotonic_now();
  }
};

extern CountedClock<ProcessorCounter> provider_clock;

[[gnu::always_inline]] inline Nanoseconds clock_now() {
  return provider_clock.now();
}

}  // namespace mrc::provider
