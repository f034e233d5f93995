// SPDX-License-Identifier: BSD-2-Clause
// MRC 7: golden frames as a trimming switch leaves them, cut at every length, with and without corrected
// lengths.
#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "tests/unit/golden/layout.h"
#include "tests/unit/golden/seed.h"

namespace mrc {
namespace {

using Bytes = std::vector<uint8_t>;
using golden::Layout;

constexpr uint8_t kTrimmedDscp = 12;  // MRC 7 [P]

void set_ipv4_length(uint8_t* header, size_t bytes) {
  store_be(header + 2, static_cast<uint16_t>(bytes));
  golden::fix_ipv4_checksum(header);
}

// A switch marks the outermost header.
void set_dscp(Bytes* bytes, uint8_t dscp) {
  uint8_t* ip = bytes->data() + kEthernetBytes;
  if (ip[0] >> 4 == 4) {
    ip[1] = static_cast<uint8_t>(dscp << 2 | (ip[1] & 3));
    golden::fix_ipv4_checksum(ip);
  } else {
    const auto rest = load_be<uint32_t>(ip) & 0xF03FFFFF;
    store_be(ip, rest | static_cast<uint32_t>(dscp) << 22);
  }
}

// What a switch may do beyond cutting: correct the outermost length, or all of them.
enum class Lengths { kOriginal, kOutermost, kAll };

void correct_lengths(Bytes* bytes, const Layout& at, size_t cut, Lengths lengths) {
  uint8_t* b = bytes->data();
  if (lengths == Lengths::kOriginal) return;
  if (at.outer != 0) {
    store_be(b + at.outer + 4, static_cast<uint16_t>(cut - at.outer - kIpv6Bytes));
    if (lengths == Lengths::kOutermost) return;
  }
  if (at.v4) {
    set_ipv4_length(b + at.inner, cut - at.inner);
  } else {
    store_be(b + at.inner + 4, static_cast<uint16_t>(cut - at.inner - kIpv6Bytes));
  }
  if (lengths == Lengths::kAll) store_be(b + at.udp + 4, static_cast<uint16_t>(cut - at.udp));
}

size_t needed_bytes(const golden::Frame& frame, const Layout& at) {
  return at.bth + Bth::kBytes + Meth::kBytes + (frame.has_timestamp ? Tseth::kBytes : 0);
}

std::string compare(const golden::Frame& frame, const Packet& packet) {
  if (packet.dscp != kTrimmedDscp) return "DSCP";
  if (!packet.trimmed) return "not trimmed";
  if (!packet.payload.empty()) return "payload";
  if (icrc_matches(packet)) return "an ICRC";
  Packet as_sent = packet;
  as_sent.dscp = frame.dscp;
  std::string difference = golden::compare_network(frame, as_sent);
  if (difference.empty()) difference = golden::compare_bth(frame, packet.bth);
  return difference.empty() ? golden::compare_stream(frame, packet) : difference;
}

TEST(Trimmed, EveryRequestAtEveryLength) {
  size_t frames = 0;
  for (const golden::Frame& frame : golden::kFrames) {
    if (!is_request(static_cast<Opcode>(frame.opcode)) || frame.trailing_bytes != 0) continue;
    ++frames;
    const Layout at = golden::layout_of(frame);
    const size_t needed = needed_bytes(frame, at);
    Bytes whole = golden::from_hex(frame.hex);
    set_dscp(&whole, kTrimmedDscp);
    for (size_t length = 0; length <= whole.size(); ++length) {
      for (const Lengths lengths : {Lengths::kOriginal, Lengths::kOutermost, Lengths::kAll}) {
        if (lengths != Lengths::kOriginal && length < at.bth) continue;
        Bytes bytes = whole;
        correct_lengths(&bytes, at, length, lengths);
        const golden::ExactBuffer cut({bytes.data(), length});
        Packet packet;
        packet.payload = bytes;
        const DecodeError error = decode_trimmed(cut.view(), &packet);
        if (length < needed) {
          // Whether it is short or says that it is short, it is refused.
          ASSERT_TRUE(error == DecodeError::kTruncated || error == DecodeError::kBadUdpLength)
              << frame.name << " cut to " << length << ": " << to_string(error);
          continue;
        }
        ASSERT_EQ(error, DecodeError::kNone)
            << frame.name << " cut to " << length << ": " << to_string(error);
        ASSERT_EQ(compare(frame, packet), "") << frame.name << " cut to " << length;
      }
    }
  }
  EXPECT_GE(frames, 22u * 4u);
}

// What the IP length does not cover is Ethernet padding, not packet.
TEST(Trimmed, PaddingIsNotPacket) {
  const golden::Frame& frame = golden::golden_frame("send_only_ipv4");
  const Layout at = golden::layout_of(frame);
  for (const size_t missing : {0, 1, 4, 8}) {
    Bytes bytes = golden::from_hex(frame.hex);
    set_ipv4_length(&bytes[at.inner], needed_bytes(frame, at) - missing - at.inner);
    Packet packet;
    const DecodeError error = decode_trimmed(bytes, &packet);
    EXPECT_EQ(error, missing == 0 ? DecodeError::kNone : DecodeError::kTruncated) << missing;
  }
}

TEST(Trimmed, OnlyRequestsOfTheStream) {
  for (const golden::Frame& frame : golden::kFrames) {
    const bool request = is_request(static_cast<Opcode>(frame.opcode));
    const Bytes bytes = golden::from_hex(frame.hex);
    Packet packet;
    EXPECT_EQ(decode_trimmed(bytes, &packet), request ? DecodeError::kNone : DecodeError::kUnknownOpcode)
        << frame.name;
  }
}

TEST(Trimmed, RefusesWhatIsNotMrc) {
  const golden::Frame& frame = golden::golden_frame("write_first_ipv6");
  const Layout at = golden::layout_of(frame);
  const Bytes good = golden::from_hex(frame.hex);
  Packet packet;
  Bytes bytes = good;
  bytes[at.udp + 3] ^= 1;
  EXPECT_EQ(decode_trimmed(bytes, &packet), DecodeError::kNotRocePort);
  bytes = good;
  bytes[at.bth + 1] |= 1;
  EXPECT_EQ(decode_trimmed(bytes, &packet), DecodeError::kBadVersion);
  bytes = good;
  bytes[at.inner + 6] = 6;
  EXPECT_EQ(decode_trimmed(bytes, &packet), DecodeError::kNotUdp);
  bytes = good;
  store_be<uint16_t>(&bytes[at.udp + 4], 23);
  EXPECT_EQ(decode_trimmed(bytes, &packet), DecodeError::kBadUdpLength);
  bytes = golden::from_hex(golden::golden_frame("write_first_ipv4").hex);
  bytes[kEthernetBytes + 10] ^= 1;
  EXPECT_EQ(decode_trimmed(bytes, &packet), DecodeError::kBadIpHeader);
}

// A Packet that held a trimmed frame is fit for the next one.
TEST(Trimmed, NextFrameIsWhole) {
  const Bytes bytes = golden::from_hex(golden::golden_frame("write_first_srv6").hex);
  Packet packet;
  ASSERT_EQ(decode_trimmed(std::span(bytes).first(128), &packet), DecodeError::kNone);
  ASSERT_TRUE(packet.trimmed);
  ASSERT_EQ(decode(bytes, &packet), DecodeError::kNone);
  EXPECT_FALSE(packet.trimmed);
  EXPECT_TRUE(icrc_matches(packet));
}

TEST(PeekDscp, IsThatOfTheOutermostHeader) {
  for (const golden::Frame& frame : golden::kFrames) {
    Bytes bytes = golden::from_hex(frame.hex);
    uint8_t dscp = 0xFF;
    ASSERT_TRUE(peek_dscp(bytes, &dscp)) << frame.name;
    EXPECT_EQ(dscp, frame.dscp) << frame.name;
    for (const uint8_t mark : {uint8_t{0}, kTrimmedDscp, uint8_t{63}}) {
      set_dscp(&bytes, mark);
      ASSERT_TRUE(peek_dscp(bytes, &dscp));
      EXPECT_EQ(dscp, mark) << frame.name;
    }
    for (size_t length = 0; length < kEthernetBytes + 2; ++length) {
      const golden::ExactBuffer cut({bytes.data(), length});
      EXPECT_FALSE(peek_dscp(cut.view(), &dscp));
    }
    bytes[kEthernetBytes] ^= 0x20;  // 4 <-> 6
    EXPECT_FALSE(peek_dscp(bytes, &dscp));
  }
}

}  // namespace
}  // namespace mrc
