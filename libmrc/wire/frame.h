// SPDX-License-Identifier: BSD-2-Clause
// Writes one frame into a buffer of the port's: Ethernet to UDP, transport headers, payload copied and
// checksummed in one pass, pad and ICRC, unless the carrier makes one unnecessary. All lengths are known at
// the start, so every header is written once and in order. What every frame needs is inline: where it stands
// in the frame then stays in registers.
#pragma once

#include <array>
#include <cassert>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "libmrc/wire/bytes.h"
#include "libmrc/wire/copy_out.h"
#include "libmrc/wire/crc32.h"
#include "libmrc/wire/ethernet.h"
#include "libmrc/wire/headers.h"
#include "libmrc/wire/icrc.h"
#include "libmrc/wire/identifiers.h"
#include "libmrc/wire/packet.h"

namespace mrc {

// The largest frame: Ethernet, SRv6 outer header and routing header, IPv6, UDP, BTH, XETH, METH, TSETH, RETH,
// ImmDt, 4 KiB, ICRC.
inline constexpr size_t kMtuMax = 4096;
inline constexpr size_t kSegmentHeaderBytes = 24;  // with one segment
inline constexpr size_t kFrameBytesMax =
    14 + 40 + kSegmentHeaderBytes + 40 + 8 + 12 + 4 + 4 + 4 + 16 + 4 + kMtuMax + 4;

// Everything up to BTH that stays the same towards one destination on one plane.
struct NetworkHeader {
  MacAddress source_mac;
  MacAddress destination_mac;
  IpAddress source;
  IpAddress destination;
  bool srv6 = false;
  IpAddress outer_source;        // only with srv6
  IpAddress outer_destination;   // the uSID list; only with srv6
  bool segment_routing = false;  // only with srv6: a routing header with one more segment (RFC 8754)
  IpAddress segment;             // it: where the packet goes when the uSIDs are used up
  uint8_t hop_limit = 64;
  uint16_t udp_port = kUdpPort;
  uint16_t partition_key = kPartitionKeyDefault;
  bool intact = false;  // goes by a carrier that cannot corrupt: its ICRC is not written

  // NOLINTNEXTLINE(modernize-use-nullptr): of the 0 that nobody wrote
  friend auto operator<=>(const NetworkHeader&, const NetworkHeader&) = default;
};

// Ethernet to UDP as ready bytes, for one destination, plane and class of traffic. Built once; a frame then
// costs a copy and the few fields that differ from frame to frame. Never changes while frames are written
// from it.
class FrameTemplate {
 public:
  FrameTemplate() = default;
  FrameTemplate(const NetworkHeader& network, uint8_t dscp, Ecn ecn);

 private:
  friend class FrameWriter;
  static constexpr size_t kPrefixBytesMax =
      kEthernetBytes + kIpv6Bytes + kSegmentRoutingBytes + kIpv6Bytes + kUdpBytes;

  uint8_t prefix_[kPrefixBytesMax] = {};  // lengths, source port, flow labels and IPv4 checksum are zero
  uint8_t ip_at_ = 0;                     // of the inner IP header
  uint8_t udp_at_ = 0;
  bool v4_ = false;
  bool intact_ = false;
  uint16_t partition_key_ = kPartitionKeyDefault;
  uint32_t checksum_ = 0;  // of the inner IPv4 header, not yet folded
  // The inner IP and UDP headers as the ICRC sees them, with zeros for lengths and source port.
  std::array<uint64_t, 6> masked_{};
};

// MRC 1.7 [P]: how an entropy value is laid over the UDP source port (low half) and the flow label (high
// half).
struct EntropyFields {
  uint16_t source_port;
  uint16_t flow_label;
};
constexpr EntropyFields split_entropy(Entropy entropy) {
  const auto value = static_cast<uint32_t>(entropy);
  return {static_cast<uint16_t>(value), static_cast<uint16_t>(value >> 16)};
}
constexpr Entropy join_entropy(EntropyFields fields) {
  return Entropy{static_cast<uint32_t>(fields.flow_label) << 16 | fields.source_port};
}
// The same in the words of whoever takes the source port for the high half.
constexpr Entropy swap_halves(Entropy entropy) {
  const auto value = static_cast<uint32_t>(entropy);
  return Entropy{value << 16 | value >> 16};
}

class FrameWriter {
 public:
  // `transport_bytes` is BTH up to and including the pad, without ICRC. The buffer has kFrameBytesMax bytes.
  FrameWriter(uint8_t* buffer, const FrameTemplate& prefix, Entropy entropy, size_t transport_bytes);
  // The same without a template at hand.
  FrameWriter(uint8_t* buffer, const NetworkHeader& network, Entropy entropy, uint8_t dscp, Ecn ecn,
              size_t transport_bytes)
      : FrameWriter(buffer, FrameTemplate(network, dscp, ecn), entropy, transport_bytes) {}

  // SRv6 frames only: another uSID list than the template's.
  void set_outer_destination(const IpAddress& outer_destination) {
    // Not by a packet: paths and templates of a connection are made together.
    assert(ip_at_ != kEthernetBytes);
    std::memcpy(buffer_ + kEthernetBytes + 24, outer_destination.bytes.data(), 16);
  }
  // With a routing header only: another segment than the template's.
  void set_segment(const IpAddress& segment) {
    // Not by a packet: as above.
    assert(ip_at_ == kEthernetBytes + kIpv6Bytes + kSegmentRoutingBytes);
    std::memcpy(buffer_ + kEthernetBytes + kIpv6Bytes + 8, segment.bytes.data(), 16);
  }

  template <typename Header>
  void add(const Header& header) {
    header.store(buffer_ + at_);
    at_ += Header::kBytes;
  }
  // With the partition key of the template.
  void add(Bth bth) {
    bth.partition_key = partition_key_;
    bth.store(buffer_ + at_);
    at_ += Bth::kBytes;
  }
  void add_immediate(uint32_t immediate) {
    std::memcpy(buffer_ + at_, &immediate, ImmDt::kBytes);
    at_ += ImmDt::kBytes;
  }

  // Ends the headers: from here on only payload. Must be called once, also when there is none.
  void end_headers() {
    // BTH byte 4 is zero here and ones in the ICRC.
    if (!intact_) crc_ = crc32_update(crc_ ^ kIcrcBthMask, buffer_ + transport_at_, at_ - transport_at_);
  }
  // Copies payload and updates the ICRC, if there is one.
  void add_payload(const uint8_t* from, size_t bytes);
  // Pads, appends the ICRC; returns the frame's length.
  size_t finish(size_t pad_bytes);

 private:
  // Not of the writer itself: whose address is known elsewhere cannot stay in registers.
  static uint32_t start_icrc(const FrameTemplate& prefix, uint16_t source_port, uint16_t udp_bytes);

  uint8_t* buffer_;
  size_t at_ = 0;
  size_t ip_at_ = 0;
  size_t transport_at_ = 0;
  size_t end_ = 0;  // where the ICRC will be
  uint32_t crc_ = kCrcInit;
  const uint16_t partition_key_;
  const bool intact_;
};

[[gnu::always_inline]] inline FrameWriter::FrameWriter(uint8_t* buffer, const FrameTemplate& prefix,
                                                       Entropy entropy, size_t transport_bytes)
    : buffer_(buffer),
      at_(prefix.udp_at_ + kUdpBytes),
      ip_at_(prefix.ip_at_),
      transport_at_(at_),
      end_(at_ + transport_bytes),
      partition_key_(prefix.partition_key_),
      intact_(prefix.intact_) {
  const size_t udp_bytes = kUdpBytes + transport_bytes + kIcrcBytes;
  const EntropyFields fields = split_entropy(entropy);
  // Not by a packet: callers add headers of fixed size and at most an MTU of payload.
  assert(end_ + kIcrcBytes <= kFrameBytesMax);
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
  if (!intact_) crc_ = start_icrc(prefix, fields.source_port, static_cast<uint16_t>(udp_bytes));
}

[[gnu::always_inline]] inline void FrameWriter::add_payload(const uint8_t* from, size_t bytes) {
  // Not by a packet: callers have said how much there will be.
  assert(bytes <= end_ - at_);
  if (intact_)
    copy_out(buffer_ + at_, from, bytes);
  else
    crc_ = crc32_copy(crc_, buffer_ + at_, from, bytes);
  at_ += bytes;
}

[[gnu::always_inline]] inline size_t FrameWriter::finish(size_t pad_bytes) {
  static constexpr uint8_t kPad[4] = {};
  // Not by a packet: callers pad to a multiple of four.
  assert(pad_bytes < sizeof kPad);
  if (pad_bytes > 0) add_payload(kPad, pad_bytes);
  // Not by a packet: headers have fixed sizes, and payload is counted before it is added.
  assert(at_ == end_ && "transport_bytes does not match what was added");
  // Nobody reads the ICRC of a frame that stays intact. It is not even cleared: it may be all that there is
  // in its cache line, which the peer has read last.
  if (!intact_) {
    const uint32_t icrc = ~crc_;  // the one little-endian field
    for (size_t i = 0; i < kIcrcBytes; ++i) buffer_[at_ + i] = static_cast<uint8_t>(icrc >> (8 * i));
  }
  return at_ + kIcrcBytes;
}

}  // namespace mrc
