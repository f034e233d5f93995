// SPDX-License-Identifier: BSD-2-Clause
// Decoding, from the Ethernet header inwards. Each step checks that what it reads lies within what the step
// before it left over; nothing is allocated, nothing written but *out.
#include "libmrc/wire/packet.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <new>
#include <type_traits>

#include "libmrc/wire/bytes.h"
#include "libmrc/wire/ethernet.h"
#include "libmrc/wire/frame.h"
#include "libmrc/wire/icrc.h"

namespace mrc {
namespace {

constexpr size_t kRoutingBytesMin = 8;

// One IP header, and what its length field leaves behind it.
struct Ip {
  const uint8_t* header;
  const uint8_t* payload;
  size_t payload_bytes;
  uint8_t protocol;
  uint8_t traffic_class;
  bool v4;
};

// The ones' complement sum does not mind byte order, so words are added as they lie in memory.
[[gnu::always_inline]] inline bool ipv4_checksum_holds(const uint8_t* header) {
  const auto word = [header](size_t at) {
    uint32_t value;
    std::memcpy(&value, header + at, sizeof value);
    return uint64_t{value};
  };
  static_assert(kIpv4Bytes == 20);
  uint64_t sum = word(0) + word(4) + word(8) + word(12) + word(16);
  sum = (sum & 0xFFFFFFFF) + (sum >> 32);
  sum = (sum & 0xFFFF) + (sum >> 16);
  sum = (sum & 0xFFFF) + (sum >> 16);
  sum = (sum & 0xFFFF) + (sum >> 16);
  return sum == 0xFFFF;
}

// A trimmed frame (MRC 7) ends before the end that its headers speak of, unless the switch corrected them; a
// whole one must not.
enum class Cut { kWhole, kTrimmed };

template <Cut kCut>
[[gnu::always_inline]] inline DecodeError parse_ipv4(const uint8_t* at, size_t bytes, Ip* ip,
                                                     bool intact = false) {
  if (bytes < kIpv4Bytes) return DecodeError::kTruncated;
  if (at[0] >> 4 != 4) return DecodeError::kNotIp;
  size_t length = load_be<uint16_t>(at + 2);
  if ((at[0] & 0xF) != 5 || length < kIpv4Bytes) return DecodeError::kBadIpHeader;
  if (!intact && !ipv4_checksum_holds(at)) return DecodeError::kBadIpHeader;
  if constexpr (kCut == Cut::kTrimmed) length = std::min(length, bytes);
  if (length > bytes) return DecodeError::kTruncated;
  if ((load_be<uint16_t>(at + 6) & 0x3FFF) != 0)
    return DecodeError::kFragment;  // more fragments, or an offset
  *ip = {at, at + kIpv4Bytes, length - kIpv4Bytes, at[9], at[1], true};
  return DecodeError::kNone;
}

template <Cut kCut>
[[gnu::always_inline]] inline DecodeError parse_ipv6(const uint8_t* at, size_t bytes, Ip* ip) {
  if (bytes < kIpv6Bytes) return DecodeError::kTruncated;
  if (at[0] >> 4 != 6) return DecodeError::kNotIp;
  size_t length = load_be<uint16_t>(at + 4);
  if constexpr (kCut == Cut::kTrimmed) length = std::min(length, bytes - kIpv6Bytes);
  if (length > bytes - kIpv6Bytes) return DecodeError::kTruncated;
  const auto traffic_class = static_cast<uint8_t>(load_be<uint16_t>(at) >> 4);
  *ip = {at, at + kIpv6Bytes, length, at[6], traffic_class, false};
  return DecodeError::kNone;
}

// Steps over a segment routing header (RFC 8754). Its segment list is of no interest at the end of the path.
DecodeError skip_segment_routing(Ip* ip) {
  if (ip->payload_bytes < kRoutingBytesMin) return DecodeError::kTruncated;
  const uint8_t* at = ip->payload;
  const size_t length = kRoutingBytesMin + size_t{8} * at[1];
  if (at[2] != kRoutingTypeSegment) return DecodeError::kBadIpHeader;
  if (length > ip->payload_bytes) return DecodeError::kTruncated;
  // Nothing but an inner packet may follow: the ICRC is defined over UDP right behind its IP header.
  if (at[0] != kProtocolIpv6 && at[0] != kProtocolIpv4) return DecodeError::kBadIpHeader;
  ip->protocol = at[0];
  ip->payload += length;
  ip->payload_bytes -= length;
  return DecodeError::kNone;
}

DecodeError not_udp(const Ip& ip) {
  if (ip.v4) return DecodeError::kNotUdp;
  switch (ip.protocol) {
    case kProtocolFragment:
      return DecodeError::kFragment;
    case kProtocolHopByHop:
    case kProtocolRouting:
    case kProtocolDestination:
      return DecodeError::kBadIpHeader;
    default:
      return DecodeError::kNotUdp;
  }
}

// Replaces an outer header by the inner one. One level only.
template <Cut kCut>
DecodeError decapsulate(Ip* ip, Packet* out) {
  if (ip->protocol == kProtocolRouting) {
    const DecodeError error = skip_segment_routing(ip);
    if (error != DecodeError::kNone) return error;
  }
  if (ip->protocol != kProtocolIpv6 && ip->protocol != kProtocolIpv4) return not_udp(*ip);
  const uint8_t outer_class = ip->traffic_class;
  const DecodeError error = ip->protocol == kProtocolIpv6
                                ? parse_ipv6<kCut>(ip->payload, ip->payload_bytes, ip)
                                : parse_ipv4<kCut>(ip->payload, ip->payload_bytes, ip);
  if (error != DecodeError::kNone) return error;
  // Switches work on the outer header alone: the mark of a trimmed packet (DSCP) and CE are found there. A CE
  // that was set on the inner header before it was encapsulated stays.
  static constexpr uint8_t kCe = 3;
  const uint8_t ecn = (outer_class & 3) == kCe ? kCe : ip->traffic_class & 3;
  ip->traffic_class = static_cast<uint8_t>((outer_class & 0xFC) | ecn);
  out->srv6 = true;
  return DecodeError::kNone;
}

// RFC 4291 2.5.5.2: ::ffff:a.b.c.d stands for an IPv4 address inside a host and never travels. In here it is
// the IPv4 address, and an answer to it would be half of each family.
[[gnu::always_inline]] inline bool is_mapped(const uint8_t* address) {
  return load_be<uint64_t>(address) == 0 && load_be<uint32_t>(address + 8) == 0xFFFF;
}
[[gnu::always_inline]] inline bool addresses_may_travel(const Ip& ip) {
  return ip.v4 || (!is_mapped(ip.header + 8) && !is_mapped(ip.header + 24));
}

template <Cut kCut>
[[gnu::always_inline]] inline DecodeError parse_ip(std::span<const uint8_t> frame, Ip* ip, Packet* out,
                                                   bool intact) {
  if (frame.size() < kEthernetBytes) return DecodeError::kTruncated;
  const uint8_t* at = frame.data() + kEthernetBytes;
  const size_t bytes = frame.size() - kEthernetBytes;
  std::memcpy(out->source_mac.bytes.data(), frame.data() + 6, 6);
  out->srv6 = false;
  const auto type = load_be<uint16_t>(frame.data() + 12);
  DecodeError error = DecodeError::kNotIp;
  if (type == kEtherTypeIpv6) {
    error = parse_ipv6<kCut>(at, bytes, ip);
    if (error == DecodeError::kNone && ip->protocol != kProtocolUdp) error = decapsulate<kCut>(ip, out);
  } else if (type == kEtherTypeIpv4) {
    error = parse_ipv4<kCut>(at, bytes, ip, intact);
  }
  if (error != DecodeError::kNone) return error;
  if (ip->protocol != kProtocolUdp) return not_udp(*ip);
  return addresses_may_travel(*ip) ? DecodeError::kNone : DecodeError::kBadIpHeader;
}

[[gnu::always_inline]] inline void take_addresses(const Ip& ip, uint16_t source_port, Packet* out) {
  EntropyFields entropy{.source_port = source_port, .flow_label = 0};
  if (ip.v4) {
    out->source = out->destination = IpAddress::v4(0, 0, 0, 0);
    std::memcpy(out->source.bytes.data() + 12, ip.header + 12, 4);
    std::memcpy(out->destination.bytes.data() + 12, ip.header + 16, 4);
  } else {
    std::memcpy(out->source.bytes.data(), ip.header + 8, 16);
    std::memcpy(out->destination.bytes.data(), ip.header + 24, 16);
    entropy.flow_label = load_be<uint16_t>(ip.header + 2);  // the low 16 of its 20 bits
  }
  out->entropy = join_entropy(entropy);
  out->dscp = ip.traffic_class >> 2;
  out->ecn = static_cast<Ecn>(ip.traffic_class & 3);
}

// Checks UDP; leaves *bytes as the length of BTH to pad.
DecodeError parse_udp(const Ip& ip, size_t* bytes) {
  if (ip.payload_bytes < kUdpBytes) return DecodeError::kBadUdpLength;
  const auto port = load_be<uint16_t>(ip.payload + 2);
  if (port != kUdpPort && port != kUdpPortSpecPrint) return DecodeError::kNotRocePort;
  if (load_be<uint16_t>(ip.payload + 4) != ip.payload_bytes) return DecodeError::kBadUdpLength;
  if (ip.payload_bytes < kUdpBytes + Bth::kBytes + kIcrcBytes) return DecodeError::kTruncated;
  if (port != kUdpPort && ip.payload[kUdpBytes] >> 6 != 3) return DecodeError::kNotRocePort;  // MRC, also XRC
  *bytes = ip.payload_bytes - kUdpBytes - kIcrcBytes;
  return DecodeError::kNone;
}

// Made in place: an assignment would build a header on the stack and then copy it.
template <typename Header>
[[gnu::always_inline]] inline void take(const uint8_t** at, Header* to) {
  static_assert(std::is_trivially_destructible_v<Header>);
  ::new (static_cast<void*>(to)) Header(Header::load(*at));
  *at += Header::kBytes;
}

void take_immediate(const uint8_t** at, Packet* out) {
  std::memcpy(&out->immediate, *at, ImmDt::kBytes);
  *at += ImmDt::kBytes;
}

void take_invalidate(const uint8_t** at, Packet* out) {
  out->invalidate_key = Ieth::load(*at).key;
  *at += Ieth::kBytes;
}

// METH and TSETH, which every request of the MRC stream begins with.
constexpr size_t stream_header_bytes(const Bth& bth) {
  return Meth::kBytes + (bth.has_timestamp ? Tseth::kBytes : 0);
}

[[gnu::always_inline]] inline void take_stream_headers(const uint8_t** at, Packet* out) {
  take(at, &out->meth);
  if (out->bth.has_timestamp) take(at, &out->time);
}

// The payload is all that is left, but for the pad. MRC 1.1 [P]: whoever reads MRC as having none counts
// zero.
enum class Pad : uint8_t { kAlways, kOrNone };
template <Pad kPad>
[[gnu::always_inline]] inline DecodeError take_payload(const uint8_t* at, size_t padded_bytes, Packet* out) {
  const size_t pad_bytes = out->bth.pad_bytes;
  const bool without = kPad == Pad::kOrNone && pad_bytes == 0;
  if ((padded_bytes % 4 != 0 && !without) || pad_bytes > padded_bytes) return DecodeError::kBadPad;
  const size_t payload_bytes = padded_bytes - pad_bytes;
  if (payload_bytes > kMtuMax) return DecodeError::kBadPayload;
  out->payload = {at, payload_bytes};
  return DecodeError::kNone;
}

// Nothing may be left.
DecodeError expect_no_payload(size_t bytes, Packet* out) {
  if (out->bth.pad_bytes != 0) return DecodeError::kBadPad;
  out->payload = {};
  return bytes == 0 ? DecodeError::kNone : DecodeError::kBadPayload;
}

// A packet that is its whole message carries all of it; any other carries some of it.
bool fits_message(Opcode opcode, size_t payload_bytes, size_t message_bytes) {
  const bool only = is_message_start(opcode) && is_message_end(opcode);
  return only ? payload_bytes == message_bytes : payload_bytes > 0 && payload_bytes <= message_bytes;
}

// Likewise, and with the offset at hand: First begins at 0, Last ends at the end, Middle does neither.
bool fits_message_at(Opcode opcode, uint64_t offset, size_t payload_bytes, size_t message_bytes) {
  if (offset > message_bytes || payload_bytes > message_bytes - offset) return false;
  const bool starts = offset == 0;
  const bool ends = payload_bytes == message_bytes - offset;
  if (payload_bytes == 0 && !(starts && ends)) return false;
  return starts == is_message_start(opcode) && ends == is_message_end(opcode);
}

// In all of these `bytes` is what lies behind BTH, pad included, ICRC not.
DecodeError decode_write(const uint8_t* at, size_t bytes, Packet* out) {
  const Opcode opcode = out->bth.opcode;
  const bool immediate = has_immediate(opcode);
  const size_t header_bytes = stream_header_bytes(out->bth) + Reth::kBytes + (immediate ? ImmDt::kBytes : 0);
  if (bytes < header_bytes) return DecodeError::kTruncated;
  take_stream_headers(&at, out);
  take(&at, &out->reth);
  if (immediate) take_immediate(&at, out);
  const DecodeError error = take_payload<Pad::kOrNone>(at, bytes - header_bytes, out);
  if (error != DecodeError::kNone) return error;
  return fits_message(opcode, out->payload.size(), out->reth.message_bytes) ? DecodeError::kNone
                                                                            : DecodeError::kBadPayload;
}

// SEND and READ response of the extension.
DecodeError decode_placed(const uint8_t* at, size_t bytes, Packet* out) {
  const Opcode opcode = out->bth.opcode;
  const bool immediate = has_immediate(opcode);
  const bool invalidate = has_invalidate(opcode);
  const size_t header_bytes = stream_header_bytes(out->bth) + Reth::kBytes + (immediate ? ImmDt::kBytes : 0) +
                              (invalidate ? Ieth::kBytes : 0);
  if (bytes < header_bytes) return DecodeError::kTruncated;
  take_stream_headers(&at, out);
  take(&at, &out->reth);
  if (immediate) take_immediate(&at, out);
  if (invalidate) take_invalidate(&at, out);
  const DecodeError error = take_payload<Pad::kOrNone>(at, bytes - header_bytes, out);
  if (error != DecodeError::kNone) return error;
  const bool fits = fits_message_at(opcode, out->reth.address, out->payload.size(), out->reth.message_bytes);
  return fits ? DecodeError::kNone : DecodeError::kBadPayload;
}

// READ request, atomics and their acknowledgement: one header behind METH and TSETH.
template <typename Header>
DecodeError decode_single(const uint8_t* at, size_t bytes, Packet* out, Header Packet::*header) {
  const size_t header_bytes = stream_header_bytes(out->bth) + Header::kBytes;
  if (bytes < header_bytes) return DecodeError::kTruncated;
  take_stream_headers(&at, out);
  take(&at, &(out->*header));
  return expect_no_payload(bytes - header_bytes, out);
}

// IBTA A19: what to flush and how, and no data.
DecodeError decode_flush(const uint8_t* at, size_t bytes, Packet* out) {
  if (bytes < Feth::kBytes + Reth::kBytes) return DecodeError::kTruncated;
  take(&at, &out->feth);
  take(&at, &out->reth);
  return expect_no_payload(bytes - Feth::kBytes - Reth::kBytes, out);
}

DecodeError decode_stream_flush(const uint8_t* at, size_t bytes, Packet* out) {
  const size_t header_bytes = stream_header_bytes(out->bth);
  if (bytes < header_bytes) return DecodeError::kTruncated;
  take_stream_headers(&at, out);
  return decode_flush(at, bytes - header_bytes, out);
}

[[gnu::noinline]] DecodeError decode_extension(const uint8_t* at, size_t bytes, Packet* out) {
  const uint16_t traits = traits_of(out->bth.opcode);
  if ((traits & (OpcodeTraits::kSend | OpcodeTraits::kReadResponse)) != 0)
    return decode_placed(at, bytes, out);
  if ((traits & OpcodeTraits::kReadRequest) != 0) return decode_single(at, bytes, out, &Packet::reth);
  if ((traits & OpcodeTraits::kAtomicRequest) != 0) return decode_single(at, bytes, out, &Packet::atomic);
  if ((traits & OpcodeTraits::kAtomicAck) != 0) return decode_single(at, bytes, out, &Packet::atomic_ack);
  if ((traits & OpcodeTraits::kFlush) != 0) return decode_stream_flush(at, bytes, out);
  return DecodeError::kUnknownOpcode;
}

// Which headers follow BTH in plain RC (IBTA 9.2): RETH only where a message or a READ begins, AETH in what
// acknowledges, i.e. in all READ responses but Middle.
struct PlainHeaders {
  bool aeth, reth, atomic, atomic_ack, immediate, invalidate;

  explicit PlainHeaders(Opcode opcode) {
    using T = OpcodeTraits;
    const uint16_t traits = traits_of(opcode);
    atomic_ack = (traits & T::kAtomicAck) != 0;
    aeth = opcode == Opcode::kRcAcknowledge || atomic_ack ||
           ((traits & T::kReadResponse) != 0 && (traits & (T::kStart | T::kEnd)) != 0);
    reth = (traits & T::kReadRequest) != 0 || ((traits & T::kWrite) != 0 && (traits & T::kStart) != 0);
    atomic = (traits & T::kAtomicRequest) != 0;
    immediate = (traits & T::kImmediate) != 0;
    invalidate = (traits & T::kInvalidate) != 0;
  }
  size_t bytes() const {
    return (aeth ? Aeth::kBytes : 0) + (reth ? Reth::kBytes : 0) + (atomic ? AtomicEth::kBytes : 0) +
           (atomic_ack ? AtomicAckEth::kBytes : 0) + (immediate ? ImmDt::kBytes : 0) +
           (invalidate ? Ieth::kBytes : 0);
  }
  void take_all(const uint8_t** at, Packet* out) const {
    if (aeth) take(at, &out->aeth);
    if (reth) take(at, &out->reth);
    if (atomic) take(at, &out->atomic);
    if (atomic_ack) take(at, &out->atomic_ack);
    if (immediate) take_immediate(at, out);
    if (invalidate) take_invalidate(at, out);
  }
};

// IBTA A19: eight bytes behind a RETH. In here it is an atomic like the others.
DecodeError decode_atomic_write(const uint8_t* at, size_t bytes, Packet* out) {
  constexpr size_t kWordBytes = sizeof out->atomic.swap_or_add;
  if (bytes < Reth::kBytes + kWordBytes) return DecodeError::kTruncated;
  Reth reth;
  take(&at, &reth);
  out->bth.opcode = Opcode::kRcAtomicWrite;
  out->atomic = {reth.address, reth.key, 0, 0};
  std::memcpy(&out->atomic.swap_or_add, at, kWordBytes);
  const DecodeError error = expect_no_payload(bytes - Reth::kBytes - kWordBytes, out);
  if (error != DecodeError::kNone) return error;
  return reth.message_bytes == kWordBytes ? DecodeError::kNone : DecodeError::kBadPayload;
}

[[gnu::noinline]] DecodeError decode_plain_rc(const uint8_t* at, size_t bytes, Packet* out) {
  using T = OpcodeTraits;
  if (out->bth.opcode == Opcode::kRcAtomicWriteOnWire) return decode_atomic_write(at, bytes, out);
  if (out->bth.opcode == Opcode::kRcFlushOnWire) {
    out->bth.opcode = Opcode::kRcFlush;
    return decode_flush(at, bytes, out);
  }
  if (out->bth.opcode == Opcode::kRcAtomicWrite || out->bth.opcode == Opcode::kRcFlush)
    return DecodeError::kUnknownOpcode;
  const Opcode opcode = out->bth.opcode;
  const uint16_t traits = traits_of(opcode);
  if (traits == 0 && opcode != Opcode::kRcAcknowledge) return DecodeError::kUnknownOpcode;
  const PlainHeaders headers(opcode);
  if (bytes < headers.bytes()) return DecodeError::kTruncated;
  headers.take_all(&at, out);
  bytes -= headers.bytes();
  if ((traits & (T::kSend | T::kWrite | T::kReadResponse)) == 0) return expect_no_payload(bytes, out);
  const DecodeError error = take_payload<Pad::kAlways>(at, bytes, out);
  if (error != DecodeError::kNone) return error;
  const bool only = (traits & T::kOnly) == T::kOnly;
  const size_t payload_bytes = out->payload.size();
  const bool write_start = (traits & T::kWrite) != 0 && (traits & T::kStart) != 0;
  const bool fits =
      write_start ? fits_message(opcode, payload_bytes, out->reth.message_bytes) : only || payload_bytes > 0;
  return fits ? DecodeError::kNone : DecodeError::kBadPayload;
}

[[gnu::noinline]] DecodeError decode_ud(const uint8_t* at, size_t bytes, Packet* out) {
  const bool immediate = out->bth.opcode == Opcode::kUdSendOnlyImm;
  if (!immediate && out->bth.opcode != Opcode::kUdSendOnly) return DecodeError::kUnknownOpcode;
  const size_t header_bytes = Deth::kBytes + (immediate ? ImmDt::kBytes : 0);
  if (bytes < header_bytes) return DecodeError::kTruncated;
  take(&at, &out->deth);
  if (immediate) take_immediate(&at, out);
  return take_payload<Pad::kAlways>(at, bytes - header_bytes, out);
}

template <typename Header>
DecodeError decode_control(const uint8_t* at, size_t bytes, Packet* out, Header Packet::*header) {
  if (bytes < Header::kBytes) return DecodeError::kTruncated;
  if (out->bth.pad_bytes != 0) return DecodeError::kBadPad;
  if (bytes != Header::kBytes) return DecodeError::kBadPayload;
  take(&at, &(out->*header));
  out->payload = {};
  return DecodeError::kNone;
}

// Leaves the packet as if it were one of RC, or of MRC.
[[gnu::noinline]] DecodeError take_xrc(const uint8_t** at, size_t* bytes, Packet* out) {
  const auto opcode = static_cast<uint8_t>(out->bth.opcode);
  const bool mrc = opcode >> 5 == kMrcXrcFamily;
  const auto low = static_cast<Opcode>(opcode & 0x1F);
  // ATOMIC WRITE and FLUSH are no operations of XRC; what MRC says besides requests it says as ever.
  if (low == Opcode::kRcAtomicWrite || low == Opcode::kRcAtomicWriteOnWire || low == Opcode::kRcFlush ||
      low == Opcode::kRcFlushOnWire || (mrc && !names_queue(low)))
    return DecodeError::kUnknownOpcode;
  out->xrc = true;
  out->bth.opcode = mrc ? to_mrc(low) : low;
  if (!names_queue(low)) return DecodeError::kNone;
  if (*bytes < Xeth::kBytes) return DecodeError::kTruncated;
  take(at, &out->xeth);
  *bytes -= Xeth::kBytes;
  return DecodeError::kNone;
}

// `bytes` is the length of BTH to pad.
DecodeError decode_transport(const uint8_t* at, size_t bytes, Packet* out) {
  if ((at[1] & 0xF) != 0) return DecodeError::kBadVersion;
  take(&at, &out->bth);
  bytes -= Bth::kBytes;
  out->time = {};
  out->xrc = false;
  const unsigned family = static_cast<uint8_t>(out->bth.opcode) >> 5;
  if (family == kXrcFamily || family == kMrcXrcFamily) [[unlikely]]
    if (const DecodeError error = take_xrc(&at, &bytes, out); error != DecodeError::kNone) return error;
  if (is_write(out->bth.opcode)) return decode_write(at, bytes, out);
  switch (out->bth.opcode) {
    case Opcode::kAcknowledge:
      return decode_control(at, bytes, out, &Packet::aeth);
    case Opcode::kSack:
      return decode_control(at, bytes, out, &Packet::sack);
    case Opcode::kNack:
      return decode_control(at, bytes, out, &Packet::neth);
    case Opcode::kProbe:
      return decode_control(at, bytes, out, &Packet::peth);
    case Opcode::kEndpointRequest:
      return decode_control(at, bytes, out, &Packet::erth);
    case Opcode::kEndpointResponse:
      return decode_control(at, bytes, out, &Packet::eeth);
    default:
      if (is_mrc(out->bth.opcode)) return decode_extension(at, bytes, out);
      if (is_plain_rc(out->bth.opcode)) return decode_plain_rc(at, bytes, out);
      if (is_ud(out->bth.opcode)) return decode_ud(at, bytes, out);
      return DecodeError::kUnknownOpcode;
  }
}

// The trimmed counterpart of parse_udp(): the length field may be that of before the cut, and nothing says
// where the ICRC was.
DecodeError parse_trimmed_udp(const Ip& ip) {
  if (ip.payload_bytes < kUdpBytes + Bth::kBytes + Meth::kBytes) return DecodeError::kTruncated;
  const auto port = load_be<uint16_t>(ip.payload + 2);
  if (port != kUdpPort && port != kUdpPortSpecPrint) return DecodeError::kNotRocePort;
  const size_t length = load_be<uint16_t>(ip.payload + 4);
  if (length < kUdpBytes + Bth::kBytes + Meth::kBytes) return DecodeError::kBadUdpLength;
  return is_request(static_cast<Opcode>(ip.payload[kUdpBytes])) ? DecodeError::kNone
                                                                : DecodeError::kUnknownOpcode;
}

}  // namespace

[[gnu::hot]] DecodeError decode(std::span<const uint8_t> frame, Packet* out, bool intact) {
  Ip ip;
  if (const DecodeError error = parse_ip<Cut::kWhole>(frame, &ip, out, intact); error != DecodeError::kNone)
    return error;
  size_t bytes;
  if (const DecodeError error = parse_udp(ip, &bytes); error != DecodeError::kNone) return error;
  take_addresses(ip, load_be<uint16_t>(ip.payload), out);
  const uint8_t* transport = ip.payload + kUdpBytes;
  out->icrc_begin = ip.header;
  out->icrc_end = transport + bytes;
  out->trimmed = false;
  return decode_transport(transport, bytes, out);
}

DecodeError decode_trimmed(std::span<const uint8_t> frame, Packet* out) {
  Ip ip;
  if (const DecodeError error = parse_ip<Cut::kTrimmed>(frame, &ip, out, false); error != DecodeError::kNone)
    return error;
  if (const DecodeError error = parse_trimmed_udp(ip); error != DecodeError::kNone) return error;
  take_addresses(ip, load_be<uint16_t>(ip.payload), out);
  out->payload = {};
  out->icrc_begin = out->icrc_end = nullptr;
  out->trimmed = true;
  out->time = {};
  const uint8_t* at = ip.payload + kUdpBytes;
  if ((at[1] & 0xF) != 0) return DecodeError::kBadVersion;
  take(&at, &out->bth);
  if (ip.payload_bytes < kUdpBytes + Bth::kBytes + stream_header_bytes(out->bth))
    return DecodeError::kTruncated;
  take_stream_headers(&at, out);
  return DecodeError::kNone;
}

bool peek_dscp(std::span<const uint8_t> frame, uint8_t* dscp) {
  if (frame.size() < kEthernetBytes + 2) return false;
  const auto type = load_be<uint16_t>(frame.data() + 12);
  const auto word = load_be<uint16_t>(frame.data() + kEthernetBytes);
  if (type == kEtherTypeIpv6 && word >> 12 == 6) {
    *dscp = word >> 6 & 0x3F;
    return true;
  }
  if (type == kEtherTypeIpv4 && word >> 12 == 4) {
    *dscp = word >> 2 & 0x3F;
    return true;
  }
  return false;
}

void write_grh(uint8_t out[kGrhBytes], const Packet& packet) {
  const uint8_t* header = packet.icrc_begin;
  // Not by a packet: only trimmed ones have none, and they never get to a datagram queue pair.
  assert(header != nullptr);
  if (header[0] >> 4 == 4) {
    std::memset(out, 0, kGrhBytes - kIpv4Bytes);
    std::memcpy(out + kGrhBytes - kIpv4Bytes, header, kIpv4Bytes);
  } else {
    std::memcpy(out, header, kIpv6Bytes);
  }
}

[[gnu::hot]] bool icrc_matches(const Packet& packet) {
  if (packet.trimmed) return false;
  const uint8_t* stored = packet.icrc_end;
  const uint32_t expected = static_cast<uint32_t>(stored[0]) | static_cast<uint32_t>(stored[1]) << 8 |
                            static_cast<uint32_t>(stored[2]) << 16 | static_cast<uint32_t>(stored[3]) << 24;
  const auto covered = static_cast<size_t>(packet.icrc_end - packet.icrc_begin);
  return ~icrc_headers(packet.icrc_begin, covered) == expected;
}

const char* to_string(DecodeError error) {
  switch (error) {
    case DecodeError::kNone:
      return "none";
    case DecodeError::kTruncated:
      return "truncated";
    case DecodeError::kNotIp:
      return "not_ip";
    case DecodeError::kBadIpHeader:
      return "bad_ip_header";
    case DecodeError::kFragment:
      return "fragment";
    case DecodeError::kNotUdp:
      return "not_udp";
    case DecodeError::kNotRocePort:
      return "not_roce_port";
    case DecodeError::kBadUdpLength:
      return "bad_udp_length";
    case DecodeError::kUnknownOpcode:
      return "unknown_opcode";
    case DecodeError::kBadVersion:
      return "bad_version";
    case DecodeError::kBadPad:
      return "bad_pad";
    case DecodeError::kBadPayload:
      return "bad_payload";
    case DecodeError::kCount:
      break;
  }
  return "invalid";
}

}  // namespace mrc
