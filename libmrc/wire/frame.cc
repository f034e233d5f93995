// SPDX-License-Identifier: BSD-2-Clause
// The template: the only code that lays out Ethernet to UDP.
#include "libmrc/wire/frame.h"

#include <bit>
#include <cassert>
#include <cstring>

#include "libmrc/wire/bytes.h"
#include "libmrc/wire/crc32.h"
#include "libmrc/wire/ethernet.h"

namespace mrc {
namespace {

constexpr uint8_t kOuterHopLimit = 64;

// Lengths and flow label are left zero: they differ from frame to frame.
struct IpFields {
  uint8_t traffic_class;
  uint8_t protocol;
  uint8_t hop_limit;
};

void store_ipv6(uint8_t* to, const IpFields& ip, const IpAddress& source, const IpAddress& destination) {
  store_be(to, 6u << 28 | static_cast<uint32_t>(ip.traffic_class) << 20);
  store_be<uint16_t>(to + 4, 0);
  to[6] = ip.protocol;
  to[7] = ip.hop_limit;
  std::memcpy(to + 8, source.bytes.data(), 16);
  std::memcpy(to + 24, destination.bytes.data(), 16);
}

void store_ipv4(uint8_t* to, const IpFields& ip, const IpAddress& source, const IpAddress& destination) {
  static constexpr uint16_t kDontFragment = 0x4000;
  to[0] = 0x45;
  to[1] = ip.traffic_class;
  store_be<uint16_t>(to + 2, 0);
  store_be<uint16_t>(to + 4, 0);
  store_be(to + 6, kDontFragment);
  to[8] = ip.hop_limit;
  to[9] = ip.protocol;
  store_be<uint16_t>(to + 10, 0);
  std::memcpy(to + 12, source.v4_bytes(), 4);
  std::memcpy(to + 16, destination.v4_bytes(), 4);
}

// MRC 6, RFC 8754: the list has the one segment that is not in the destination (a "reduced" header).
void store_segment_routing(uint8_t* to, uint8_t next_header, const IpAddress& segment) {
  to[0] = next_header;
  to[1] = (kSegmentRoutingBytes - 8) / 8;
  to[2] = kRoutingTypeSegment;
  to[3] = 1;                  // segments left
  std::memset(to + 4, 0, 4);  // last entry 0, no flags, no tag
  std::memcpy(to + 8, segment.bytes.data(), 16);
}

// A word in memory that holds `value` in network order at byte kAt, and zeros.
template <size_t kAt>
constexpr uint64_t placed(uint16_t value) {
  static_assert(std::endian::native == std::endian::little);
  return static_cast<uint64_t>(byte_swap(value)) << (8 * kAt);
}

}  // namespace

FrameTemplate::FrameTemplate(const NetworkHeader& network, uint8_t dscp, Ecn ecn) {
  intact_ = network.intact;
  partition_key_ = network.partition_key;
  v4_ = network.destination.is_v4() && network.source.is_v4();
  const auto traffic_class = static_cast<uint8_t>(dscp << 2 | static_cast<uint8_t>(ecn));
  std::memcpy(prefix_, network.destination_mac.bytes.data(), 6);
  std::memcpy(prefix_ + 6, network.source_mac.bytes.data(), 6);
  store_be(prefix_ + 12, v4_ && !network.srv6 ? kEtherTypeIpv4 : kEtherTypeIpv6);
  ip_at_ = kEthernetBytes;
  if (network.srv6) {
    const uint8_t inside = v4_ ? kProtocolIpv4 : kProtocolIpv6;
    const IpFields outer{traffic_class, network.segment_routing ? kProtocolRouting : inside, kOuterHopLimit};
    store_ipv6(prefix_ + ip_at_, outer, network.outer_source, network.outer_destination);
    ip_at_ += kIpv6Bytes;
    if (network.segment_routing) {
      store_segment_routing(prefix_ + ip_at_, inside, network.segment);
      ip_at_ += kSegmentRoutingBytes;
    }
  }
  uint8_t* ip = prefix_ + ip_at_;
  const IpFields inner{traffic_class, kProtocolUdp, network.hop_limit};
  if (v4_) {
    store_ipv4(ip, inner, network.source, network.destination);
    for (size_t at = 0; at < kIpv4Bytes; at += 2) checksum_ += load_be<uint16_t>(ip + at);
  } else {
    store_ipv6(ip, inner, network.source, network.destination);
  }
  // RoCEv2 sends a UDP checksum of zero over either IP: the ICRC does its work.
  udp_at_ = static_cast<uint8_t>(ip_at_ + (v4_ ? kIpv4Bytes : kIpv6Bytes));
  store_be(prefix_ + udp_at_ + 2, network.udp_port);
  icrc_mask_network(reinterpret_cast<uint8_t*>(masked_.data()), ip);
}

// The same fields once more as the ICRC sees them. In registers: what was just stored in pieces is slow to
// read back.
[[gnu::hot]] uint32_t FrameWriter::start_icrc(const FrameTemplate& prefix, uint16_t source_port,
                                              uint16_t udp_bytes) {
  auto words = prefix.masked_;
  size_t bytes = kIpv6Bytes + kUdpBytes;
  if (prefix.v4_) {
    bytes = kIpv4Bytes + kUdpBytes;
    words[0] |= placed<2>(static_cast<uint16_t>(kIpv4Bytes + udp_bytes));
    words[2] |= placed<4>(source_port);
    words[3] |= placed<0>(udp_bytes);
  } else {
    words[0] |= placed<4>(udp_bytes);
    words[5] |= placed<0>(source_port) | placed<4>(udp_bytes);
  }
  return crc32_update(kIcrcInit, reinterpret_cast<const uint8_t*>(words.data()), bytes);
}

}  // namespace mrc
