// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/work/flush_operation.h"

#include <atomic>

#include "libmrc/work/remote_memory.h"

namespace mrc {

// IBTA A19. What came before it has been written by now, by a CPU, into memory that all CPUs see alike:
// global visibility is what every WRITE has. Nothing here outlives a loss of power, so no region has the
// other right.
uint8_t execute_flush(Context& cx, const Feth& feth, const Reth& reth) {
  constexpr uint8_t kPlacements = Feth::kGlobal | Feth::kPersistent;
  if (feth.placement == 0 || (feth.placement & ~kPlacements) != 0 || feth.selectivity > Feth::kRegion)
    return Aeth::kNakInvalidRequest;
  const MemoryRegion* region = cx.services.memory.find(reth.key);
  if ((feth.placement & Feth::kPersistent) != 0 || region == nullptr) return Aeth::kNakRemoteAccess;
  const bool all = feth.selectivity == Feth::kRegion;
  if (remote_memory(cx, reth.key, all ? region->address : reth.address, all ? 0 : reth.message_bytes,
                    kRemoteFlush) == nullptr)
    return Aeth::kNakRemoteAccess;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  ++cx.services.counters.flushes_served;
  return Aeth::kAck;
}

}  // namespace mrc
