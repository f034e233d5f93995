// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/host/burst_guard.h"

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "dpdk_io/host/fork_guard.h"

namespace mrc {
namespace {

std::mutex guards_mutex;
auto& guards = *new std::vector<const BurstGuard*>;  // threads of ours outlive the destructors at exit

long membarrier(int command) {
  return syscall(SYS_membarrier, command, 0, 0);
}

bool membarrier_works() {
  static const bool works = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0 &&
                            membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0;
  return works;
}

}  // namespace

BurstGuard::BurstGuard() : fence_needed_(!membarrier_works()) {
  std::lock_guard lock(guards_mutex);
  guards.push_back(this);
}

BurstGuard::~BurstGuard() {
  if (in_forked_child()) return;  // the lock may have been held when the parent forked
  std::lock_guard lock(guards_mutex);
  guards.erase(std::find(guards.begin(), guards.end(), this));
}

void BurstGuard::publish_stores_of_all_threads() {
  __sync_synchronize();
  if (membarrier_works()) membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

void BurstGuard::wait_until_idle() const {
  // The thread in the burst may be waiting for this very CPU.
  while (active_.load(std::memory_order_acquire)) sched_yield();
}

void BurstGuard::wait() const {
  publish_stores_of_all_threads();
  wait_until_idle();
}

void BurstGuard::wait_for_all() {
  publish_stores_of_all_threads();
  std::lock_guard lock(guards_mutex);
  for (const BurstGuard* guard : guards) guard->wait_until_idle();
}

}  // namespace mrc
