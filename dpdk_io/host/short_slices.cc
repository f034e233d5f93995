// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/host/short_slices.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "libmrc/wire/time.h"

namespace mrc {
namespace {

// As the kernel knows it; the C library does not.
struct SchedulerAttributes {
  uint32_t bytes = sizeof(SchedulerAttributes);
  uint32_t policy = 0;
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t runtime = 0;
  uint64_t deadline = 0;
  uint64_t period = 0;
};

}  // namespace

void ask_for_short_slices() {
  SchedulerAttributes attributes;
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return;
  if (attributes.policy != SCHED_OTHER) return;
  attributes.runtime = 100 * kMicrosecond;
  attributes.bytes = sizeof attributes;
  syscall(SYS_sched_setattr, 0, &attributes, 0);
}

}  // namespace mrc
