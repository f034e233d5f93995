// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/work/scatter.h"

#include <algorithm>

#include "libmrc/memory/place_bytes.h"

namespace mrc {

bool scatter(const MemoryTable& memory, const Accessor& domain, std::span<const Segment> segments,
             uint64_t offset, std::span<const uint8_t> payload) {
  for (const Segment& segment : segments) {
    if (payload.empty()) break;
    if (offset >= segment.bytes) {
      offset -= segment.bytes;
      continue;
    }
    const size_t part = std::min<uint64_t>(payload.size(), segment.bytes - offset);
    uint8_t* to = memory.translate(segment.key, domain, segment.address + offset, part, kLocalWrite);
    if (to == nullptr) return false;
    const uint32_t losses = memory.losses();
    place_bytes(to, payload.data(), part);
    if (memory.losses() != losses) return false;
    payload = payload.subspan(part);
    offset = 0;
  }
  return payload.empty();
}

uint64_t total_bytes(std::span<const Segment> segments) {
  uint64_t total = 0;
  for (const Segment& segment : segments) total += segment.bytes;
  return total;
}

}  // namespace mrc
