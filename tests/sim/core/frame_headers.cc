// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/core/frame_headers.h"

#include <cassert>
#include <cstring>

#include "libmrc/wire/bytes.h"
#include "libmrc/wire/ethernet.h"
#include "libmrc/wire/headers.h"
#include "libmrc/wire/packet.h"
#include "libmrc/wire/srv6.h"
#include "libmrc/wire/switch_change.h"
#include "tests/sim/core/random.h"

namespace mrc::sim {

namespace {

constexpr uint8_t kV4Network = 10;
constexpr uint8_t kV6Network = 0xFD;

// Where the inner packet begins, or 0 if there is none or it is out of the frame.
size_t inner_offset(const Frame& frame) {
  const uint8_t* ip = frame.bytes() + kEthernetBytes;
  size_t at = kEthernetBytes + kIpv6Bytes;
  uint8_t protocol = ip[6];
  if (protocol == kProtocolRouting && at + 8 <= frame.length) {
    const uint8_t* routing = frame.bytes() + at;
    protocol = routing[0];
    at += 8 + size_t{8} * routing[1];
  }
  return protocol == kProtocolIpv6 || protocol == kProtocolIpv4 ? at : 0;
}

// Source port and flow label of the packet whose IP header is at `at`, and whether it carries data.
void read_transport(Frame* frame, size_t at, bool v4) {
  const uint8_t* ip = frame->bytes() + at;
  const size_t udp = at + (v4 ? kIpv4Bytes : kIpv6Bytes);
  if (udp + kUdpBytes + Bth::kBytes > frame->length) return;
  if (ip[v4 ? 9 : 6] != kProtocolUdp) return;
  const uint32_t label = v4 ? 0 : load_be<uint16_t>(ip + 2);
  frame->entropy = label << 16 | load_be<uint16_t>(frame->bytes() + udp);
  const uint8_t opcode = frame->bytes()[udp + kUdpBytes];
  // MRC 1.2: 0xD1 acknowledge, 0xD8.. endpoint operations, SACK, NACK, probe; everything else carries data.
  const bool control =
      opcode == 0xD1 || (opcode >= 0xD8 && opcode <= 0xDF) || opcode == 0x11 || opcode == kNotificationOpcode;
  frame->data = !control;
}

uint64_t load_word(const uint8_t* from) {
  uint64_t word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

void read_v4(Frame* frame) {
  const uint8_t* ip = frame->bytes() + kEthernetBytes;
  if (frame->length < kEthernetBytes + kIpv4Bytes || ip[0] != 0x45) return;
  frame->readable = true;
  frame->v4 = true;
  frame->dscp = ip[1] >> 2;
  if (ip[16] == kV4Network) frame->destination = load_be24(ip + 17);
  read_transport(frame, kEthernetBytes, true);
  frame->flow_hash = mix(load_word(ip + 12) ^ mix(frame->entropy));
}

void read_v6(Frame* frame) {
  const uint8_t* ip = frame->bytes() + kEthernetBytes;
  if (frame->length < kEthernetBytes + kIpv6Bytes || ip[0] >> 4 != 6) return;
  frame->readable = true;
  frame->dscp = static_cast<uint8_t>(load_be<uint16_t>(ip) >> 6 & 0x3F);
  if (ip[24] == kV6Network) frame->destination = load_be24(ip + 37);
  const size_t inner = inner_offset(*frame);
  frame->srv6 = inner != 0;
  const bool inner_v4 = inner != 0 && inner < frame->length && frame->bytes()[inner] >> 4 == 4;
  read_transport(frame, inner != 0 ? inner : kEthernetBytes, inner_v4);
  uint64_t hash = mix(frame->entropy);
  for (size_t at = 8; at < 40; at += 8) hash = mix(hash ^ load_word(ip + at));
  frame->flow_hash = hash;
}

std::span<uint8_t> bytes_of(Frame* frame) {
  return {frame->bytes(), frame->length};
}

uint8_t traffic_class(const Frame& frame) {
  uint8_t value = 0;
  [[maybe_unused]] const bool there = read_traffic_class({frame.bytes(), frame.length}, &value);
  return value;
}

}  // namespace

IpAddress address_of(uint32_t host, bool v4) {
  const auto a = static_cast<uint8_t>(host >> 16);
  const auto b = static_cast<uint8_t>(host >> 8);
  const auto c = static_cast<uint8_t>(host);
  if (v4) return IpAddress::v4(kV4Network, a, b, c);
  return IpAddress{{kV6Network, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, a, b, c}};
}

void read_headers(Frame* frame) {
  frame->destination = kNoHost;
  frame->entropy = 0;
  frame->dscp = 0;
  frame->readable = frame->v4 = frame->srv6 = frame->trimmed = frame->data = false;
  if (frame->length < kEthernetBytes) return;
  const auto type = load_be<uint16_t>(frame->bytes() + 12);
  if (type == kEtherTypeIpv4) read_v4(frame);
  if (type == kEtherTypeIpv6) read_v6(frame);
}

void make_ecn_capable(Frame* frame) {
  constexpr uint8_t kEcnBits = 3;
  const auto value =
      static_cast<uint8_t>((traffic_class(*frame) & ~kEcnBits) | static_cast<uint8_t>(Ecn::kEct0));
  [[maybe_unused]] const bool done = write_traffic_class(bytes_of(frame), value);
}

bool mark_congestion(Frame* frame) {
  return mrc::mark_congestion(bytes_of(frame));
}

bool is_marked(const Frame& frame) {
  return frame.readable && (traffic_class(frame) & 3) == 3;
}

bool decrement_hop_limit(Frame* frame) {
  uint8_t* ip = frame->bytes() + kEthernetBytes;
  uint8_t& limit = ip[frame->v4 ? 8 : 7];
  if (limit <= 1) return false;
  --limit;
  if (frame->v4) {  // RFC 1141: the checksum grows by what the word lost
    const uint32_t sum = uint32_t{load_be<uint16_t>(ip + 10)} + 0x100;
    store_be(ip + 10, static_cast<uint16_t>(sum + (sum >> 16)));
  }
  return true;
}

void trim(Frame* frame, uint8_t dscp) {
  [[maybe_unused]] const bool done = trim_frame(bytes_of(frame), dscp);
  assert(done);
  static_assert(kTrimmedBytes <= Frame::kFoldedHead);
  frame->length = kTrimmedBytes;
  frame->folded = false;
  frame->trimmed = true;
  frame->dscp = dscp;
}

uint16_t first_usid(const Frame& frame) {
  return load_be<uint16_t>(frame.bytes() + kEthernetBytes + 24 + 4);
}

bool shift_usids(Frame* frame) {
  uint8_t* destination = frame->bytes() + kEthernetBytes + 24;
  IpAddress address;
  std::memcpy(address.bytes.data(), destination, sizeof address.bytes);
  if (!shift_usid(&address)) return false;
  std::memcpy(destination, address.bytes.data(), sizeof address.bytes);
  return true;
}

}  // namespace mrc::sim
