// SPDX-License-Identifier: BSD-2-Clause
// Frames as they leave: all lengths are known at the start, so every header is written once and in order.
#include "libmrc/wire/frame.h"

#include <cassert>
#include <cstring>

#include "libmrc/wire/bytes.h"
#include "libmrc/wire/ethernet.h"

namespace mrc {
namespace {

constexpr uint8_t kOuterHopLimit = 64;

struct IpFields {
  uint8_t traffic_class;
  uint16_t flow_label;
  uint8_t protocol;
  uint8_t hop_limit;
  size_t payload_bytes;
};

void store_ipv6(uint8_t* to, const IpFields& ip, const IpAddress& source, const IpAddress& destination) {
  store_be(to, 6u << 28 | static_cast<uint32_t>(ip.traffic_class) << 20 | ip.flow_label);
  store_be(to + 4, static_cast<uint16_t>(ip.payload_bytes));
  to[6] = ip.protocol;
  to[7] = ip.hop_limit;
  std::memcpy(to + 8, source.bytes.data(), 16);
  std::memcpy(to + 24, destination.bytes.data(), 16);
}

uint16_t ipv4_checksum(const uint8_t* header) {
  uint32_t sum = 0;
  for (size_t at = 0; at < kIpv4Bytes; at += 2) sum += load_be<uint16_t>(header + at);
  sum = (sum & 0xFFFF) + (sum >> 16);
  sum = (sum & 0xFFFF) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

void store_ipv4(uint8_t* to, const IpFields& ip, const IpAddress& source, const IpAddress& destination) {
  static constexpr uint16_t kDontFragment = 0x4000;
  to[0] = 0x45;
  to[1] = ip.traffic_class;
  store_be(to + 2, static_cast<uint16_t>(kIpv4Bytes + ip.payload_bytes));
  store_be<uint16_t>(to + 4, 0);
  store_be(to + 6, kDontFragment);
  to[8] = ip.hop_limit;
  to[9] = ip.protocol;
  store_be<uint16_t>(to + 10, 0);
  std::memcpy(to + 12, source.v4_bytes(), 4);
  std::memcpy(to + 16, destination.v4_bytes(), 4);
  store_be(to + 10, ipv4_checksum(to));
}

}  // namespace

FrameWriter::FrameWriter(uint8_t* buffer, const NetworkHeader& network, Entropy entropy, uint8_t dscp,
                         Ecn ecn, size_t transport_bytes)
    : buffer_(buffer) {
  const bool v4 = network.destination.is_v4();
  assert(network.source.is_v4() == v4);
  const size_t ip_bytes = v4 ? kIpv4Bytes : kIpv6Bytes;
  const size_t udp_bytes = kUdpBytes + transport_bytes + kIcrcBytes;
  const EntropyFields fields = split_entropy(entropy);
  const auto traffic_class = static_cast<uint8_t>(dscp << 2 | static_cast<uint8_t>(ecn));

  std::memcpy(buffer_, network.destination_mac.bytes.data(), 6);
  std::memcpy(buffer_ + 6, network.source_mac.bytes.data(), 6);
  store_be(buffer_ + 12, v4 && !network.srv6 ? kEtherTypeIpv4 : kEtherTypeIpv6);
  at_ = kEthernetBytes;

  if (network.srv6) {
    const IpFields outer{traffic_class, fields.flow_label, v4 ? kProtocolIpv4 : kProtocolIpv6, kOuterHopLimit,
                         ip_bytes + udp_bytes};
    store_ipv6(buffer_ + at_, outer, network.outer_source, network.outer_destination);
    at_ += kIpv6Bytes;
  }

  ip_at_ = at_;
  const IpFields inner{traffic_class, fields.flow_label, kProtocolUdp, network.hop_limit, udp_bytes};
  if (v4) {
    store_ipv4(buffer_ + at_, inner, network.source, network.destination);
  } else {
    store_ipv6(buffer_ + at_, inner, network.source, network.destination);
  }
  at_ += ip_bytes;

  // RoCEv2 sends a UDP checksum of zero over either IP: the ICRC does its work.
  store_be(buffer_ + at_, fields.source_port);
  store_be(buffer_ + at_ + 2, kUdpPort);
  store_be(buffer_ + at_ + 4, static_cast<uint16_t>(udp_bytes));
  store_be<uint16_t>(buffer_ + at_ + 6, 0);
  at_ += kUdpBytes;
  assert(at_ + transport_bytes + kIcrcBytes <= kFrameBytesMax);
}

void FrameWriter::add_immediate(uint32_t immediate) {
  std::memcpy(buffer_ + at_, &immediate, ImmDt::kBytes);
  at_ += ImmDt::kBytes;
}

void FrameWriter::end_headers() {
  crc_ = icrc_headers(buffer_ + ip_at_, at_ - ip_at_);
}

void FrameWriter::add_payload(const uint8_t* from, size_t bytes) {
  assert(at_ + bytes + kIcrcBytes <= kFrameBytesMax);
  crc_ = crc32_copy(crc_, buffer_ + at_, from, bytes);
  at_ += bytes;
}

size_t FrameWriter::finish(size_t pad_bytes) {
  static constexpr uint8_t kPad[4] = {};
  assert(pad_bytes < sizeof kPad);
  if (pad_bytes > 0) add_payload(kPad, pad_bytes);
  // The ICRC is the one little-endian field.
  const uint32_t icrc = ~crc_;
  for (size_t i = 0; i < kIcrcBytes; ++i) buffer_[at_ + i] = static_cast<uint8_t>(icrc >> (8 * i));
  at_ += kIcrcBytes;
#ifndef NDEBUG
  const bool v4 = buffer_[ip_at_] >> 4 == 4;
  const size_t ip_length = load_be<uint16_t>(buffer_ + ip_at_ + (v4 ? 2 : 4)) + (v4 ? 0 : kIpv6Bytes);
  assert(ip_at_ + ip_length == at_ && "transport_bytes does not match what was added");
#endif
  return at_;
}

}  // namespace mrc
