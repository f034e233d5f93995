// SPDX-License-Identifier: BSD-2-Clause
// The data of answers: out of memory that a peer reads, and into the request that has asked.
#pragma once

#include <cstdint>
#include <span>

#include "libmrc/wire/frame.h"
#include "libmrc/work/context.h"
#include "libmrc/work/work_queue.h"

namespace mrc {

// Adds what the peer reads. False: the memory has gone since it asked; the frame is not to be sent.
[[gnu::always_inline]] inline bool add_read_data(const Context& cx, MemoryKey key, uint64_t address,
                                                 uint32_t bytes, FrameWriter* frame) {
  if (bytes == 0) return true;
  const MemoryTable& memory = cx.services.memory;
  const uint8_t* from = memory.translate(key, cx.connection.domain, address, bytes, kRemoteRead);
  if (from == nullptr) return false;
  const uint32_t losses = memory.losses();
  frame->add_payload(from, bytes);
  return memory.losses() == losses;
}

// Into the memory of the request, from `offset` on. False: it may not be written.
bool place_read_data(Context& cx, const SendRequest& request, uint64_t offset,
                     std::span<const uint8_t> payload);
// The same with what stood where an atomic was carried out.
bool place_result(const Context& cx, const SendRequest& request, uint64_t before);

}  // namespace mrc
