// SPDX-License-Identifier: BSD-2-Clause
// The clock of everything outside the engine.
#pragma once

#include <time.h>

#include "libmrc/wire/time.h"

namespace mrc {

inline Nanoseconds monotonic_now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<Nanoseconds>(time.tv_sec) * kSecond + static_cast<Nanoseconds>(time.tv_nsec);
}

}  // namespace mrc
