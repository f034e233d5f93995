// SPDX-License-Identifier: BSD-2-Clause
// How a message is cut into packets: how many, and the opcode of each. The opcodes are those of MRC; plain RC
// has the same ones in its own number range (to_plain_rc).
#pragma once

#include <cstdint>

#include "libmrc/wire/headers.h"
#include "libmrc/work/work_queue.h"

namespace mrc {

constexpr uint32_t packet_count(uint32_t bytes, uint32_t mtu) {
  return bytes == 0 ? 1 : (bytes - 1) / mtu + 1;
}

// MRC 1.2: the opcode of one packet of a message. The values of a family stand in the order of IBTA.
constexpr Opcode message_opcode(Operation operation, bool first, bool last) {
  switch (operation) {
    case Operation::kRead:
      return Opcode::kReadRequest;
    case Operation::kCompareSwap:
      return Opcode::kCompareSwap;
    case Operation::kFetchAdd:
      return Opcode::kFetchAdd;
    case Operation::kAtomicWrite:
      return Opcode::kAtomicWrite;
    case Operation::kFlush:
      return Opcode::kFlush;
    case Operation::kWrite:
    case Operation::kWriteImm: {
      const bool immediate = operation == Operation::kWriteImm;
      if (first && last) return immediate ? Opcode::kWriteOnlyImm : Opcode::kWriteOnly;
      if (last) return immediate ? Opcode::kWriteLastImm : Opcode::kWriteLast;
      return first ? Opcode::kWriteFirst : Opcode::kWriteMiddle;
    }
    default:
      break;
  }
  if (!last) return first ? Opcode::kSendFirst : Opcode::kSendMiddle;
  switch (operation) {
    case Operation::kSendImm:
      return first ? Opcode::kSendOnlyImm : Opcode::kSendLastImm;
    case Operation::kSendInvalidate:
      return first ? Opcode::kSendOnlyInvalidate : Opcode::kSendLastInvalidate;
    default:
      return first ? Opcode::kSendOnly : Opcode::kSendLast;
  }
}

constexpr Opcode read_response_opcode(bool first, bool last) {
  if (first) return last ? Opcode::kReadResponseOnly : Opcode::kReadResponseFirst;
  return last ? Opcode::kReadResponseLast : Opcode::kReadResponseMiddle;
}

}  // namespace mrc
