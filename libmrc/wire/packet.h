// SPDX-License-Identifier: BSD-2-Clause
// Decodes one Ethernet frame into its MRC, plain RoCEv2 RC or UD parts. Nothing is read past the end of the
// frame, whatever it holds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "libmrc/wire/headers.h"
#include "libmrc/wire/identifiers.h"

namespace mrc {

inline constexpr uint16_t kUdpPort = 4791;
inline constexpr uint16_t kUdpPortSpecPrint = 4971;  // MRC 1.1: printed so in the specification; as good

// Why a frame is not an MRC packet. Every value has a drop counter of its own in the engine.
enum class DecodeError : uint8_t {
  kNone,
  kTruncated,    // shorter than its own headers say
  kNotIp,        // neither IPv4 nor IPv6, or an IP version that does not match
  kBadIpHeader,  // lengths, options or extension headers that are not understood, IPv4 checksum, IPv6
                 // addresses that stand for IPv4
  kFragment,
  kNotUdp,
  kNotRocePort,
  kBadUdpLength,
  kUnknownOpcode,
  kBadVersion,  // BTH TVer
  kBadPad,
  kBadPayload,  // a control packet with payload, a First/Middle packet without, an Only/Last over its length
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
  bool trimmed = false;  // decode_trimmed() filled it: BTH, METH and TSETH alone are there, and only as hints
  Entropy entropy{};

  Bth bth;  // of XRC packets the opcode is that of RC, or of MRC
  bool xrc = false;
  Xeth xeth;  // of XRC requests
  // Which of these are filled follows from bth.opcode (and has_timestamp, for time). What plain RC and UD
  // packets do not carry keeps what it held.
  Meth meth;
  Tseth time;
  Reth reth;
  uint32_t immediate = 0;  // as in the packet, i.e. network order kept as an opaque value
  MemoryKey invalidate_key{};
  AtomicEth atomic;  // of an ATOMIC WRITE: what it writes is swap_or_add, as it lies in memory
  AtomicAckEth atomic_ack;
  Feth feth;  // of a FLUSH, with a RETH
  Deth deth;
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

// Structure and lengths only; the ICRC is checked apart, because trimmed packets have none. `intact`: nothing
// can have changed the frame on its way, so the checksum of an IPv4 header that comes first is not looked at.
[[nodiscard]] DecodeError decode(std::span<const uint8_t> frame, Packet* out, bool intact = false);

// Whether the ICRC at packet.icrc_end is that of the packet.
[[nodiscard]] bool icrc_matches(const Packet& packet);

// MRC 7: which class of traffic the outermost IP header names, to tell trimmed frames from whole ones before
// decoding. False if the frame is not IP.
[[nodiscard]] bool peek_dscp(std::span<const uint8_t> frame, uint8_t* dscp);

// MRC 7: what a switch left of a request. The frame ends anywhere behind METH (and TSETH); IP and UDP lengths
// may be those of before or after the cut. There is no ICRC, so every field is a hint. Only packets that take
// a PSN in the MRC stream are taken; others are kUnknownOpcode.
[[nodiscard]] DecodeError decode_trimmed(std::span<const uint8_t> frame, Packet* out);

// The 40 bytes that a verbs receive of a UD QP shows before the payload: the IPv6 header as received, or 20
// zeros and the IPv4 header as received. The packet was just decoded and its frame is still there.
inline constexpr size_t kGrhBytes = 40;
void write_grh(uint8_t out[kGrhBytes], const Packet& packet);

// What an opcode means. MRC, plain RC and UD number alike in their low five bits, so one cache line knows
// them all.
struct OpcodeTraits {
  enum : uint16_t {
    kSend = 1 << 0,
    kWrite = 1 << 1,
    kReadRequest = 1 << 2,
    kReadResponse = 1 << 3,
    kAtomicRequest = 1 << 4,
    kAtomicAck = 1 << 5,
    kFlush = 1 << 10,
    kRequest = kSend | kWrite | kReadRequest | kReadResponse | kAtomicRequest | kAtomicAck | kFlush,
    kStart = 1 << 6,
    kEnd = 1 << 7,
    kImmediate = 1 << 8,
    kInvalidate = 1 << 9,
    kOnly = kStart | kEnd,
  };
  alignas(64) static constexpr std::array<uint16_t, 32> kOf = {
      kSend | kStart,               // 0x00 SEND First
      kSend,                        // 0x01 SEND Middle
      kSend | kEnd,                 // 0x02 SEND Last
      kSend | kEnd | kImmediate,    // 0x03 SEND Last with Immediate
      kSend | kOnly,                // 0x04 SEND Only
      kSend | kOnly | kImmediate,   // 0x05 SEND Only with Immediate
      kWrite | kStart,              // 0x06 WRITE First
      kWrite,                       // 0x07 WRITE Middle
      kWrite | kEnd,                // 0x08 WRITE Last
      kWrite | kEnd | kImmediate,   // 0x09 WRITE Last with Immediate
      kWrite | kOnly,               // 0x0A WRITE Only
      kWrite | kOnly | kImmediate,  // 0x0B WRITE Only with Immediate
      kReadRequest | kOnly,         // 0x0C READ Request
      kReadResponse | kStart,       // 0x0D READ Response First
      kReadResponse,                // 0x0E READ Response Middle
      kReadResponse | kEnd,         // 0x0F READ Response Last
      kReadResponse | kOnly,        // 0x10 READ Response Only
      0,                            // 0x11 Acknowledge
      kAtomicAck | kOnly,           // 0x12 ATOMIC Acknowledge
      kAtomicRequest | kOnly,       // 0x13 CmpSwap
      kAtomicRequest | kOnly,       // 0x14 FetchAdd
      kAtomicRequest | kOnly,       // 0x15 ATOMIC WRITE
      kSend | kEnd | kInvalidate,   // 0x16 SEND Last with Invalidate
      kSend | kOnly | kInvalidate,  // 0x17 SEND Only with Invalidate
      0,                            // 0x18
      0,                            // 0x19
      kFlush | kOnly,               // 0x1A FLUSH
  };
};

constexpr bool is_mrc(Opcode op) {
  return static_cast<uint8_t>(op) >> 5 == 6;
}
constexpr bool is_plain_rc(Opcode op) {
  return static_cast<uint8_t>(op) >> 5 == 0;
}
constexpr bool is_ud(Opcode op) {
  return static_cast<uint8_t>(op) >> 5 == 3;
}
// IBTA A14: plain XRC numbers its opcodes as RC does, in a range of its own. That of MRC is this project's.
constexpr uint8_t kXrcFamily = 5;
constexpr uint8_t kMrcXrcFamily = 7;
constexpr Opcode to_xrc(Opcode op) {
  const uint8_t family = is_mrc(op) ? kMrcXrcFamily : kXrcFamily;
  return static_cast<Opcode>(family << 5 | (static_cast<uint8_t>(op) & 0x1F));
}

constexpr Opcode to_plain_rc(Opcode op) {
  return static_cast<Opcode>(static_cast<uint8_t>(op) & 0x1F);
}
constexpr Opcode to_mrc(Opcode op) {
  return static_cast<Opcode>(0xC0 | (static_cast<uint8_t>(op) & 0x1F));
}

// Of the low five bits alone, whatever the family.
constexpr uint16_t traits_of(Opcode op) {
  return OpcodeTraits::kOf[static_cast<uint8_t>(op) & 0x1F];
}

// Whether a packet of XRC with this opcode has an XETH.
constexpr bool names_queue(Opcode op) {
  using T = OpcodeTraits;
  return (traits_of(op) & (T::kSend | T::kWrite | T::kReadRequest | T::kAtomicRequest)) != 0;
}

// The kind of a packet of the MRC stream: false for plain RC and UD, which never enter it. Their code asks
// is_send(to_mrc(op)).
constexpr bool is_write(Opcode op) {
  return op >= Opcode::kWriteFirst && op <= Opcode::kWriteOnlyImm;
}
constexpr bool is_send(Opcode op) {
  return is_mrc(op) && (traits_of(op) & OpcodeTraits::kSend) != 0;
}
constexpr bool is_read_response(Opcode op) {
  return op >= Opcode::kReadResponseFirst && op <= Opcode::kReadResponseOnly;
}
constexpr bool is_atomic_request(Opcode op) {
  return op == Opcode::kCompareSwap || op == Opcode::kFetchAdd || op == Opcode::kAtomicWrite;
}
// Takes a PSN: WRITE, SEND, READ request and response, atomics and their acknowledgement, FLUSH.
constexpr bool is_request(Opcode op) {
  return is_mrc(op) && (traits_of(op) & OpcodeTraits::kRequest) != 0;
}

// The form of a packet, in every family. What takes one packet by definition (READ request, atomics) both
// starts and ends its message; a READ response is a message of its own here.
constexpr bool is_message_start(Opcode op) {
  return (traits_of(op) & OpcodeTraits::kStart) != 0;
}
constexpr bool is_message_end(Opcode op) {
  return (traits_of(op) & OpcodeTraits::kEnd) != 0;
}
constexpr bool has_immediate(Opcode op) {
  return (traits_of(op) & OpcodeTraits::kImmediate) != 0;
}
constexpr bool has_invalidate(Opcode op) {
  return (traits_of(op) & OpcodeTraits::kInvalidate) != 0;
}

}  // namespace mrc
