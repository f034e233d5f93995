// SPDX-License-Identifier: BSD-2-Clause
// Whole Ethernet frames of an application's own (raw packets) on their way between processes of a host. The
// processes that want to hear such frames are the members of a group (kRawFrameListeners), and every frame
// goes to all of them, as on one Ethernet segment. On a link it is wrapped: links find their way by station
// addresses, and the frame keeps its own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "libmrc/port/station.h"
#include "libmrc/wire/ethernet.h"
#include "libmrc/wire/frame.h"
#include "libmrc/wire/identifiers.h"

namespace mrc {

inline constexpr uint16_t kEtherTypeWrapped = 0x88B5;  // IEEE 802: for local experiments
inline constexpr size_t kRawFrameBytesMax = kFrameBytesMax - kEthernetBytes;

// The link writes its own address as the source.
inline void wrap_raw_frame(uint8_t* to, const MacAddress& station) {
  std::copy(station.bytes.begin(), station.bytes.end(), to);
  std::fill_n(to + 6, 6, uint8_t{0});
  to[12] = kEtherTypeWrapped >> 8;
  to[13] = kEtherTypeWrapped & 0xFF;
}

// Empty: it is no wrapped one. Nobody on a wire has a station's address.
inline std::span<const uint8_t> unwrap_raw_frame(std::span<const uint8_t> frame) {
  if (frame.size() < 2 * kEthernetBytes || !is_same_host(frame.data()) || !is_same_host(frame.data() + 6) ||
      frame[12] != kEtherTypeWrapped >> 8 || frame[13] != (kEtherTypeWrapped & 0xFF))
    return {};
  return frame.subspan(kEthernetBytes);
}

}  // namespace mrc
