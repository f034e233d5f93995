// SPDX-License-Identifier: BSD-2-Clause
// What ports and links count. Written by the data path; readers may see values a burst old.
#pragma once

#include <cstdint>

namespace mrc {

struct PortCounters {
  uint64_t frames_received = 0;
  uint64_t frames_sent = 0;
  uint64_t dropped_by_fault = 0;      // the plane is a black hole or down
  uint64_t dropped_without_link = 0;  // no link to the destination
  uint64_t dropped_ring_full = 0;     // sent without asking for room
  uint64_t dropped_malformed = 0;
  uint64_t no_buffers = 0;  // acquire() found none free
};

}  // namespace mrc
