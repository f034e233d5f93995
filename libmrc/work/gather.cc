// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/work/gather.h"

#include <algorithm>

namespace mrc {

CompletionStatus check_any_memory(const Context& cx, const SendRequest& request, const uint8_t** place) {
  if (place != nullptr) *place = nullptr;
  if (CompletionFaults* faults = cx.services.completions.faults(); faults != nullptr) [[unlikely]]
    if (const auto status = faults->on_request(cx.connection.local_qpn)) return *status;
  if ((request.flags & kInline) != 0) {
    if (place != nullptr) *place = request.inline_data();
    return CompletionStatus::kSuccess;
  }
  const uint8_t rights = brings_data(request.operation) ? kLocalWrite : kLocalRead;
  for (uint32_t i = 0; i < request.segment_count; ++i) {
    const Segment& segment = request.segments()[i];
    if (segment.bytes == 0) continue;
    const MemoryTable::Found found =
        cx.services.memory.look_up(segment.key, cx.connection.domain, segment.address, segment.bytes, rights);
    if (found.place == nullptr) return CompletionStatus::kLocalProtectionError;
    if (place != nullptr && request.segment_count == 1 && found.steady) *place = found.place;
  }
  return CompletionStatus::kSuccess;
}

const uint8_t* place_in_one(const Context& cx, const SendRequest& request) {
  if ((request.flags & kInline) != 0) return request.inline_data();
  if (request.segment_count != 1) return nullptr;
  const Segment& segment = request.segments()[0];
  const MemoryTable::Found found = cx.services.memory.look_up(segment.key, cx.connection.domain,
                                                              segment.address, segment.bytes, kLocalRead);
  return found.steady ? found.place : nullptr;
}

[[gnu::hot]] bool gather(const Context& cx, const SendRequest& request, uint32_t offset, uint32_t bytes,
                         FrameWriter* frame) {
  if ((request.flags & kInline) != 0) {
    frame->add_payload(request.inline_data() + offset, bytes);
    return true;
  }
  for (uint32_t i = 0; i < request.segment_count && bytes > 0; ++i) {
    const Segment& segment = request.segments()[i];
    if (offset >= segment.bytes) {
      offset -= segment.bytes;
      continue;
    }
    const uint32_t part = std::min(bytes, segment.bytes - offset);
    const uint8_t* from = cx.services.memory.translate(segment.key, cx.connection.domain,
                                                       segment.address + offset, part, kLocalRead);
    if (from == nullptr) return false;
    const uint32_t losses = cx.services.memory.losses();
    frame->add_payload(from, part);
    if (cx.services.memory.losses() != losses) return false;
    bytes -= part;
    offset = 0;
  }
  return bytes == 0;
}

bool gather(const Context& cx, const SendRequest& request, uint8_t* to) {
  if ((request.flags & kInline) != 0) {
    std::copy_n(request.inline_data(), request.bytes, to);
    return true;
  }
  for (uint32_t i = 0; i < request.segment_count; ++i) {
    const Segment& segment = request.segments()[i];
    if (segment.bytes == 0) continue;
    const uint8_t* from = cx.services.memory.translate(segment.key, cx.connection.domain, segment.address,
                                                       segment.bytes, kLocalRead);
    if (from == nullptr) return false;
    const uint32_t losses = cx.services.memory.losses();
    to = std::copy_n(from, segment.bytes, to);
    if (cx.services.memory.losses() != losses) return false;
  }
  return true;
}

}  // namespace mrc
