// SPDX-License-Identifier: BSD-2-Clause
// Decodes one Ethernet frame into its MRC parts. Nothing is read past the end of the frame, whatever it holds.
#pragma once

#include <cstdint>
#include <span>

#include "libmrc/wire/headers.h"
#include "libmrc/wire/identifiers.h"

namespace mrc {

inline constexpr uint16_t kUdpPort = 4791;
inline constexpr uint16_t kUdpPortSpecPrint = 4971;  // MRC 1.1: printed so in the specification; accepted, never sent

// Why a frame is not an MRC packet. Every value has a drop counter of its own in the engine.
enum class DecodeError : uint8_t {
  kNone,
  kTruncated,       // shorter than its own headers say
  kNotIp,           // neither IPv4 nor IPv6, or an IP version that does not match
  kBadIpHeader,     // lengths, options or extension headers that are not understood, IPv4 checksum
  kFragment,
  kNotUdp,
  kNotRocePort,
  kBadUdpLength,
  kUnknownOpcode,
  kBadVersion,      // BTH TVer
  kBadPad,
  kBadPayload,      // a control packet with payload, a First/Middle packet without, an Only/Last over its length
  kCount,
};
const char* to_string(DecodeError error);

// IP traffic class bits.
enum class Ecn : uint8_t { kNotCapable = 0, kEct1 = 1, kEct0 = 2, kCongestion = 3 };

struct Packet {
  MacAddress source_mac;
  IpAddress source;
  IpAddress destination;
  uint8_t dscp = 0;
  Ecn ecn = Ecn::kNotCapable;  // of the outermost header: CE set on the outer one is kept (RFC 6040)
  bool srv6 = false;           // came inside an outer IPv6 header
  Entropy entropy{};

  Bth bth;
  // Which of these are filled follows from bth.opcode (and has_timestamp, for time).
  Meth meth;
  Tseth time;
  Reth reth;
  uint32_t immediate = 0;  // as in the packet, i.e. network order kept as an opaque value
  Aeth aeth;
  Sack sack;
  Neth neth;
  Peth peth;
  Erth erth;
  Eeth eeth;

  std::span<const uint8_t> payload;  // without pad

  // Where the ICRC's cover begins and ends: the inner IP header, and the last byte before the ICRC.
  const uint8_t* icrc_begin = nullptr;
  const uint8_t* icrc_end = nullptr;
};

// Structure and lengths only; the ICRC is checked apart, because trimmed packets have none.
[[nodiscard]] DecodeError decode(std::span<const uint8_t> frame, Packet* out);

// Whether the ICRC at packet.icrc_end is that of the packet.
[[nodiscard]] bool icrc_matches(const Packet& packet);

constexpr bool is_write(Opcode op) { return op >= Opcode::kWriteFirst && op <= Opcode::kWriteOnlyImm; }
constexpr bool is_message_end(Opcode op) {
  return op == Opcode::kWriteLast || op == Opcode::kWriteLastImm || op == Opcode::kWriteOnly ||
         op == Opcode::kWriteOnlyImm;
}
constexpr bool is_message_start(Opcode op) {
  return op == Opcode::kWriteFirst || op == Opcode::kWriteOnly || op == Opcode::kWriteOnlyImm;
}
constexpr bool has_immediate(Opcode op) {
  return op == Opcode::kWriteLastImm || op == Opcode::kWriteOnlyImm;
}

}  // namespace mrc
