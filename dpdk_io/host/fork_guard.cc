// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/host/fork_guard.h"

#include <pthread.h>

namespace mrc {

std::atomic<bool> internal::forked{false};

namespace {
std::atomic<unsigned> holders{0};
}

ForkGuard::ForkGuard() {
  static const int registered = pthread_atfork(nullptr, nullptr, [] {
    if (holders.load(std::memory_order_relaxed) > 0) internal::forked.store(true, std::memory_order_relaxed);
  });
  static_cast<void>(registered);
  holders.fetch_add(1, std::memory_order_relaxed);
}

ForkGuard::~ForkGuard() {
  holders.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace mrc
