// SPDX-License-Identifier: BSD-2-Clause
// Memory that the peer names, by a key and an address.
#pragma once

#include <cstdint>

#include "libmrc/work/context.h"

namespace mrc {

// IBTA 10.7.2: both the queue pair and the region must give the right. Null: they do not, or there is no such
// memory.
inline uint8_t* remote_memory(const Context& cx, MemoryKey key, uint64_t address, uint64_t bytes,
                              uint8_t right) {
  if ((cx.connection.remote_access & right) == 0) return nullptr;
  return cx.services.memory.translate(key, cx.connection.domain, address, bytes, right);
}

}  // namespace mrc
