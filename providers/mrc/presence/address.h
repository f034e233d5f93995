// SPDX-License-Identifier: BSD-2-Clause
// Verbs and the kernel's commands carry addresses of this process as 64-bit numbers.
#pragma once

#include <cstdint>

namespace mrc::provider {

inline void* pointer_at(uint64_t address) {
  return reinterpret_cast<void*>(static_cast<uintptr_t>(address));  // NOLINT(performance-no-int-to-ptr)
}

}  // namespace mrc::provider
