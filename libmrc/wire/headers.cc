// SPDX-License-Identifier: BSD-2-Clause
// The bytes of each transport header. Reserved fields are written as zero and ignored when read.
#include "libmrc/wire/headers.h"

#include <cstring>

#include "libmrc/wire/bytes.h"

namespace mrc {

// MRC 1.2: SE and M (bits 7 and 6 of byte 1) are 0 in strict MRC; TVer (bits 3:0) is 0 everywhere, which
// decode() checks. Plain RoCEv2 has none of MRC's bits in byte 8: they are neither taken from it nor sent in
// it.
Bth Bth::load(const uint8_t* from) {
  Bth bth;
  const bool mrc = (from[0] & 0xE0) == 0xC0;
  const uint8_t flags = from[8] & (mrc ? 0xFF : 0x80);
  bth.opcode = static_cast<Opcode>(from[0]);
  bth.pad_bytes = (from[1] >> 4) & 3;
  bth.partition_key = load_be<uint16_t>(from + 2);
  bth.destination = Qpn(load_be24(from + 5));
  bth.ack_request = (flags & 0x80) != 0;
  bth.retransmission = (flags & 0x20) != 0;
  bth.has_timestamp = (flags & 0x10) != 0;
  bth.psn = Psn(load_be24(from + 9));
  bth.solicited = (from[1] & 0x80) != 0;
  bth.migrated = (from[1] & 0x40) != 0;
  return bth;
}

void Bth::store(uint8_t* to) const {
  const bool mrc = (static_cast<uint8_t>(opcode) & 0xE0) == 0xC0;
  const int flags = ack_request << 7 | retransmission << 5 | has_timestamp << 4;
  to[0] = static_cast<uint8_t>(opcode);
  to[1] = static_cast<uint8_t>(solicited << 7 | migrated << 6 | (pad_bytes & 3) << 4);
  store_be(to + 2, partition_key);
  to[4] = 0;
  store_be24(to + 5, destination.value());
  to[8] = static_cast<uint8_t>(flags & (mrc ? 0xFF : 0x80));
  store_be24(to + 9, psn.value());
}

Meth Meth::load(const uint8_t* from) {
  return {.receive_msn = load_be<uint16_t>(from), .msn = load_be<uint16_t>(from + 2)};
}

void Meth::store(uint8_t* to) const {
  store_be(to, receive_msn);
  store_be(to + 2, msn);
}

Tseth Tseth::load(const uint8_t* from) {
  return {.timestamp = load_be<uint16_t>(from), .coarse = (from[2] & 0x80) != 0};
}

void Tseth::store(uint8_t* to) const {
  static constexpr uint8_t kFtype = 1;
  store_be(to, timestamp);
  to[2] = static_cast<uint8_t>(coarse << 7);
  to[3] = kFtype;
}

Reth Reth::load(const uint8_t* from) {
  return {.address = load_be<uint64_t>(from),
          .key = MemoryKey{load_be<uint32_t>(from + 8)},
          .message_bytes = load_be<uint32_t>(from + 12)};
}

void Reth::store(uint8_t* to) const {
  store_be(to, address);
  store_be(to + 8, static_cast<uint32_t>(key));
  store_be(to + 12, message_bytes);
}

Ieth Ieth::load(const uint8_t* from) {
  return {.key = MemoryKey{load_be<uint32_t>(from)}};
}

void Ieth::store(uint8_t* to) const {
  store_be(to, static_cast<uint32_t>(key));
}

AtomicEth AtomicEth::load(const uint8_t* from) {
  return {.address = load_be<uint64_t>(from),
          .key = MemoryKey{load_be<uint32_t>(from + 8)},
          .swap_or_add = load_be<uint64_t>(from + 12),
          .compare = load_be<uint64_t>(from + 20)};
}

void AtomicEth::store(uint8_t* to) const {
  store_be(to, address);
  store_be(to + 8, static_cast<uint32_t>(key));
  store_be(to + 12, swap_or_add);
  store_be(to + 20, compare);
}

AtomicAckEth AtomicAckEth::load(const uint8_t* from) {
  return {.original = load_be<uint64_t>(from)};
}

void AtomicAckEth::store(uint8_t* to) const {
  store_be(to, original);
}

Deth Deth::load(const uint8_t* from) {
  return {.queue_key = load_be<uint32_t>(from), .source = Qpn(load_be24(from + 5))};
}

void Deth::store(uint8_t* to) const {
  store_be(to, queue_key);
  to[4] = 0;
  store_be24(to + 5, source.value());
}

Aeth Aeth::load(const uint8_t* from) {
  return {.syndrome = from[0], .msn = load_be24(from + 1)};
}

void Aeth::store(uint8_t* to) const {
  to[0] = syndrome;
  store_be24(to + 1, msn);
}

// MRC 1.4: SETH in bytes 0-27, CC_STATE in 28-35. Type, next header and CC type (0) stay zero.
Sack Sack::load(const uint8_t* from) {
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

void Sack::store(uint8_t* to) const {
  to[0] = 0;
  to[1] = static_cast<uint8_t>((static_cast<uint8_t>(mark) & 3) << 5 | answers_probe << 1);
  store_be(to + 2, trigger);
  store_be(to + 4, static_cast<uint32_t>(entropy));
  store_be(to + 8, source_qpn_low);
  store_be(to + 10, destination_qpn_low);
  to[12] = 0;
  store_be24(to + 13, cumulative_psn.value());
  to[16] = 0;
  to[17] = mpr;
  store_be(to + 18, static_cast<uint16_t>(bitmap_offset));
  store_be(to + 20, bitmap);
  store_be(to + 28, timestamp);
  store_be(to + 30, static_cast<uint16_t>(out_of_order & 0x7FFF));
  to[32] = static_cast<uint8_t>(restore_window << 7 | (window_penalty & 0x7F));
  store_be24(to + 33, received_units);
}

Neth Neth::load(const uint8_t* from) {
  Neth neth;
  neth.reason = static_cast<NackReason>(from[2]);
  neth.vendor_info = from[3];
  neth.entropy = Entropy{load_be<uint32_t>(from + 4)};
  neth.source_qpn_low = load_be<uint16_t>(from + 8);
  neth.destination_qpn_low = load_be<uint16_t>(from + 10);
  neth.psn = Psn(load_be24(from + 13));
  neth.timestamp = load_be<uint16_t>(from + 18);
  return neth;
}

void Neth::store(uint8_t* to) const {
  static constexpr uint8_t kCcType = 2 << 4;
  store_be<uint16_t>(to, 0);
  to[2] = static_cast<uint8_t>(reason);
  to[3] = vendor_info;
  store_be(to + 4, static_cast<uint32_t>(entropy));
  store_be(to + 8, source_qpn_low);
  store_be(to + 10, destination_qpn_low);
  to[12] = 0;
  store_be24(to + 13, psn.value());
  to[16] = kCcType;
  to[17] = 0;
  store_be(to + 18, timestamp);
}

Peth Peth::load(const uint8_t* from) {
  return {.vendor_info = from[3],
          .probe_id = load_be<uint16_t>(from + 4),
          .source_qpn_low = load_be<uint16_t>(from + 8),
          .destination_qpn_low = load_be<uint16_t>(from + 10),
          .time = Tseth::load(from + 12)};
}

void Peth::store(uint8_t* to) const {
  std::memset(to, 0, 3);
  to[3] = vendor_info;
  store_be(to + 4, probe_id);
  store_be<uint16_t>(to + 6, 0);
  store_be(to + 8, source_qpn_low);
  store_be(to + 10, destination_qpn_low);
  time.store(to + 12);
}

Erth Erth::load(const uint8_t* from) {
  return {.operation = static_cast<EndpointOperation>(from[1] & 3),
          .vendor_info = from[3],
          .port_status_mask = load_be<uint32_t>(from + 4),
          .time = Tseth::load(from + 12)};
}

void Erth::store(uint8_t* to) const {
  std::memset(to, 0, 12);
  to[1] = static_cast<uint8_t>(operation) & 3;
  to[3] = vendor_info;
  store_be(to + 4, port_status_mask);
  time.store(to + 12);
}

// MRC 1.6 [P]: the operation is in bits 3:2 of byte 1; works about MRC differ here.
Eeth Eeth::load(const uint8_t* from) {
  return {.operation = static_cast<EndpointOperation>((from[1] >> 2) & 3),
          .vendor_info = from[3],
          .timestamp = load_be<uint16_t>(from + 28)};
}

void Eeth::store(uint8_t* to) const {
  std::memset(to, 0, kBytes);
  to[1] = static_cast<uint8_t>((static_cast<uint8_t>(operation) & 3) << 2);
  to[3] = vendor_info;
  store_be(to + 28, timestamp);
}

}  // namespace mrc
