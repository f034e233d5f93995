// SPDX-License-Identifier: BSD-2-Clause
// Sizes and numbers of the layers below MRC: Ethernet II, IPv4, IPv6, UDP.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mrc {

inline constexpr size_t kEthernetBytes = 14;
inline constexpr size_t kIpv4Bytes = 20;  // no options
inline constexpr size_t kIpv6Bytes = 40;
inline constexpr size_t kUdpBytes = 8;
inline constexpr size_t kIcrcBytes = 4;

inline constexpr uint16_t kEtherTypeIpv4 = 0x0800;
inline constexpr uint16_t kEtherTypeIpv6 = 0x86DD;

// IPv4 protocol and IPv6 next header.
inline constexpr uint8_t kProtocolHopByHop = 0;
inline constexpr uint8_t kProtocolIpv4 = 4;
inline constexpr uint8_t kProtocolUdp = 17;
inline constexpr uint8_t kProtocolIpv6 = 41;
inline constexpr uint8_t kProtocolRouting = 43;
inline constexpr uint8_t kProtocolFragment = 44;
inline constexpr uint8_t kProtocolDestination = 60;

// RFC 8754: a routing header of this type, with one segment.
inline constexpr uint8_t kRoutingTypeSegment = 4;
inline constexpr size_t kSegmentRoutingBytes = 8 + 16;

}  // namespace mrc
