// SPDX-License-Identifier: BSD-2-Clause
// A child of fork() has none of its parent's threads, and what it inherits of devices and of DPDK is its
// parent's: it must not touch any of it.
#pragma once

#include <atomic>

namespace mrc {

namespace internal {
extern std::atomic<bool> forked;
}

// True in a child whose parent had something open that does not survive a fork.
inline bool in_forked_child() {
  return internal::forked.load(std::memory_order_relaxed);
}

// While one lives, children of this process are told so.
class ForkGuard {
 public:
  ForkGuard();
  ~ForkGuard();
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;
};

}  // namespace mrc
