// SPDX-License-Identifier: BSD-2-Clause
// Which WRITEs memory allows, and where they go.
#pragma once

#include <cstdint>

#include "libmrc/memory/memory_table.h"
#include "libmrc/peer/connection.h"
#include "libmrc/wire/packet.h"

namespace mrc {

// MRC 12.S3, 2: bounds are checked per packet. A packet also shows as much of its message as it can: the
// start of a First and the end of a Last give all of it, and around a Middle there is at least one path MTU
// before and one byte behind.
[[gnu::always_inline]] inline bool write_allowed(const Connection& connection, MemoryTable& memory,
                                                 Opcode opcode, const Reth& reth, uint64_t bytes,
                                                 uint8_t** to) {
  if (reth.message_bytes == 0) return true;  // as in IBTA: no key is looked at
  if ((connection.remote_access & kRemoteWrite) == 0) return false;
  const MemoryRegion* region = memory.find(reth.key);
  if (region == nullptr || !region->lets(connection.domain, kRemoteWrite)) return false;
  if (is_message_start(opcode)) {
    if (bytes > reth.message_bytes || !region->contains(reth.address, reth.message_bytes)) return false;
  } else if (is_message_end(opcode)) {
    if (bytes > reth.message_bytes || !region->contains(reth.address, bytes) ||
        !region->contains(reth.address - (reth.message_bytes - bytes), reth.message_bytes))
      return false;
  } else {
    if (reth.message_bytes > region->bytes || !region->contains(reth.address, bytes + 1) ||
        reth.address - region->address < connection.mtu)
      return false;
  }
  *to = region->place_of(reth.address);
  return memory.present(*region, *to, bytes, kRemoteWrite);
}

}  // namespace mrc
