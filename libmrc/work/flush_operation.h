// SPDX-License-Identifier: BSD-2-Clause
// Carries out a FLUSH for the peer.
#pragma once

#include <cstdint>

#include "libmrc/wire/headers.h"
#include "libmrc/work/context.h"

namespace mrc {

// Aeth::kAck, or the syndrome to refuse it with.
uint8_t execute_flush(Context& cx, const Feth& feth, const Reth& reth);

}  // namespace mrc
