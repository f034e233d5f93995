// SPDX-License-Identifier: BSD-2-Clause
// Frames as they leave: all lengths are known at the start, so every header is written once and in order.
// Only one code lays out Ethernet to UDP, that of the template.
#include "libmrc/wire/frame.h"

#include <bit>
#include <cassert>
#include <cstring>

#include "libmrc/wire/bytes.h"
#include "libmrc/wire/copy_out.h"
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

[[gnu::hot]] FrameWriter::FrameWriter(uint8_t* buffer, const FrameTemplate& prefix, Entropy entropy,
                                      size_t transport_bytes)
    : buffer_(buffer),
      at_(prefix.udp_at_ + kUdpBytes),
      ip_at_(prefix.ip_at_),
      transport_at_(at_),
      partition_key_(prefix.partition_key_),
      intact_(prefix.intact_) {
  const size_t udp_bytes = kUdpBytes + transport_bytes + kIcrcBytes;
  const EntropyFields fields = split_entropy(entropy);
  // Not by a packet: callers add headers of fixed size and at most an MTU of payload.
  assert(at_ + transport_bytes + kIcrcBytes <= kFrameBytesMax);
  // All of it whatever the form, for a copy of constant size; what is too much is overwritten by the
  // transport.
  std::memcpy(buffer_, prefix.prefix_, sizeof prefix.prefix_);

  uint8_t* ip = buffer_ + ip_at_;
  if (ip_at_ != kEthernetBytes) {
    store_be(buffer_ + kEthernetBytes + 2, fields.flow_label);
    const size_t outer_payload = prefix.udp_at_ - kEthernetBytes - kIpv6Bytes + udp_bytes;
    store_be(buffer_ + kEthernetBytes + 4, static_cast<uint16_t>(outer_payload));
  }
  if (prefix.v4_) {
    const auto ip_bytes = static_cast<uint16_t>(kIpv4Bytes + udp_bytes);
    store_be(ip + 2, ip_bytes);
    uint32_t sum = prefix.checksum_ + ip_bytes;
    sum = (sum & 0xFFFF) + (sum >> 16);
    sum = (sum & 0xFFFF) + (sum >> 16);
    store_be(ip + 10, static_cast<uint16_t>(~sum));
  } else {
    store_be(ip + 2, fields.flow_label);
    store_be(ip + 4, static_cast<uint16_t>(udp_bytes));
  }
  uint8_t* udp = buffer_ + prefix.udp_at_;
  store_be(udp, fields.source_port);
  store_be(udp + 4, static_cast<uint16_t>(udp_bytes));
  if (!intact_) start_icrc(prefix, fields.source_port, static_cast<uint16_t>(udp_bytes));
}

// The same fields once more as the ICRC sees them. In registers: what was just stored in pieces is slow to
// read back.
void FrameWriter::start_icrc(const FrameTemplate& prefix, uint16_t source_port, uint16_t udp_bytes) {
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
  crc_ = crc32_update(kIcrcInit, reinterpret_cast<const uint8_t*>(words.data()), bytes);
}

[[gnu::hot]] FrameWriter::FrameWriter(uint8_t* buffer, const NetworkHeader& network, Entropy entropy,
                                      uint8_t dscp, Ecn ecn, size_t transport_bytes)
    : FrameWriter(buffer, FrameTemplate(network, dscp, ecn), entropy, transport_bytes) {}

void FrameWriter::set_outer_destination(const IpAddress& outer_destination) {
  // Not by a packet: paths and templates of a connection are made together.
  assert(ip_at_ != kEthernetBytes);
  std::memcpy(buffer_ + kEthernetBytes + 24, outer_destination.bytes.data(), 16);
}

void FrameWriter::set_segment(const IpAddress& segment) {
  // Not by a packet: as above.
  assert(ip_at_ == kEthernetBytes + kIpv6Bytes + kSegmentRoutingBytes);
  std::memcpy(buffer_ + kEthernetBytes + kIpv6Bytes + 8, segment.bytes.data(), 16);
}

void FrameWriter::add_immediate(uint32_t immediate) {
  std::memcpy(buffer_ + at_, &immediate, ImmDt::kBytes);
  at_ += ImmDt::kBytes;
}

[[gnu::hot]] void FrameWriter::end_headers() {
  if (intact_) return;
  // BTH byte 4 is zero here and ones in the ICRC.
  crc_ = crc32_update(crc_ ^ kIcrcBthMask, buffer_ + transport_at_, at_ - transport_at_);
}

[[gnu::hot]] void FrameWriter::add_payload(const uint8_t* from, size_t bytes) {
  // Not by a packet: the constructor has checked the whole length.
  assert(at_ + bytes + kIcrcBytes <= kFrameBytesMax);
  if (intact_)
    copy_out(buffer_ + at_, from, bytes);
  else
    crc_ = crc32_copy(crc_, buffer_ + at_, from, bytes);
  at_ += bytes;
}

[[gnu::hot]] size_t FrameWriter::finish(size_t pad_bytes) {
  static constexpr uint8_t kPad[4] = {};
  // Not by a packet: callers pad to a multiple of four.
  assert(pad_bytes < sizeof kPad);
  if (pad_bytes > 0) add_payload(kPad, pad_bytes);
  // The ICRC is the one little-endian field.
  const uint32_t icrc = intact_ ? 0 : ~crc_;
  for (size_t i = 0; i < kIcrcBytes; ++i) buffer_[at_ + i] = static_cast<uint8_t>(icrc >> (8 * i));
  at_ += kIcrcBytes;
#ifndef NDEBUG
  const bool v4 = buffer_[ip_at_] >> 4 == 4;
  const size_t ip_length = load_be<uint16_t>(buffer_ + ip_at_ + (v4 ? 2 : 4)) + (v4 ? 0 : kIpv6Bytes);
  // Not by a packet: headers have fixed sizes, and payload is counted before it is added.
  assert(ip_at_ + ip_length == at_ && "transport_bytes does not match what was added");
#endif
  return at_;
}

}  // namespace mrc
