// SPDX-License-Identifier: BSD-2-Clause
// Frames from templates, for random headers, entropies and lengths, against a plain reference that shares no
// code with the writer but the headers' store().
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <initializer_list>
#include <vector>

#include "libmrc/wire/bytes.h"
#include "libmrc/wire/crc32.h"
#include "libmrc/wire/ethernet.h"
#include "libmrc/wire/frame.h"
#include "libmrc/wire/icrc.h"
#include "tests/unit/golden/seed.h"

namespace mrc {
namespace {

using Bytes = std::vector<uint8_t>;

void put(Bytes* out, uint64_t value, size_t bytes) {
  while (bytes-- > 0) out->push_back(static_cast<uint8_t>(value >> (8 * bytes)));
}

template <typename Range>
void put(Bytes* out, const Range& bytes) {
  out->insert(out->end(), std::begin(bytes), std::end(bytes));
}

struct Sending {
  NetworkHeader network;
  Entropy entropy{};
  uint8_t dscp = 0;
  Ecn ecn{};
  Bytes transport;  // BTH to pad
};

Bytes ipv6(const Sending& s, uint8_t next, size_t bytes, uint8_t hops, const IpAddress& from,
           const IpAddress& to) {
  Bytes out;
  const uint32_t traffic_class = static_cast<uint32_t>(s.dscp << 2) | static_cast<uint32_t>(s.ecn);
  put(&out, 6u << 28 | traffic_class << 20 | static_cast<uint32_t>(s.entropy) >> 16, 4);
  put(&out, bytes, 2);
  put(&out, next, 1);
  put(&out, hops, 1);
  put(&out, from.bytes);
  put(&out, to.bytes);
  return out;
}

Bytes ipv4(const Sending& s, size_t bytes) {
  Bytes out;
  put(&out, 0x45, 1);
  put(&out, static_cast<uint32_t>(s.dscp << 2) | static_cast<uint32_t>(s.ecn), 1);
  put(&out, 20 + bytes, 2);
  put(&out, 0x00004000, 4);
  put(&out, s.network.hop_limit, 1);
  put(&out, 17, 1);
  put(&out, 0, 2);
  put(&out, std::span(s.network.source.v4_bytes(), 4));
  put(&out, std::span(s.network.destination.v4_bytes(), 4));
  uint32_t sum = 0;
  for (size_t at = 0; at < out.size(); at += 2) sum += load_be<uint16_t>(&out[at]);
  while (sum >> 16 != 0) sum = (sum & 0xFFFF) + (sum >> 16);
  store_be(&out[10], static_cast<uint16_t>(~sum));
  return out;
}

uint32_t slow_icrc(const Bytes& packet) {
  Bytes masked(8, 0xFF);
  put(&masked, packet);
  const bool v4 = packet[0] >> 4 == 4;
  const auto ones = [&masked](std::initializer_list<size_t> at) {
    for (const size_t i : at) masked[8 + i] = 0xFF;
  };
  if (v4) {
    ones({1, 8, 10, 11, 26, 27, 32});
  } else {
    masked[8] |= 0x0F;
    ones({1, 2, 3, 7, 46, 47, 52});
  }
  uint32_t crc = 0xFFFFFFFF;
  for (const uint8_t byte : masked) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xEDB88320u : 0);
  }
  return ~crc;
}

Bytes reference(const Sending& s) {
  const bool v4 = s.network.destination.is_v4();
  const size_t udp_bytes = 8 + s.transport.size() + 4;
  Bytes packet = v4 ? ipv4(s, udp_bytes)
                    : ipv6(s, 17, udp_bytes, s.network.hop_limit, s.network.source, s.network.destination);
  put(&packet, static_cast<uint32_t>(s.entropy) & 0xFFFF, 2);
  put(&packet, s.network.udp_port, 2);
  put(&packet, udp_bytes, 2);
  put(&packet, 0, 2);
  put(&packet, s.transport);
  put(&packet, byte_swap(slow_icrc(packet)), 4);
  Bytes frame;
  put(&frame, s.network.destination_mac.bytes);
  put(&frame, s.network.source_mac.bytes);
  put(&frame, v4 && !s.network.srv6 ? 0x0800 : 0x86DD, 2);
  if (s.network.srv6) {
    put(&frame, ipv6(s, v4 ? 4 : 41, packet.size(), 64, s.network.outer_source, s.network.outer_destination));
  }
  put(&frame, packet);
  return frame;
}

class FrameTemplates : public ::testing::Test {
 protected:
  template <typename Array>
  void fill(Array* array) {
    for (uint8_t& byte : *array) byte = static_cast<uint8_t>(random_());
  }
  IpAddress any_address(bool v4) {
    IpAddress out;
    fill(&out.bytes);
    if (v4) out = IpAddress::v4(out.bytes[0], out.bytes[1], out.bytes[2], out.bytes[3]);
    return out;
  }
  NetworkHeader any_network() {
    const bool v4 = random_() % 2 == 0;
    NetworkHeader out;
    fill(&out.source_mac.bytes);
    fill(&out.destination_mac.bytes);
    out.source = any_address(v4);
    out.destination = any_address(v4);
    out.srv6 = random_() % 2 == 0;
    out.outer_source = any_address(false);
    out.outer_destination = any_address(false);
    out.hop_limit = static_cast<uint8_t>(random_());
    out.udp_port = random_() % 2 == 0 ? kUdpPort : kUdpPortSpecPrint;
    out.partition_key = static_cast<uint16_t>(random_());
    return out;
  }
  // BTH, perhaps METH, payload and pad: the writer does not mind what the opcode says.
  Bytes write(FrameWriter writer, Sending* s, const Bytes& buffer) {
    Bth bth;
    bth.opcode = static_cast<Opcode>(random_());
    bth.destination = Qpn(static_cast<uint32_t>(random_()));
    bth.psn = Psn(static_cast<uint32_t>(random_()));
    writer.add(bth);
    bth.partition_key = s->network.partition_key;
    s->transport.resize(Bth::kBytes);
    bth.store(s->transport.data());
    if (meth_) {
      writer.add(Meth{0x1234, 0x5678});
      put(&s->transport, 0x12345678, 4);
    }
    writer.end_headers();
    Bytes payload(payload_bytes_);
    fill(&payload);
    writer.add_payload(payload.data(), payload.size());
    put(&s->transport, payload);
    s->transport.resize(s->transport.size() + pad_bytes_);
    const size_t length = writer.finish(pad_bytes_);
    return Bytes(buffer.begin(), buffer.begin() + static_cast<ptrdiff_t>(length));
  }
  size_t choose_lengths() {
    meth_ = random_() % 2 == 0;
    payload_bytes_ = random_() % (random_() % 8 == 0 ? kMtuMax + 1 : 100);
    pad_bytes_ = -payload_bytes_ % 4;
    return Bth::kBytes + (meth_ ? Meth::kBytes : 0) + payload_bytes_ + pad_bytes_;
  }

  std::mt19937_64 random_ = golden::seeded_random();
  bool meth_ = false;
  size_t payload_bytes_ = 0;
  size_t pad_bytes_ = 0;
};

TEST_F(FrameTemplates, WriteWhatTheReferenceWrites) {
  for (int round = 0; round < 300; ++round) {
    Sending s;
    s.network = any_network();
    s.dscp = random_() % 64;
    s.ecn = static_cast<Ecn>(random_() % 4);
    const FrameTemplate prefix(s.network, s.dscp, s.ecn);
    for (int frame = 0; frame < 8; ++frame) {  // one template, many frames
      s.entropy = Entropy{static_cast<uint32_t>(random_())};
      Bytes buffer(kFrameBytesMax, 0xEE);
      const size_t transport_bytes = choose_lengths();
      const bool direct = frame % 4 == 3;
      const Bytes got =
          direct ? write(FrameWriter(buffer.data(), s.network, s.entropy, s.dscp, s.ecn, transport_bytes), &s,
                         buffer)
                 : write(FrameWriter(buffer.data(), prefix, s.entropy, transport_bytes), &s, buffer);
      ASSERT_EQ(got, reference(s)) << "round " << round << " frame " << frame;
    }
  }
}

// The ones' complement sum wraps twice, or comes out as zero: only certain lengths show it.
TEST_F(FrameTemplates, ChecksumOfEveryLength) {
  for (int round = 0; round < 20; ++round) {
    Sending s;
    s.network = any_network();
    s.network.srv6 = false;
    s.network.source = IpAddress::v4(255, 255, 255, static_cast<uint8_t>(random_()));
    s.network.destination = any_address(true);
    const FrameTemplate prefix(s.network, 0, Ecn::kNotCapable);
    Bytes buffer(kFrameBytesMax);
    for (size_t bytes = 12; bytes < 4096; bytes += 4) {
      const FrameWriter writer(buffer.data(), prefix, s.entropy, bytes);
      const Bytes expected = ipv4(s, 8 + bytes + 4);
      ASSERT_TRUE(std::equal(expected.begin(), expected.end(), buffer.begin() + kEthernetBytes)) << bytes;
    }
  }
}

TEST_F(FrameTemplates, OuterDestinationMayDiffer) {
  for (int round = 0; round < 50; ++round) {
    Sending s;
    s.network = any_network();
    s.network.srv6 = true;
    const FrameTemplate prefix(s.network, s.dscp, s.ecn);
    s.network.outer_destination = any_address(false);
    Bytes buffer(kFrameBytesMax);
    FrameWriter writer(buffer.data(), prefix, s.entropy, choose_lengths());
    writer.set_outer_destination(s.network.outer_destination);
    const Bytes got = write(writer, &s, buffer);
    ASSERT_EQ(got, reference(s));
  }
}

TEST(Icrc, Constants) {
  const Bytes ones(8, 0xFF);
  EXPECT_EQ(crc32_update(kCrcInit, ones.data(), ones.size()), kIcrcInit);
  // From any state, zero at byte 4 with the mask is ones at byte 4 without.
  Bytes bth = {0xC6, 0x00, 0xFF, 0xFF, 0x00, 1, 2, 3, 4, 5, 6, 7};
  const uint32_t masked = crc32_update(0x12345678 ^ kIcrcBthMask, bth.data(), bth.size());
  bth[4] = 0xFF;
  EXPECT_EQ(masked, crc32_update(0x12345678, bth.data(), bth.size()));
}

}  // namespace
}  // namespace mrc
