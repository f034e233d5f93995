// SPDX-License-Identifier: BSD-2-Clause
// Carries out a compare-and-swap or fetch-and-add for the peer.
#pragma once

#include <cstdint>

#include "libmrc/wire/headers.h"
#include "libmrc/work/context.h"

namespace mrc {

// Aeth::kAck, and what stood there in *before; else the syndrome to refuse it with. `opcode` may be MRC's or
// plain RC's.
uint8_t execute_atomic(Context& cx, Opcode opcode, const AtomicEth& atomic, uint64_t* before);

// IBTA A19: ATOMIC WRITE is a WRITE by its rights.
uint8_t atomic_right(Opcode opcode);

}  // namespace mrc
