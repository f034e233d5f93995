// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/work/question.h"

#include "libmrc/work/atomic_operation.h"
#include "libmrc/work/flush_operation.h"
#include "libmrc/work/remote_memory.h"

namespace mrc {

namespace {
uint8_t execute_read(Context& cx, const Reth& reth) {
  if ((cx.connection.remote_access & kRemoteRead) == 0) return Aeth::kNakRemoteAccess;
  // As in IBTA: of nothing no key is looked at.
  if (reth.message_bytes > 0 &&
      remote_memory(cx, reth.key, reth.address, reth.message_bytes, kRemoteRead) == nullptr)
    return Aeth::kNakRemoteAccess;
  ++cx.services.counters.reads_served;
  return Aeth::kAck;
}
}  // namespace

uint8_t Question::right() const {
  if (reads()) return kRemoteRead;
  return opcode == Opcode::kFlush ? uint8_t{kRemoteFlush} : atomic_right(opcode);
}

uint8_t carry_out(Context& cx, const Question& question, uint64_t* before) {
  if (question.reads()) return execute_read(cx, question.reth);
  if (question.opcode == Opcode::kFlush) return execute_flush(cx, question.feth, question.reth);
  return execute_atomic(cx, question.opcode, question.atomic, before);
}

}  // namespace mrc
