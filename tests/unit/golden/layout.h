// SPDX-License-Identifier: BSD-2-Clause
// Golden frames by name, and where their layers begin, for tests that change some of their bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "libmrc/wire/bytes.h"
#include "libmrc/wire/ethernet.h"
#include "tests/unit/golden/golden_check.h"
#include "tests/unit/golden/vectors.h"

namespace mrc::golden {

inline const Frame& golden_frame(std::string_view name) {
  for (const Frame& frame : kFrames) {
    if (name == frame.name) return frame;
  }
  throw std::invalid_argument("no golden frame " + std::string(name));
}

// Where the layers of a golden frame begin.
struct Layout {
  size_t outer = 0;  // 0: none
  size_t routing = 0;
  size_t inner = kEthernetBytes;
  size_t udp = 0;
  size_t bth = 0;
  bool v4 = false;
};

inline Layout layout_of(const Frame& frame) {
  Layout at;
  at.v4 = address(frame.source).is_v4();
  if (frame.srv6) {
    at.outer = kEthernetBytes;
    at.inner = at.outer + kIpv6Bytes;
  }
  if (frame.srh_segments > 0) {
    at.routing = at.inner;
    at.inner += 8 + 16 * frame.srh_segments;
  }
  at.udp = at.inner + (at.v4 ? kIpv4Bytes : kIpv6Bytes);
  at.bth = at.udp + kUdpBytes;
  return at;
}

// Recomputes what a change of the IPv4 header breaks, so that the check behind the checksum is reached.
inline void fix_ipv4_checksum(uint8_t* header) {
  store_be<uint16_t>(header + 10, 0);
  uint32_t sum = 0;
  for (size_t at = 0; at < kIpv4Bytes; at += 2) sum += load_be<uint16_t>(header + at);
  while (sum >> 16 != 0) sum = (sum & 0xFFFF) + (sum >> 16);
  store_be(header + 10, static_cast<uint16_t>(~sum));
}

}  // namespace mrc::golden
