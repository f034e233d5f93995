// SPDX-License-Identifier: BSD-2-Clause
// Tells a link from those before between the same two processes.
#pragma once

#include <sys/random.h>

#include <cstdint>

#include "dpdk_io/host/monotonic_clock.h"

namespace mrc {

// Never 0.
inline uint64_t new_link_number() {
  uint64_t number = 0;
  if (getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number) number = monotonic_now();
  return number | 1;
}

}  // namespace mrc
