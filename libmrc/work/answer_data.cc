// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/work/answer_data.h"

#include <cstring>

#include "libmrc/work/scatter.h"

namespace mrc {

bool place_read_data(Context& cx, const SendRequest& request, uint64_t offset,
                     std::span<const uint8_t> payload) {
  if (!scatter(cx.services.memory, cx.connection.domain, {request.segments(), request.segment_count}, offset,
               payload))
    return false;
  cx.services.counters.payload_bytes_placed += payload.size();
  return true;
}

bool place_result(const Context& cx, const SendRequest& request, uint64_t before) {
  uint8_t result[sizeof before];
  std::memcpy(result, &before, sizeof result);
  return scatter(cx.services.memory, cx.connection.domain, {request.segments(), request.segment_count}, 0,
                 result);
}

}  // namespace mrc
