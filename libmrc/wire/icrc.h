// SPDX-License-Identifier: BSD-2-Clause
// The invariant CRC of RoCEv2: CRC-32 (Ethernet polynomial) over 8 bytes of 0xFF, the IP and UDP headers with
// the fields that switches change masked to ones, BTH with byte 4 masked, and everything after it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mrc {

// The state behind the eight bytes of ones that stand for the InfiniBand LRH, which RoCEv2 does not have.
inline constexpr uint32_t kIcrcInit = 0xDEBB20E3u;

// BTH byte 4 counts as ones but is sent as zero. The CRC is linear, so instead of masking it the state before
// BTH is changed by the value that becomes 0xFF in the place of that byte: 0xFF, wound back over the four
// bytes before.
inline constexpr uint32_t kIcrcBthMask = [] {
  constexpr uint32_t kPolynomial = 0xEDB88320u;
  uint32_t state = 0xFF;
  for (int bit = 0; bit < 32; ++bit) {
    state = (state >> 31) != 0 ? (state ^ kPolynomial) << 1 | 1 : state << 1;
  }
  return state;
}();

// Running CRC over the masked headers: `ip` points at the inner IP header, `bytes` reaches at least to the
// end of BTH (IPv4: 20 + 8 + 12, IPv6: 40 + 8 + 12) and may include more headers and payload.
uint32_t icrc_headers(const uint8_t* ip, size_t bytes);

// Writes the IP and UDP headers as the ICRC sees them (28 or 48 bytes), for a sender that does so once.
void icrc_mask_network(uint8_t* to, const uint8_t* ip);

}  // namespace mrc
