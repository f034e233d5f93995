// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/interrupt_thread.h"

#include <rte_alarm.h>

#include <semaphore>

namespace mrc {
namespace {

struct Call {
  const std::function<void()>& work;
  std::binary_semaphore done{0};
};

void run(void* argument) {
  auto* call = static_cast<Call*>(argument);
  call->work();
  call->done.release();
}

}  // namespace

bool run_in_interrupt_thread(const std::function<void()>& work) {
  Call call{work};
  // EAL fires its alarms in the interrupt thread.
  if (rte_eal_alarm_set(1, run, &call) != 0) return false;
  call.done.acquire();
  return true;
}

}  // namespace mrc
