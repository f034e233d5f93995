// SPDX-License-Identifier: BSD-2-Clause
// The transport headers of MRC 1.0 in decoded form, each with its wire size and a load/store pair.
// load() reads exactly kBytes, store() writes exactly kBytes; lengths are checked by the caller (packet.h).
#pragma once

#include <cstddef>
#include <cstdint>

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
  kSendLastInvalidate = 0xD6,
  kSendOnlyInvalidate = 0xD7,
  kEndpointRequest = 0xD8,
  kEndpointResponse = 0xD9,
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
  kRcSendLastInvalidate = 0x16,
  kRcSendOnlyInvalidate = 0x17,

  kUdSendOnly = 0x64,
  kUdSendOnlyImm = 0x65,
};

struct Bth {
  static constexpr size_t kBytes = 12;
  Opcode opcode{};
  uint8_t pad_bytes = 0;  // 0..3
  uint16_t partition_key = 0xFFFF;
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
  // packets of the extension it is the payload's offset in the message, and the key is 0.
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
  uint32_t port_status_mask = 0;  // bit = 1: usable
  Tseth time;

  static Erth load(const uint8_t* from);
  void store(uint8_t* to) const;
};

struct Eeth {
  static constexpr size_t kBytes = 36;
  EndpointOperation operation{};
  uint8_t vendor_info = 0;  // byte 3, as in the request
  uint16_t timestamp = 0;   // reflected

  static Eeth load(const uint8_t* from);
  void store(uint8_t* to) const;
};

}  // namespace mrc
