// SPDX-License-Identifier: BSD-2-Clause
// What a refusal of the peer's is to the program: NAK codes that end a connection, as completions have them.
#pragma once

#include <cstdint>

#include "libmrc/wire/headers.h"
#include "libmrc/work/completion_queue.h"

namespace mrc {

// IBTA 9.7.5.
constexpr CompletionStatus status_of_refusal(uint8_t syndrome) {
  switch (syndrome) {
    case Aeth::kNakRemoteAccess:
      return CompletionStatus::kRemoteAccessError;
    case Aeth::kNakInvalidRequest:
      return CompletionStatus::kRemoteInvalidRequest;
    default:
      return CompletionStatus::kRemoteOperationError;
  }
}

}  // namespace mrc
