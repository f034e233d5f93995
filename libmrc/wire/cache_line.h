// SPDX-License-Identifier: BSD-2-Clause
// What CPUs hand to each other, and how one is told early that it will need a line.
#pragma once

#include <cstddef>

namespace mrc {

inline constexpr size_t kCacheLine = 64;

// The line is written here soon, and another CPU may have it. On x86 the compiler's own word for this reads
// the line unless it is told more of the processor, and then it has to be asked for once more, to be written:
// half as fast as saying nothing.
[[gnu::always_inline]] inline void fetch_to_write(const void* line) {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(line)));
#else
  __builtin_prefetch(line, 1);
#endif
}

}  // namespace mrc
