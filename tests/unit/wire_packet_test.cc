// SPDX-License-Identifier: BSD-2-Clause
// Whole frames: golden vectors both ways, every truncation, every corrupted byte, every reason to refuse,
// garbage.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "libmrc/wire/bytes.h"
#include "libmrc/wire/ethernet.h"
#include "tests/unit/golden/golden_check.h"
#include "tests/unit/golden/layout.h"
#include "tests/unit/golden/seed.h"

namespace mrc {
namespace {

using Bytes = std::vector<uint8_t>;
using golden::fix_ipv4_checksum;
using golden::golden_frame;
using golden::Layout;
using golden::layout_of;

Bytes golden_bytes(const std::string& name) {
  return golden::from_hex(golden_frame(name).hex);
}

DecodeError decode_exact(std::span<const uint8_t> bytes, Packet* packet) {
  const golden::ExactBuffer buffer(bytes);
  return decode(buffer.view(), packet);
}

bool accepted(std::span<const uint8_t> bytes) {
  const golden::ExactBuffer buffer(bytes);
  Packet packet;
  return decode(buffer.view(), &packet) == DecodeError::kNone && icrc_matches(packet);
}

TEST(Golden, EncoderProducesTheBytes) {
  size_t compared = 0;
  for (const golden::Frame& frame : golden::kFrames) {
    if (!frame.encodable) continue;
    EXPECT_EQ(golden::check_encode(frame), "");
    ++compared;
  }
  EXPECT_GE(compared, 162u);
}

TEST(Golden, DecoderReadsEveryField) {
  for (const golden::Frame& frame : golden::kFrames) EXPECT_EQ(golden::check_decode(frame), "");
}

TEST(Golden, EveryOpcodeInEveryForm) {
  std::set<std::pair<int, int>> seen;
  for (const golden::Frame& frame : golden::kFrames) {
    const int form = (frame.srv6 ? 2 : 0) + (golden::address(frame.source).is_v4() ? 1 : 0);
    seen.insert({frame.opcode, form});
  }
  EXPECT_EQ(seen.size(), 28u * 4u + 25u * 2u + 1u);
}

// A frame must not depend on what a Packet held before.
TEST(Golden, DecoderOverwritesAnOldPacket) {
  Packet packet;
  ASSERT_EQ(decode(golden_bytes("write_full_mtu_srv6"), &packet), DecodeError::kNone);
  ASSERT_TRUE(packet.srv6);
  const Bytes bytes = golden_bytes("write_last_ipv4");  // has no time stamp
  ASSERT_EQ(decode(bytes, &packet), DecodeError::kNone);
  EXPECT_FALSE(packet.srv6);
  EXPECT_EQ(packet.time.timestamp, 0);
  EXPECT_EQ(packet.source, IpAddress::v4(10, 0, 1, 2));
  const Bytes sack = golden_bytes("sack_ipv6");
  ASSERT_EQ(decode(sack, &packet), DecodeError::kNone);
  EXPECT_TRUE(packet.payload.empty());
}

TEST(Truncation, EveryShorterFrameIsRefused) {
  for (const golden::Frame& frame : golden::kFrames) {
    const Bytes bytes = golden::from_hex(frame.hex);
    const size_t whole = bytes.size() - frame.trailing_bytes;
    for (size_t length = 0; length < whole; ++length) {
      Packet packet;
      const DecodeError error = decode_exact({bytes.data(), length}, &packet);
      ASSERT_EQ(error, DecodeError::kTruncated)
          << frame.name << " cut to " << length << ": " << to_string(error);
    }
    for (size_t length = whole; length <= bytes.size(); ++length) {
      ASSERT_TRUE(accepted({bytes.data(), length})) << frame.name << " cut to " << length;
    }
  }
}

// The bits of a frame that neither the decoder nor the ICRC looks at, and why.
uint8_t unprotected_bits(const golden::Frame& frame, size_t frame_bytes, size_t at) {
  const Layout layout = layout_of(frame);
  const auto within = [at](size_t begin, size_t bytes) { return at >= begin && at < begin + bytes; };
  if (within(0, 12)) return 0xFF;  // Ethernet addresses: the frame check sequence's business
  if (at >= frame_bytes - frame.trailing_bytes) return 0xFF;  // Ethernet padding
  if (layout.outer != 0) {                                    // the ICRC covers the inner packet alone
    if (at == layout.outer) return 0x0F;                      // outer traffic class
    if (within(layout.outer + 1, 3)) return 0xFF;             // outer traffic class, flow label
    if (within(layout.outer + 7, 33)) return 0xFF;  // outer hop limit and addresses: they change per hop
  }
  if (layout.routing != 0 && at >= layout.routing + 3 && at < layout.inner) return 0xFF;  // segments
  if (!layout.v4) {  // masked; IPv4 masks likewise, but there the header checksum sees the change
    if (at == layout.inner) return 0x0F;           // traffic class
    if (within(layout.inner + 1, 3)) return 0xFF;  // traffic class, flow label
    if (at == layout.inner + 7) return 0xFF;       // hop limit
  }
  if (within(layout.udp + 6, 2)) return 0xFF;  // UDP checksum: not used by RoCEv2
  if (at == layout.bth + 4) return 0xFF;       // BTH congestion bits
  return 0;
}

TEST(Corruption, EveryProtectedBitIsDetected) {
  auto random = golden::seeded_random();
  for (const golden::Frame& frame : golden::kFrames) {
    Bytes bytes = golden::from_hex(frame.hex);
    for (size_t at = 0; at < bytes.size(); ++at) {
      const uint8_t unprotected = unprotected_bits(frame, bytes.size(), at);
      const auto noise = static_cast<uint8_t>(1 + random() % 255);
      for (const uint8_t flip : {uint8_t{0x01}, uint8_t{0x80}, uint8_t{0xFF}, noise}) {
        bytes[at] ^= flip;
        const bool harmless = (flip & ~unprotected) == 0;
        ASSERT_EQ(accepted(bytes), harmless) << frame.name << " byte " << at << " flip " << int{flip};
        bytes[at] ^= flip;
      }
    }
  }
}

struct Refusal {
  const char* what;
  const char* frame;
  DecodeError expected;
  std::function<void(Bytes&, const Layout&)> change;
};

// From BTH to the offset in RETH, with a TSETH between.
constexpr size_t kOffset = Bth::kBytes + Meth::kBytes + Tseth::kBytes;

void set_udp_port(Bytes& b, const Layout& at, uint16_t port) {
  store_be(b.data() + at.udp + 2, port);
}

TEST(Decode, RefusesWithTheRightReason) {
  using enum DecodeError;
  const std::vector<Refusal>
      refusals =
          {
              {"ARP", "probe_ipv4", kNotIp,
               [](Bytes& b, const Layout&) { store_be<uint16_t>(&b[12], 0x0806); }},
              {"IPv4 type, version 6", "probe_ipv6", kNotIp,
               [](Bytes& b, const Layout&) { store_be<uint16_t>(&b[12], 0x0800); }},
              {"IPv6 type, version 4", "probe_ipv4", kNotIp,
               [](Bytes& b, const Layout&) { store_be<uint16_t>(&b[12], 0x86DD); }},
              {"IPv4 options", "probe_ipv4", kBadIpHeader, [](Bytes& b, const Layout&) { b[14] = 0x46; }},
              {"IPv4 length below its header", "probe_ipv4", kBadIpHeader,
               [](Bytes& b, const Layout&) {
                 store_be<uint16_t>(&b[16], 19);
                 fix_ipv4_checksum(&b[14]);
               }},
              {"IPv4 checksum", "probe_ipv4", kBadIpHeader, [](Bytes& b, const Layout&) { b[24] ^= 1; }},
              {"IPv4 more fragments", "probe_ipv4", kFragment,
               [](Bytes& b, const Layout&) {
                 b[20] |= 0x20;
                 fix_ipv4_checksum(&b[14]);
               }},
              {"IPv4 fragment offset", "probe_ipv4", kFragment,
               [](Bytes& b, const Layout&) {
                 b[21] = 1;
                 fix_ipv4_checksum(&b[14]);
               }},
              {"IPv4 TCP", "probe_ipv4", kNotUdp,
               [](Bytes& b, const Layout&) {
                 b[23] = 6;
                 fix_ipv4_checksum(&b[14]);
               }},
              {"IPv4 in IPv4", "probe_ipv4", kNotUdp,
               [](Bytes& b, const Layout&) {
                 b[23] = 4;
                 fix_ipv4_checksum(&b[14]);
               }},
              {"IPv6 ICMP", "probe_ipv6", kNotUdp, [](Bytes& b, const Layout&) { b[20] = 58; }},
              {"IPv6 fragment", "probe_ipv6", kFragment, [](Bytes& b, const Layout&) { b[20] = 44; }},
              {"IPv6 hop-by-hop", "probe_ipv6", kBadIpHeader, [](Bytes& b, const Layout&) { b[20] = 0; }},
              {"IPv6 source that stands for IPv4", "probe_ipv6", kBadIpHeader,
               [](Bytes& b, const Layout&) {
                 std::memset(&b[22], 0, 10);
                 b[32] = b[33] = 0xFF;
               }},
              {"IPv6 destination that stands for IPv4", "probe_ipv6", kBadIpHeader,
               [](Bytes& b, const Layout&) {
                 std::memset(&b[38], 0, 10);
                 b[48] = b[49] = 0xFF;
               }},
              {"IPv6 source that stands for IPv4, inside SRv6", "probe_srv6", kBadIpHeader,
               [](Bytes& b, const Layout& at) {
                 std::memset(&b[at.inner + 8], 0, 10);
                 b[at.inner + 18] = b[at.inner + 19] = 0xFF;
               }},
              {"IPv6 routing inside SRv6", "probe_srv6", kBadIpHeader,
               [](Bytes& b, const Layout& at) { b[at.inner + 6] = 43; }},
              {"two levels of encapsulation", "probe_srv6", kNotUdp,
               [](Bytes& b, const Layout& at) { b[at.inner + 6] = 41; }},
              {"outer says IPv4, inner is IPv6", "probe_srv6", kNotIp,
               [](Bytes& b, const Layout& at) { b[at.outer + 6] = 4; }},
              {"outer shorter than inner", "probe_srv6", kTruncated,
               [](Bytes& b, const Layout& at) { b[at.outer + 5] -= 1; }},
              {"routing header of another type", "srh_srv6", kBadIpHeader,
               [](Bytes& b, const Layout& at) { b[at.routing + 2] = 3; }},
              {"routing header longer than the packet", "srh_srv6", kTruncated,
               [](Bytes& b, const Layout& at) { b[at.routing + 1] = 255; }},
              {"routing header before UDP", "srh_srv6", kBadIpHeader,
               [](Bytes& b, const Layout& at) { b[at.routing] = 17; }},
              {"routing header in 7 bytes", "srh_srv6", kTruncated,
               [](Bytes& b, const Layout& at) { store_be<uint16_t>(&b[at.outer + 4], 7); }},
              {"UDP cut by the IP length", "probe_ipv6", kBadUdpLength,
               [](Bytes& b, const Layout& at) { store_be<uint16_t>(&b[at.inner + 4], 7); }},
              {"other port", "probe_ipv6", kNotRocePort,
               [](Bytes& b, const Layout& at) { set_udp_port(b, at, 4790); }},
              {"printed port, RC opcode", "probe_ipv6", kNotRocePort,
               [](Bytes& b, const Layout& at) {
                 set_udp_port(b, at, kUdpPortSpecPrint);
                 b[at.bth] = 0x0A;
               }},
              {"UDP length too long", "probe_ipv6", kBadUdpLength,
               [](Bytes& b, const Layout& at) { b[at.udp + 5] += 1; }},
              {"UDP length too short", "probe_ipv6", kBadUdpLength,
               [](Bytes& b, const Layout& at) { b[at.udp + 5] -= 1; }},
              {"no room for BTH and ICRC", "probe_ipv6", kTruncated,
               [](Bytes& b, const Layout& at) {
                 store_be<uint16_t>(&b[at.inner + 4], 8 + 15);
                 store_be<uint16_t>(&b[at.udp + 4], 8 + 15);
               }},
              {"control header cut", "probe_ipv6", kTruncated,
               [](Bytes& b, const Layout& at) {
                 store_be<uint16_t>(&b[at.inner + 4], 8 + 12 + 15 + 4);
                 store_be<uint16_t>(&b[at.udp + 4], 8 + 12 + 15 + 4);
               }},
              {"control header cut to nothing", "sack_ipv6", kTruncated,
               [](Bytes& b, const Layout& at) {
                 store_be<uint16_t>(&b[at.inner + 4], 8 + 12 + 4);
                 store_be<uint16_t>(&b[at.udp + 4], 8 + 12 + 4);
               }},
              {"write headers cut", "write_only_imm_ipv6", kTruncated,
               [](Bytes& b, const Layout& at) {
                 store_be<uint16_t>(&b[at.inner + 4], 8 + 12 + 27 + 4);
                 store_be<uint16_t>(&b[at.udp + 4], 8 + 12 + 27 + 4);
               }},
              {"BTH version", "probe_ipv6", kBadVersion,
               [](Bytes& b, const Layout& at) { b[at.bth + 1] |= 1; }},
              {"control with pad", "probe_ipv6", kBadPad,
               [](Bytes& b, const Layout& at) { b[at.bth + 1] |= 0x10; }},
              {"control with payload", "sack_ipv6", kBadPayload,
               [](Bytes& b, const Layout& at) { b[at.bth] = 0xDE; }},
              {"pad of an empty message", "write_only_imm_ipv6", kBadPad,
               [](Bytes& b, const Layout& at) { b[at.bth + 1] |= 0x10; }},
              {"length not a multiple of four", "write_only_ipv6", kBadPad,
               [](Bytes& b, const Layout& at) {
                 b[at.inner + 5] -= 1;
                 b[at.udp + 5] -= 1;
               }},
              {"Only shorter than its message", "write_only_ipv6", kBadPayload,
               [](Bytes& b, const Layout& at) { b[at.bth + 12 + 4 + 4 + 15] += 1; }},
              {"Only longer than its message", "write_only_ipv6", kBadPayload,
               [](Bytes& b, const Layout& at) { b[at.bth + 12 + 4 + 4 + 15] -= 1; }},
              {"First without payload", "write_only_empty_ipv6", kBadPayload,
               [](Bytes& b, const Layout& at) { b[at.bth] = 0xC6; }},
              {"Middle without payload", "write_only_empty_ipv6", kBadPayload,
               [](Bytes& b, const Layout& at) { b[at.bth] = 0xC7; }},
              {"Last without payload", "write_only_empty_ipv6", kBadPayload,
               [](Bytes& b, const Layout& at) { b[at.bth] = 0xC8; }},
              {"Last with Imm, without payload", "write_only_imm_ipv6", kBadPayload,
               [](Bytes& b, const Layout& at) { b[at.bth] = 0xC9; }},
              {"SEND First not at the beginning", "send_first_ipv6", kBadPayload,
               [](Bytes& b, const Layout& at) { b[at.bth + kOffset + 7] = 1; }},
              {"SEND First that is all of its message", "send_only_ipv6", kBadPayload,
               [](Bytes& b, const Layout& at) { b[at.bth] = 0xC0; }},
              {"SEND Middle at the beginning", "send_first_ipv6", kBadPayload,
               [](Bytes& b, const Layout& at) { b[at.bth] = 0xC1; }},
              {"SEND Middle that reaches the end", "send_middle_ipv6", kBadPayload,
               [](Bytes& b, const Layout& at) { b[at.bth + kOffset + 7] = 0xEF; }},
              {"SEND Middle past the end", "send_middle_ipv6", kBadPayload,
               [](Bytes& b, const Layout& at) { b[at.bth + kOffset + 7] = 0xF0; }},
              {"SEND offset beyond 32 bits", "send_middle_ipv6", kBadPayload,
               [](Bytes& b, const Layout& at) { b[at.bth + kOffset] = 0x80; }},
              {"SEND offset that wraps", "send_middle_ipv6", kBadPayload,
               [](Bytes& b, const Layout& at) { store_be<uint64_t>(&b[at.bth + kOffset], ~uint64_t{0}); }},
              {"SEND Last before the end", "send_last_ipv6", kBadPayload,
               [](Bytes& b, const Layout& at) { b[at.bth + kOffset - 4 + 15] += 1; }},
              {"SEND Only with an offset", "send_only_ipv6", kBadPayload,
               [](Bytes& b, const Layout& at) { b[at.bth + kOffset + 7] = 1; }},
              {"SEND Last without payload", "send_empty_ipv6", kBadPayload,
               [](Bytes& b, const Layout& at) { b[at.bth] = 0xC2; }},
              {"SEND with Imm in too little", "send_empty_ipv6", kTruncated,
               [](Bytes& b, const Layout& at) { b[at.bth] = 0xC5; }},
              {"READ response shorter than it says", "read_response_only_ipv6", kBadPayload,
               [](Bytes& b, const Layout& at) { b[at.bth + kOffset + 15] += 1; }},
              {"READ response Middle without payload", "read_response_empty_ipv6", kBadPayload,
               [](Bytes& b, const Layout& at) { b[at.bth] = 0xCE; }},
              {"READ request with payload", "read_response_only_ipv6", kBadPayload,
               [](Bytes& b, const Layout& at) { b[at.bth] = 0xCC; }},
              {"READ request with pad", "read_ipv6", kBadPad,
               [](Bytes& b, const Layout& at) { b[at.bth + 1] |= 0x20; }},
              {"atomic in too little", "read_ipv6", kTruncated,
               [](Bytes& b, const Layout& at) { b[at.bth] = 0xD3; }},
              {"atomic with pad", "compare_swap_ipv6", kBadPad,
               [](Bytes& b, const Layout& at) { b[at.bth + 1] |= 0x10; }},
              {"atomic acknowledge with payload", "compare_swap_ipv6", kBadPayload,
               [](Bytes& b, const Layout& at) { b[at.bth] = 0xD2; }},
              {"RC WRITE Only shorter than its message", "rc_write_only_ipv6", kBadPayload,
               [](Bytes& b, const Layout& at) { b[at.bth + 12 + 15] += 1; }},
              {"RC WRITE First over its message", "rc_write_first_ipv6", kBadPayload,
               [](Bytes& b, const Layout& at) { store_be<uint32_t>(&b[at.bth + 12 + 12], 511); }},
              {"RC pad without payload", "rc_acknowledge_ipv6", kBadPad,
               [](Bytes& b, const Layout& at) {
                 b[at.bth] = 0x09;  // WRITE Last with Imm takes the four bytes
                 b[at.bth + 1] |= 0x10;
               }},
              {"RC WRITE Last without payload", "rc_acknowledge_ipv6", kBadPayload,
               [](Bytes& b, const Layout& at) { b[at.bth] = 0x09; }},
              {"RC READ request with payload", "rc_write_only_ipv6", kBadPad,
               [](Bytes& b, const Layout& at) { b[at.bth] = 0x0C; }},
              {"RC acknowledge with payload", "rc_atomic_ack_ipv6", kBadPayload,
               [](Bytes& b, const Layout& at) { b[at.bth] = 0x11; }},
              {"RC atomic in too little", "rc_read_ipv6", kTruncated,
               [](Bytes& b, const Layout& at) { b[at.bth] = 0x14; }},
              {"RC opcode 0x15", "rc_read_ipv6", kUnknownOpcode,
               [](Bytes& b, const Layout& at) { b[at.bth] = 0x15; }},
              {"RC version", "rc_read_ipv6", kBadVersion,
               [](Bytes& b, const Layout& at) { b[at.bth + 1] |= 0x08; }},
              {"RC on the printed port", "rc_read_ipv6", kNotRocePort,
               [](Bytes& b, const Layout& at) { set_udp_port(b, at, kUdpPortSpecPrint); }},
              {"UD on the printed port", "ud_send_only_ipv6", kNotRocePort,
               [](Bytes& b, const Layout& at) { set_udp_port(b, at, kUdpPortSpecPrint); }},
              {"UD First", "ud_send_only_ipv6", kUnknownOpcode,
               [](Bytes& b, const Layout& at) { b[at.bth] = 0x60; }},
              {"UD without DETH", "rc_acknowledge_ipv6", kTruncated,
               [](Bytes& b, const Layout& at) { b[at.bth] = 0x64; }},
              {"Last over its message", "write_last_ipv6", kBadPayload,
               [](Bytes& b, const Layout& at) { store_be<uint32_t>(&b[at.bth + 12 + 4 + 12], 0); }},
          };
  for (const Refusal& refusal : refusals) {
    const golden::Frame& frame = golden_frame(refusal.frame);
    Bytes bytes = golden::from_hex(frame.hex);
    refusal.change(bytes, layout_of(frame));
    Packet packet;
    const DecodeError error = decode_exact(bytes, &packet);
    EXPECT_EQ(error, refusal.expected) << refusal.what << ": " << to_string(error);
  }
}

TEST(Decode, RefusesMoreThanTheLargestMtu) {
  Bytes bytes = golden_bytes("write_full_mtu_srv6");
  const Layout at = layout_of(golden_frame("write_full_mtu_srv6"));
  bytes.resize(bytes.size() + 4);
  for (const size_t field : {at.outer + 4, at.inner + 4, at.udp + 4}) {
    store_be(&bytes[field], static_cast<uint16_t>(load_be<uint16_t>(&bytes[field]) + 4));
  }
  Packet packet;
  EXPECT_EQ(decode_exact(bytes, &packet), DecodeError::kBadPayload);
  bytes[at.bth + 1] = 0x30;  // 4097 bytes and a pad of three
  EXPECT_EQ(decode_exact(bytes, &packet), DecodeError::kBadPayload);
}

// MRC's twelve, the eighteen of the extension, RC's 25, UD's two, and those of XRC. ATOMIC WRITE and FLUSH
// have different codes.
std::set<int> known_opcodes() {
  std::set<int> known{0xD5, 0xD8, 0xD9, 0xDA, 0xDC, 0xDD, 0xDE, 0x1C, 0x1D, 0x64, 0x65};
  for (int opcode = 0x00; opcode <= 0x17; ++opcode) {
    if (opcode == 0x15) continue;
    known.insert(opcode);
    known.insert(0xC0 | opcode);
    known.insert(0xA0 | opcode);  // XRC
    // Of MRC's XRC only requests: its answers are as ever.
    const bool answers = opcode >= 0x0D && opcode <= 0x12;
    if (!answers) known.insert(0xE0 | opcode);
  }
  return known;
}

TEST(Decode, KnowsItsOpcodes) {
  const std::set<int> known = known_opcodes();
  EXPECT_EQ(known.size(), 97u);
  for (int opcode = 0; opcode < 256; ++opcode) {
    Bytes bytes = golden_bytes("probe_ipv6");
    bytes[kEthernetBytes + kIpv6Bytes + kUdpBytes] = static_cast<uint8_t>(opcode);
    Packet packet;
    const bool unknown = decode_exact(bytes, &packet) == DecodeError::kUnknownOpcode;
    EXPECT_EQ(unknown, !known.contains(opcode)) << opcode;
  }
}

// A switch that trims or marks works on the outer header only.
TEST(Decode, TakesDscpAndCongestionFromTheOuterHeader) {
  Bytes bytes = golden_bytes("write_only_srv6");
  store_be<uint32_t>(&bytes[kEthernetBytes], 6u << 28 | (12u << 2 | 3u) << 20);
  Packet packet;
  ASSERT_EQ(decode(bytes, &packet), DecodeError::kNone);
  EXPECT_EQ(packet.dscp, 12);
  EXPECT_EQ(packet.ecn, Ecn::kCongestion);
  EXPECT_TRUE(icrc_matches(packet));
}

TEST(Decode, PlainRcHasNoMrcBits) {
  for (const char* name : {"rc_reserved_ipv4", "ud_reserved_ipv6"}) {
    const Bytes bytes = golden_bytes(name);
    ASSERT_NE(bytes[layout_of(golden_frame(name)).bth + 8] & 0x30, 0);
    Packet packet;
    ASSERT_EQ(decode(bytes, &packet), DecodeError::kNone);
    EXPECT_FALSE(packet.bth.retransmission);
    EXPECT_FALSE(packet.bth.has_timestamp);
    EXPECT_TRUE(icrc_matches(packet));
  }
}

// Neither an exact nor a longer payload is too much for UD, but one over the largest MTU is.
TEST(Decode, UdTakesTheLargestMtu) {
  for (const size_t payload_bytes : {kMtuMax, kMtuMax + 4}) {
    const Bytes payload(payload_bytes, 0x5A);
    Bytes frame(kFrameBytesMax);
    NetworkHeader network;
    network.source = network.destination = IpAddress::v4(10, 0, 0, 1);
    FrameWriter writer(frame.data(), network, Entropy{}, 0, Ecn::kEct0,
                       Bth::kBytes + Deth::kBytes + payload_bytes);
    Bth bth;
    bth.opcode = Opcode::kUdSendOnly;
    writer.add(bth);
    writer.add(Deth{1, Qpn(2)});
    writer.end_headers();
    writer.add_payload(payload.data(), payload.size());
    frame.resize(writer.finish(0));
    Packet packet;
    EXPECT_EQ(decode(frame, &packet),
              payload_bytes > kMtuMax ? DecodeError::kBadPayload : DecodeError::kNone);
  }
}

// MRC 1.1: a peer may fill up its payload or not. RoCEv2 always does.
TEST(Decode, MrcTakesPayloadWithoutPad) {
  for (const Opcode opcode : {Opcode::kWriteOnly, Opcode::kSendOnly, Opcode::kRcSendOnly}) {
    const Bytes payload(5, 0x5A);
    Bytes frame(kFrameBytesMax);
    NetworkHeader network;
    network.source = network.destination = IpAddress::v4(10, 0, 0, 1);
    const size_t headers = is_mrc(opcode) ? Meth::kBytes + Reth::kBytes : 0;
    FrameWriter writer(frame.data(), network, Entropy{}, 0, Ecn::kEct0,
                       Bth::kBytes + headers + payload.size());
    Bth bth;
    bth.opcode = opcode;
    writer.add(bth);
    if (is_mrc(opcode)) writer.add(Meth{});
    if (is_mrc(opcode)) writer.add(Reth{0, MemoryKey{1}, 5});
    writer.end_headers();
    writer.add_payload(payload.data(), payload.size());
    frame.resize(writer.finish(0));
    Packet packet;
    ASSERT_EQ(decode(frame, &packet), is_mrc(opcode) ? DecodeError::kNone : DecodeError::kBadPad);
    if (!is_mrc(opcode)) continue;
    EXPECT_EQ(packet.payload.size(), payload.size());
    EXPECT_TRUE(icrc_matches(packet));
  }
}

TEST(Grh, IsTheIpHeaderAsReceived) {
  for (const char* name : {"ud_send_only_ipv4", "ud_send_only_ipv6", "ud_srv6", "ud_empty_ipv4"}) {
    const Bytes bytes = golden_bytes(name);
    const Layout at = layout_of(golden_frame(name));
    Packet packet;
    ASSERT_EQ(decode(bytes, &packet), DecodeError::kNone);
    Bytes expected(kGrhBytes, 0);
    std::copy(&bytes[at.inner], &bytes[at.udp], expected.begin() + (at.v4 ? 20 : 0));
    Bytes got(kGrhBytes + 1, 0xEE);
    write_grh(got.data(), packet);
    EXPECT_EQ(got.back(), 0xEE);
    got.pop_back();
    EXPECT_EQ(got, expected) << name;
  }
}

TEST(Decode, EveryErrorHasAName) {
  std::set<std::string> names;
  for (int i = 0; i < static_cast<int>(DecodeError::kCount); ++i) {
    names.insert(to_string(static_cast<DecodeError>(i)));
  }
  EXPECT_EQ(names.size(), static_cast<size_t>(DecodeError::kCount));
  EXPECT_FALSE(names.contains("invalid"));
}

TEST(Entropy, SplitsAndJoins) {
  const EntropyFields fields = split_entropy(Entropy{0x12345678});
  EXPECT_EQ(fields.source_port, 0x5678);
  EXPECT_EQ(fields.flow_label, 0x1234);
  EXPECT_EQ(join_entropy(fields), Entropy{0x12345678});
  EXPECT_EQ(swap_halves(Entropy{0x12345678}), Entropy{0x56781234});
}

// Touches whatever a decoded packet points at.
uint32_t look_at(const Packet& packet) {
  uint32_t sum = icrc_matches(packet) ? 1 : 0;
  for (const uint8_t byte : packet.payload) sum += byte;
  return sum;
}

class Garbage : public ::testing::Test {
 protected:
  static constexpr int kFrames = 200'000;

  uint8_t byte() { return static_cast<uint8_t>(random_()); }
  const golden::Frame& any_golden() { return golden::kFrames[random_() % std::size(golden::kFrames)]; }
  void feed(std::span<const uint8_t> bytes) {
    const golden::ExactBuffer buffer(bytes);
    Packet packet;
    const DecodeError error = decode(buffer.view(), &packet);
    ASSERT_LT(error, DecodeError::kCount);
    ++outcomes_[static_cast<size_t>(error)];
    if (error == DecodeError::kNone) sink_ = sink_ + look_at(packet);
    uint8_t dscp = 0;
    const bool ip = peek_dscp(buffer.view(), &dscp);
    if (error == DecodeError::kNone) {
      ASSERT_TRUE(ip);
      ASSERT_EQ(dscp, packet.dscp);
    }
    Packet rest;
    const DecodeError trimmed = decode_trimmed(buffer.view(), &rest);
    ASSERT_LT(trimmed, DecodeError::kCount);
    if (trimmed == DecodeError::kNone) {
      ASSERT_TRUE(ip && rest.trimmed && rest.payload.empty() && !icrc_matches(rest));
    }
  }

  std::mt19937_64 random_ = golden::seeded_random();
  std::array<int, static_cast<size_t>(DecodeError::kCount)> outcomes_{};
  volatile uint32_t sink_ = 0;
};

TEST_F(Garbage, Noise) {
  for (int round = 0; round < kFrames / 2; ++round) {
    Bytes bytes(random_() % 200);
    for (uint8_t& b : bytes) b = byte();
    // Most get past the first check, and half of those past the second.
    if (bytes.size() > 14) store_be<uint16_t>(&bytes[12], round % 3 == 0 ? kEtherTypeIpv4 : kEtherTypeIpv6);
    if (bytes.size() > 34 && round % 2 == 0) {
      bytes[14] = round % 3 == 0 ? 0x45 : 0x60;
      if (round % 3 == 0) {
        store_be(&bytes[16], static_cast<uint16_t>(bytes.size() - 14));
        bytes[23] = kProtocolUdp;
        fix_ipv4_checksum(&bytes[14]);
      } else {
        store_be(&bytes[18], static_cast<uint16_t>(random_() % (bytes.size() - 14)));
        constexpr uint8_t kNext[] = {kProtocolUdp, kProtocolIpv6, kProtocolIpv4, kProtocolRouting};
        bytes[20] = kNext[random_() % std::size(kNext)];
      }
    }
    feed(bytes);
  }
}

TEST_F(Garbage, DamagedGoldenFrames) {
  std::vector<Bytes> frames;
  for (const golden::Frame& frame : golden::kFrames) frames.push_back(golden::from_hex(frame.hex));
  for (int round = 0; round < kFrames / 2; ++round) {
    Bytes bytes = frames[random_() % frames.size()];
    // The damage is mostly in the headers, where decisions are made.
    const size_t reach = std::min<size_t>(bytes.size(), 150);
    for (size_t hits = random_() % 4; hits > 0; --hits) bytes[random_() % reach] = byte();
    if (random_() % 4 == 0) bytes.resize(random_() % (bytes.size() + 1));
    if (random_() % 4 == 0) bytes.resize(bytes.size() + random_() % 64, byte());
    if (bytes.size() >= kEthernetBytes + kIpv4Bytes && bytes[14] == 0x45 && random_() % 2 == 0) {
      fix_ipv4_checksum(&bytes[14]);
    }
    feed(bytes);
  }
  for (size_t i = 0; i < outcomes_.size(); ++i) {
    EXPECT_GT(outcomes_[i], 0) << "never seen: " << to_string(static_cast<DecodeError>(i));
  }
}

}  // namespace
}  // namespace mrc
