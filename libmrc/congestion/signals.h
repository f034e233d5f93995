// SPDX-License-Identifier: BSD-2-Clause
// What a congestion controller is told. Sizes are nominal (SPEC 8.3.1: UDP length + 40), the same on both
// sides, so that what the peer counts as received takes exactly what was sent out of flight.
#pragma once

#include <cstdint>

#include "libmrc/wire/time.h"

namespace mrc {

// MRC 1.8, SPEC 8.3.1: the size of a packet for congestion control, from the bytes behind the UDP header.
constexpr uint32_t nominal_bytes(uint32_t udp_payload_bytes) {
  return udp_payload_bytes + 8 + 40;
}

// Less than all that is left: what goes there does not close the window.
constexpr uint64_t room_in(uint64_t window, uint64_t inflight) {
  return window > inflight ? window - inflight - 1 : 0;
}

// MRC 1.4: a penalty of the receiver counts in parts of this.
inline constexpr uint32_t kPenaltyUnit = 128;

// One SACK, as far as congestion control cares.
struct SackSignal {
  Nanoseconds now = 0;
  uint64_t newly_bytes = 0;  // growth of rcvd_bytes since the last SACK heard (see received_delta)
  Nanoseconds rtt = 0;       // an unambiguous sample (MRC 3.4), 0 = none; the controller takes off base_rtt
  // The sample is of a packet that is not full: less time on every wire, so it says nothing of base_rtt.
  bool short_packet = false;
  bool ce = false;       // the packet that caused it was marked (m = SKIP_ONCE)
  uint8_t penalty = 0;   // rcv_cwnd_pen, 0..127
  bool restore = false;  // restore_cwnd
};

// MRC 1.4, 5.3: how far the 24-bit counter of 256-byte units has moved, in bytes; 0 for an older SACK that
// was overtaken.
constexpr uint64_t received_delta(uint32_t newer_units, uint32_t older_units) {
  const uint32_t moved = (newer_units - older_units) & 0xFFFFFF;
  return moved < 0x800000 ? uint64_t{moved} * 256 : 0;
}

}  // namespace mrc
