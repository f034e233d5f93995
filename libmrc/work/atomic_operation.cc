// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/work/atomic_operation.h"

#include "libmrc/wire/packet.h"
#include "libmrc/work/remote_memory.h"

namespace mrc {

uint8_t atomic_right(Opcode opcode) {
  return to_mrc(opcode) == Opcode::kAtomicWrite ? kRemoteWrite : kRemoteAtomic;
}

uint8_t execute_atomic(Context& cx, Opcode opcode, const AtomicEth& atomic, uint64_t* before) {
  // IBTA 9.4.5: on eight bytes at an address that is a multiple of eight.
  if ((atomic.address & 7) != 0) return Aeth::kNakInvalidRequest;
  const uint8_t right = atomic_right(opcode);
  uint8_t* at = remote_memory(cx, atomic.key, atomic.address, sizeof(uint64_t), right);
  if (at == nullptr || (reinterpret_cast<uintptr_t>(at) & 7) != 0) return Aeth::kNakRemoteAccess;
  auto* word = reinterpret_cast<uint64_t*>(at);
  const uint32_t losses = cx.services.memory.losses();
  if (to_mrc(opcode) == Opcode::kFetchAdd) {
    *before = __atomic_fetch_add(word, atomic.swap_or_add, __ATOMIC_SEQ_CST);
  } else if (to_mrc(opcode) == Opcode::kAtomicWrite) {
    __atomic_store_n(word, atomic.swap_or_add, __ATOMIC_SEQ_CST);
    *before = 0;
  } else {
    *before = atomic.compare;
    __atomic_compare_exchange_n(word, before, atomic.swap_or_add, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  }
  if (cx.services.memory.losses() != losses) return Aeth::kNakRemoteAccess;
  ++cx.services.counters.atomics_served;
  return Aeth::kAck;
}

}  // namespace mrc
