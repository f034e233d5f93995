// SPDX-License-Identifier: BSD-2-Clause
// The one clock that the provider gives to the engine.
#pragma once

#include <time.h>

#include "libmrc/wire/time.h"

namespace mrc::provider {

inline Nanoseconds clock_now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<Nanoseconds>(time.tv_sec) * kSecond + static_cast<Nanoseconds>(time.tv_nsec);
}

}  // namespace mrc::provider
