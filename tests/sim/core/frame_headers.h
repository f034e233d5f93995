// SPDX-License-Identifier: BSD-2-Clause
// What a switch reads and changes in a frame: addresses, class, ECN, hop limit, uSIDs, and cutting it short.
// Switches look at the outermost IP header only.
#pragma once

#include <cstdint>

#include "libmrc/wire/identifiers.h"
#include "libmrc/wire/switch_change.h"
#include "tests/sim/core/frame_pool.h"

namespace mrc::sim {

// MRC 7 [P]: the classes of traffic.
struct Dscp {
  static constexpr uint8_t kNoTrim = 0;
  static constexpr uint8_t kTrimmable = 4;
  static constexpr uint8_t kTrimmableRetransmission = 8;
  static constexpr uint8_t kTrimmed = 12;
  static constexpr uint8_t kTrimmedLastHop = 16;
  static constexpr uint8_t kControl = 46;

  static constexpr bool is_trimmable(uint8_t dscp) {
    return dscp == kTrimmable || dscp == kTrimmableRetransmission;
  }
  static constexpr bool is_priority(uint8_t dscp) {
    return dscp == kControl || dscp == kTrimmed || dscp == kTrimmedLastHop;
  }
};

// IBTA A17.9.3: congestion notification of RoCEv2.
inline constexpr uint8_t kNotificationOpcode = 0x81;

// How hosts are addressed: 10.a.b.c or fd00::ab:c, by host number.
IpAddress address_of(uint32_t host, bool v4);

// Fills in what Frame caches of its bytes. Call it whenever the bytes changed in other ways than below.
void read_headers(Frame* frame);

// Says that its sender heeds marks: ECT(0).
void make_ecn_capable(Frame* frame);
// Sets CE. False: the packet is not ECN-capable.
bool mark_congestion(Frame* frame);
bool is_marked(const Frame& frame);
// False: the limit is used up and the frame must be dropped.
bool decrement_hop_limit(Frame* frame);
// Keeps kTrimmedBytes, sets the lengths of the outermost IP header (and of UDP right behind it) and the
// class.
void trim(Frame* frame, uint8_t dscp);

// The first uSID of the outer destination, and the shift that its owner performs (libmrc/wire/srv6.h).
uint16_t first_usid(const Frame& frame);
bool shift_usids(Frame* frame);

}  // namespace mrc::sim
