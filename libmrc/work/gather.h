// SPDX-License-Identifier: BSD-2-Clause
// The local memory of a send request: whether it may be used, and its way into a frame.
#pragma once

#include <cstdint>

#include "libmrc/wire/frame.h"
#include "libmrc/work/context.h"
#include "libmrc/work/work_queue.h"

namespace mrc {

// Whether every segment is registered with the right that the operation needs. `place`, if wanted, is where
// the data are if they are in one piece; until the end of the turn that is so. Null: gather() finds them.
CompletionStatus check_any_memory(const Context& cx, const SendRequest& request, const uint8_t** place);

// The same, and quick where there is one segment, as mostly.
[[gnu::always_inline]] inline CompletionStatus check_local_memory(const Context& cx,
                                                                  const SendRequest& request,
                                                                  const uint8_t** place = nullptr) {
  if (place == nullptr || request.segment_count != 1 || (request.flags & kInline) != 0 ||
      brings_data(request.operation) || cx.services.completions.faults() != nullptr)
    return check_any_memory(cx, request, place);
  const Segment& segment = request.segments()[0];
  const MemoryTable::Found found = cx.services.memory.look_up(segment.key, cx.connection.domain,
                                                              segment.address, segment.bytes, kLocalRead);
  *place = found.steady ? found.place : nullptr;
  return found.place != nullptr || segment.bytes == 0 ? CompletionStatus::kSuccess
                                                      : CompletionStatus::kLocalProtectionError;
}

// The same `place`, of a request that had passed its check in an earlier turn.
const uint8_t* place_in_one(const Context& cx, const SendRequest& request);

// Adds `bytes` of the request's data from `offset` on. False: the memory was taken away under a request that
// had passed its check; the frame is not to be sent.
bool gather(const Context& cx, const SendRequest& request, uint32_t offset, uint32_t bytes,
            FrameWriter* frame);

// The same, all of it, into memory of the caller's.
bool gather(const Context& cx, const SendRequest& request, uint8_t* to);

}  // namespace mrc
