// SPDX-License-Identifier: BSD-2-Clause
// A READ, atomic or FLUSH of the peer's: what its packet asks for, and carrying it out in its turn.
#pragma once

#include <cstdint>

#include "libmrc/wire/headers.h"
#include "libmrc/wire/packet.h"
#include "libmrc/work/context.h"

namespace mrc {

struct Question {
  Question() = default;
  explicit Question(const Packet& packet)
      : opcode(to_mrc(packet.bth.opcode)), reth(packet.reth), atomic(packet.atomic), feth(packet.feth) {}

  bool reads() const { return opcode == Opcode::kReadRequest; }
  // Answered without data and without a result.
  bool is_silent() const { return opcode == Opcode::kFlush || opcode == Opcode::kAtomicWrite; }
  // The right that the peer needs for it.
  uint8_t right() const;

  Opcode opcode{};  // MRC's, also of plain RC
  Reth reth;
  AtomicEth atomic;
  Feth feth;
};

// Aeth::kAck, and of an atomic what stood there in *before; else the syndrome to refuse it with. The data of
// a READ are looked up again when they are sent.
uint8_t carry_out(Context& cx, const Question& question, uint64_t* before);

}  // namespace mrc
