// SPDX-License-Identifier: BSD-2-Clause
// The bytes of the rarer transport headers; the others are inline. Reserved fields are written as zero and
// ignored when read.
#include "libmrc/wire/headers.h"

#include <cstring>

#include "libmrc/wire/bytes.h"

namespace mrc {

Xeth Xeth::load(const uint8_t* from) {
  return {load_be<uint32_t>(from) & 0xFFFFFF};
}

void Xeth::store(uint8_t* to) const {
  store_be<uint32_t>(to, queue & 0xFFFFFF);
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

Feth Feth::load(const uint8_t* from) {
  return {.placement = static_cast<uint8_t>(from[3] & 0xF),
          .selectivity = static_cast<uint8_t>(from[3] >> 4 & 3)};
}

void Feth::store(uint8_t* to) const {
  std::memset(to, 0, 3);
  to[3] = static_cast<uint8_t>((selectivity & 3) << 4 | (placement & 0xF));
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

// MRC 1.6 [P]: the operation is in bits 3:2 of byte 1; works about MRC differ here, and some say 5:4. The
// other two are zero in either reading.
Eeth Eeth::load(const uint8_t* from) {
  return {.operation = static_cast<EndpointOperation>((from[1] >> 2 | from[1] >> 4) & 3),
          .vendor_info = from[3],
          .timestamp = load_be<uint16_t>(from + 28),
          .expected_psn = load_be<uint32_t>(from + 32)};
}

void Eeth::store(uint8_t* to) const {
  std::memset(to, 0, kBytes);
  to[1] = static_cast<uint8_t>((static_cast<uint8_t>(operation) & 3) << (operation_high ? 4 : 2));
  to[3] = vendor_info;
  store_be(to + 28, timestamp);
  store_be(to + 32, expected_psn);
}

}  // namespace mrc
