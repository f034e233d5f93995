// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/interrupt_thread.h"

#include <rte_alarm.h>

#include <atomic>
#include <semaphore>

namespace mrc {
namespace {

struct Call {
  const std::function<void()>& work;
  std::atomic<bool> handed_over{
      false};  // EAL orders the hand-over by itself, but checkers cannot see into it
  std::binary_semaphore done{0};
};

void run(void* argument) {
  auto* call = static_cast<Call*>(argument);
  while (!call->handed_over.load(std::memory_order_acquire)) {
  }
  call->work();
  call->done.release();
}

}  // namespace

bool run_in_interrupt_thread(const std::function<void()>& work) {
  Call call{work};
  call.handed_over.store(true, std::memory_order_release);
  // EAL fires its alarms in the interrupt thread.
  if (rte_eal_alarm_set(1, run, &call) != 0) return false;
  call.done.acquire();
  return true;
}

}  // namespace mrc
