// SPDX-License-Identifier: BSD-2-Clause
// How a request of the peer broke a rule, so that the connection ends (IBTA 9.9.3).
#pragma once

#include <cstdint>

#include "libmrc/wire/headers.h"
#include "libmrc/wire/psn.h"
#include "libmrc/work/completion_queue.h"

namespace mrc {

struct ResponderFault {
  Psn psn;
  uint8_t syndrome = 0;  // what the peer is told
  bool in_receive =
      false;  // the receive request that it was to use is to blame, and completes with the reason

  CompletionStatus receive_status() const {
    if (!in_receive) return CompletionStatus::kFlushed;
    return syndrome == Aeth::kNakInvalidRequest ? CompletionStatus::kLocalLengthError
                                                : CompletionStatus::kLocalProtectionError;
  }
};

}  // namespace mrc
