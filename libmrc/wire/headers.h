// SPDX-License-Identifier: BSD-2-Clause
// The transport headers of MRC 1.0 in decoded form, each with its wire size and a load/store pair.
// load() reads exactly kBytes, store() writes exactly kBytes; lengths are checked by the caller (packet.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "libmrc/wire/bytes.h"
#include "libmrc/wire/identifiers.h"
#include "libmrc/wire/psn.h"

namespace mrc {

// MRC 1.2: 0xC0 | the IBTA RC opcode. MRC itself has WRITE and the control packets; the rest of RC (SEND,
// READ, atomics) is this project's extension. kRc* and kUd* are plain RoCEv2, for QPs that are switched to
// it.
enum class Opcode : uint8_t {
  kSendFirst = 0xC0,
  kSendMiddle = 0xC1,
  kSendLast = 0xC2,
  kSendLastImm = 0xC3,
  kSendOnly = 0xC4,
  kSendOnlyImm = 0xC5,
  kWriteFirst = 0xC6,
  kWriteMiddle = 0xC7,
  kWriteLast = 0xC8,
  kWriteLastImm = 0xC9,
  kWriteOnly = 0xCA,
  kWriteOnlyImm = 0xCB,
  kReadRequest = 0xCC,
  kReadResponseFirst = 0xCD,
  kReadResponseMiddle = 0xCE,
  kReadResponseLast = 0xCF,
  kReadResponseOnly = 0xD0,
  kAcknowledge = 0xD1,
  kAtomicAcknowledge = 0xD2,
  kCompareSwap = 0xD3,
  kFetchAdd = 0xD4,
  kAtomicWrite = 0xD5,  // IBTA's 0x1D is MRC's NACK
  kSendLastInvalidate = 0xD6,
  kSendOnlyInvalidate = 0xD7,
  kEndpointRequest = 0xD8,
  kEndpointResponse = 0xD9,
  kFlush = 0xDA,  // IBTA's 0x1C is MRC's SACK
  kSack = 0xDC,
  kNack = 0xDD,
  kProbe = 0xDE,

  kRcSendFirst = 0x00,
  kRcSendMiddle = 0x01,
  kRcSendLast = 0x02,
  kRcSendLastImm = 0x03,
  kRcSendOnly = 0x04,
  kRcSendOnlyImm = 0x05,
  kRcWriteFirst = 0x06,
  kRcWriteMiddle = 0x07,
  kRcWriteLast = 0x08,
  kRcWriteLastImm = 0x09,
  kRcWriteOnly = 0x0A,
  kRcWriteOnlyImm = 0x0B,
  kRcReadRequest = 0x0C,
  kRcReadResponseFirst = 0x0D,
  kRcReadResponseMiddle = 0x0E,
  kRcReadResponseLast = 0x0F,
  kRcReadResponseOnly = 0x10,
  kRcAcknowledge = 0x11,
  kRcAtomicAcknowledge = 0x12,
  kRcCompareSwap = 0x13,
  kRcFetchAdd = 0x14,
  kRcAtomicWrite = 0x15,  // in here, as its kin of MRC; on the wire it is the next one
  kRcSendLastInvalidate = 0x16,
  kRcSendOnlyInvalidate = 0x17,
  kRcFlush = 0x1A,  // likewise
  kRcFlushOnWire = 0x1C,
  kRcAtomicWriteOnWire = 0x1D,

  kUdSendOnly = 0x64,
  kUdSendOnlyImm = 0x65,
};

inline constexpr uint16_t kPartitionKeyDefault = 0xFFFF;  // IBTA 10.9: full member of the default partition

struct Bth {
  static constexpr size_t kBytes = 12;
  Opcode opcode{};
  uint8_t pad_bytes = 0;                          // 0..3
  uint16_t partition_key = kPartitionKeyDefault;  // of what is sent: as the frame says
  Qpn destination;
  bool ack_request = false;
  bool retransmission = false;  // MRC only: these two bits are reserved in plain RC and UD, and read as false
  bool has_timestamp = false;
  Psn psn;
  bool solicited = false;  // SE: always false in strict MRC
  bool migrated = false;   // MigReq: true in what RoCEv2 RC senders send, false in MRC

  static Bth load(const uint8_t* from);
  void store(uint8_t* to) const;
};

struct Meth {
  static constexpr size_t kBytes = 4;
  uint16_t receive_msn = 0;  // RQMSN: counts the messages that consume a receive request
  uint16_t msn = 0;

  static Meth load(const uint8_t* from);
  void store(uint8_t* to) const;
};

struct Tseth {
  static constexpr size_t kBytes = 4;
  uint16_t timestamp = 0;
  bool coarse = false;  // tsr: 1.024 us ticks instead of 128 ns

  static Tseth load(const uint8_t* from);
  void store(uint8_t* to) const;
};

struct Reth {
  static constexpr size_t kBytes = 16;
  // Of this packet's payload: it advances by the path MTU from packet to packet. In SEND and READ response
  // packets of the extension it is the payload's offset in the message, and the key is 0, or in the last
  // packet of a SEND what its sender has received (ResponseQueue::done_word).
  uint64_t address = 0;
  MemoryKey key{};
  uint32_t message_bytes = 0;  // of the whole message, the same in every packet

  static Reth load(const uint8_t* from);
  void store(uint8_t* to) const;
};

struct ImmDt {
  static constexpr size_t kBytes = 4;
};

// IBTA: the key that SEND with invalidate takes away.
struct Ieth {
  static constexpr size_t kBytes = 4;
  MemoryKey key{};

  static Ieth load(const uint8_t* from);
  void store(uint8_t* to) const;
};

// IBTA A14: which shared receive queue is meant, right behind BTH.
struct Xeth {
  static constexpr size_t kBytes = 4;
  uint32_t queue = 0;  // 24 bits

  static Xeth load(const uint8_t* from);
  void store(uint8_t* to) const;
};

// IBTA: a compare-and-swap or fetch-and-add of eight bytes.
struct AtomicEth {
  static constexpr size_t kBytes = 28;
  uint64_t address = 0;
  MemoryKey key{};
  uint64_t swap_or_add = 0;
  uint64_t compare = 0;

  static AtomicEth load(const uint8_t* from);
  void store(uint8_t* to) const;
};

struct AtomicAckEth {
  static constexpr size_t kBytes = 8;
  uint64_t original = 0;  // what was at the address before

  static AtomicAckEth load(const uint8_t* from);
  void store(uint8_t* to) const;
};

// IBTA A19: what a FLUSH makes of the data, and of which.
struct Feth {
  static constexpr size_t kBytes = 4;
  static constexpr uint8_t kGlobal = 1 << 0;      // visible to all
  static constexpr uint8_t kPersistent = 1 << 1;  // kept without power
  static constexpr uint8_t kRange = 0;
  static constexpr uint8_t kRegion = 1;  // all of it, whatever the RETH says
  uint8_t placement = 0;                 // 4 bits
  uint8_t selectivity = kRange;          // 2 bits

  static Feth load(const uint8_t* from);
  void store(uint8_t* to) const;
};

// IBTA: who sends a datagram, and by what right.
struct Deth {
  static constexpr size_t kBytes = 8;
  uint32_t queue_key = 0;
  Qpn source;

  static Deth load(const uint8_t* from);
  void store(uint8_t* to) const;
};

// IBTA AETH, syndrome split into its kinds.
struct Aeth {
  static constexpr size_t kBytes = 4;
  static constexpr uint8_t kAck = 0x1F;     // MRC 1.6: the credit field is always 0x1F
  static constexpr uint8_t kRnrNak = 0x20;  // | the 5-bit timer code; extension and plain RC only
  static constexpr uint8_t kNakSequenceError = 0x60;
  static constexpr uint8_t kNakInvalidRequest = 0x61;
  static constexpr uint8_t kNakRemoteAccess = 0x62;
  static constexpr uint8_t kNakRemoteOperation = 0x63;
  uint8_t syndrome = kAck;
  uint32_t msn = 0;  // 24 bits

  bool is_ack() const { return (syndrome & 0x60) == 0; }
  bool is_nak() const { return (syndrome & 0x60) == 0x60; }
  bool is_rnr_nak() const { return (syndrome & 0x60) == kRnrNak; }
  uint8_t rnr_timer() const { return syndrome & 0x1F; }  // IBTA table of 32 delays
  static Aeth load(const uint8_t* from);
  void store(uint8_t* to) const;
};

// MRC 1.4, SETH.m: what the responder thinks of the path the triggering packet came by.
enum class PathMark : uint8_t { kNone = 0, kSkipOnce = 1, kAlwaysSkip = 2 };

// SETH (28 bytes) and the CC_STATE (8 bytes) that always follows it.
struct Sack {
  static constexpr size_t kBytes = 36;
  PathMark mark = PathMark::kNone;
  bool answers_probe = false;  // pr: trigger_offset is the probe id
  uint16_t trigger = 0;        // signed distance of the triggering PSN from cumulative_psn, or the probe id
  Entropy entropy{};           // of the triggering packet
  uint16_t source_qpn_low = 0;
  uint16_t destination_qpn_low = 0;
  Psn cumulative_psn;         // everything up to and including it was received
  uint8_t mpr = 0;            // units of 128 PSNs; 0 = dynamic MPR is off
  int16_t bitmap_offset = 0;  // bitmap base = cumulative_psn + bitmap_offset
  uint64_t bitmap = 0;        // bit i (LSB first) = base + i received
  uint16_t timestamp = 0;     // reflected TSETH, 0 if none
  uint16_t out_of_order = 0;  // packets held above cumulative_psn (15 bits)
  bool restore_window = false;
  uint8_t window_penalty = 0;   // 0..127
  uint32_t received_units = 0;  // bytes received / 256, rounded up, mod 2^24

  static Sack load(const uint8_t* from);
  void store(uint8_t* to) const;
};

enum class NackReason : uint8_t {
  kTrimmed = 0x01,
  kTrimmedLastHop = 0x02,
  kNoBitmap = 0x06,
  kNoPacketBuffer = 0x07,
  kNoResource = 0x0A,
  kPsnOutOfWindow = 0x0B,
  kUnexpectedEvent = 0x19,
};

struct Neth {
  static constexpr size_t kBytes = 20;
  NackReason reason{};
  uint8_t vendor_info = 0;
  Entropy entropy{};
  uint16_t source_qpn_low = 0;
  uint16_t destination_qpn_low = 0;
  Psn psn;
  uint16_t timestamp = 0;

  static Neth load(const uint8_t* from);
  void store(uint8_t* to) const;
};

struct Peth {
  static constexpr size_t kBytes = 16;
  uint8_t vendor_info = 0;
  uint16_t probe_id = 0;
  uint16_t source_qpn_low = 0;
  uint16_t destination_qpn_low = 0;
  Tseth time;

  static Peth load(const uint8_t* from);
  void store(uint8_t* to) const;
};

// MRC defines 0 and 1; 2 is this project's vendor operation by which two peers learn what the other can do.
enum class EndpointOperation : uint8_t { kPortStatusUpdate = 0, kEvProbe = 1, kCapabilities = 2 };

struct Erth {
  static constexpr size_t kBytes = 16;
  EndpointOperation operation{};
  uint8_t vendor_info = 0;
  uint32_t port_status_mask = 0;  // bit = 1: usable. kCapabilities: the QPN of the peer's queue pair
  Tseth time;

  static Erth load(const uint8_t* from);
  void store(uint8_t* to) const;
};

struct Eeth {
  static constexpr size_t kBytes = 36;
  EndpointOperation operation{};
  uint8_t vendor_info = 0;      // byte 3, as in the request
  uint16_t timestamp = 0;       // reflected
  uint32_t expected_psn = 0;    // kCapabilities, in bytes 32 to 35, which MRC reserves
  bool operation_high = false;  // the operation is stored in bits 5:4 instead of 3:2

  static Eeth load(const uint8_t* from);
  void store(uint8_t* to) const;
};

// The headers of the data path are inline, and stored by whole words: the ICRC reads them right behind, and a
// word that lies in several small stores would have to wait for them.

// MRC 1.2: SE and M (bits 7 and 6 of byte 1) are 0 in strict MRC; TVer (bits 3:0) is 0 everywhere, which
// decode() checks. Plain RoCEv2 has none of MRC's bits in byte 8: they are neither taken from it nor sent in
// it.
inline Bth Bth::load(const uint8_t* from) {
  const auto first = load_be<uint64_t>(from);
  const auto second = load_be<uint32_t>(from + 8);
  const bool mrc = first >> 62 == 3;  // also of XRC
  const uint32_t flags = second >> 24 & (mrc ? 0xB0 : 0x80);
  Bth bth;
  bth.opcode = static_cast<Opcode>(first >> 56);
  bth.pad_bytes = first >> 52 & 3;
  bth.partition_key = static_cast<uint16_t>(first >> 32);
  bth.destination = Qpn(static_cast<uint32_t>(first));
  bth.ack_request = (flags & 0x80) != 0;
  bth.retransmission = (flags & 0x20) != 0;
  bth.has_timestamp = (flags & 0x10) != 0;
  bth.psn = Psn(second);
  bth.solicited = (first >> 55 & 1) != 0;
  bth.migrated = (first >> 54 & 1) != 0;
  return bth;
}

inline void Bth::store(uint8_t* to) const {
  const auto code = static_cast<uint8_t>(opcode);
  const bool mrc = code >> 6 == 3;
  const auto byte1 = static_cast<uint8_t>(solicited << 7 | migrated << 6 | (pad_bytes & 3) << 4);
  const uint32_t flags =
      (ack_request << 7 | retransmission << 5 | has_timestamp << 4) & (mrc ? 0xB0u : 0x80u);
  store_be(
      to, uint64_t{code} << 56 | uint64_t{byte1} << 48 | uint64_t{partition_key} << 32 | destination.value());
  store_be(to + 8, flags << 24 | psn.value());
}

inline Meth Meth::load(const uint8_t* from) {
  return {.receive_msn = load_be<uint16_t>(from), .msn = load_be<uint16_t>(from + 2)};
}

inline void Meth::store(uint8_t* to) const {
  store_be(to, static_cast<uint32_t>(receive_msn) << 16 | msn);
}

inline Tseth Tseth::load(const uint8_t* from) {
  return {.timestamp = load_be<uint16_t>(from), .coarse = (from[2] & 0x80) != 0};
}

inline void Tseth::store(uint8_t* to) const {
  static constexpr uint32_t kFtype = 1;
  store_be(to, static_cast<uint32_t>(timestamp) << 16 | static_cast<uint32_t>(coarse) << 15 | kFtype);
}

inline Reth Reth::load(const uint8_t* from) {
  return {.address = load_be<uint64_t>(from),
          .key = MemoryKey{load_be<uint32_t>(from + 8)},
          .message_bytes = load_be<uint32_t>(from + 12)};
}

inline void Reth::store(uint8_t* to) const {
  store_be(to, address);
  store_be(to + 8, static_cast<uint64_t>(key) << 32 | message_bytes);
}

// MRC 1.4: SETH in bytes 0-27, CC_STATE in 28-35. Type, next header and CC type (0) stay zero.
inline Sack Sack::load(const uint8_t* from) {
  Sack sack;
  sack.mark = static_cast<PathMark>((from[1] >> 5) & 3);
  sack.answers_probe = (from[1] & 0x02) != 0;
  sack.trigger = load_be<uint16_t>(from + 2);
  sack.entropy = Entropy{load_be<uint32_t>(from + 4)};
  sack.source_qpn_low = load_be<uint16_t>(from + 8);
  sack.destination_qpn_low = load_be<uint16_t>(from + 10);
  sack.cumulative_psn = Psn(load_be24(from + 13));
  sack.mpr = from[17];
  sack.bitmap_offset = static_cast<int16_t>(load_be<uint16_t>(from + 18));
  sack.bitmap = load_be<uint64_t>(from + 20);
  sack.timestamp = load_be<uint16_t>(from + 28);
  sack.out_of_order = load_be<uint16_t>(from + 30) & 0x7FFF;
  sack.restore_window = (from[32] & 0x80) != 0;
  sack.window_penalty = from[32] & 0x7F;
  sack.received_units = load_be24(from + 33);
  return sack;
}

inline void Sack::store(uint8_t* to) const {
  const auto flags = static_cast<uint8_t>((static_cast<uint8_t>(mark) & 3) << 5 | answers_probe << 1);
  const auto window = static_cast<uint8_t>(restore_window << 7 | (window_penalty & 0x7F));
  const auto offset = static_cast<uint16_t>(bitmap_offset);
  store_be(to, uint64_t{flags} << 48 | uint64_t{trigger} << 32 | static_cast<uint32_t>(entropy));
  store_be(to + 8,
           uint64_t{source_qpn_low} << 48 | uint64_t{destination_qpn_low} << 32 | cumulative_psn.value());
  store_be(to + 16, uint64_t{mpr} << 48 | uint64_t{offset} << 32 | bitmap >> 32);
  store_be(to + 24, (bitmap & 0xFFFFFFFF) << 32 | uint64_t{timestamp} << 16 | (out_of_order & 0x7FFFu));
  store_be(to + 32, static_cast<uint32_t>(window) << 24 | (received_units & 0xFFFFFF));
}

}  // namespace mrc
