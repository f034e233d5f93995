// SPDX-License-Identifier: BSD-2-Clause
// The ICRC's beginning: the masked IP, UDP and BTH headers. The CRC itself is in crc32.cc.
#include "libmrc/wire/icrc.h"

#include <array>
#include <cassert>
#include <cstring>

#include "libmrc/wire/crc32.h"
#include "libmrc/wire/ethernet.h"
#include "libmrc/wire/headers.h"

namespace mrc {
namespace {

// What switches change counts as ones: IP and UDP fields as RoCEv2 says, and the congestion bits of BTH.
constexpr size_t kIpv4Covered = kIpv4Bytes + kUdpBytes + Bth::kBytes;
constexpr size_t kIpv6Covered = kIpv6Bytes + kUdpBytes + Bth::kBytes;

constexpr auto kIpv4Mask = [] {
  std::array<uint8_t, kIpv4Covered> mask{};
  mask[1] = 0xFF;                                      // type of service
  mask[8] = 0xFF;                                      // time to live
  mask[10] = mask[11] = 0xFF;                          // header checksum
  mask[kIpv4Bytes + 6] = mask[kIpv4Bytes + 7] = 0xFF;  // UDP checksum
  mask[kIpv4Bytes + kUdpBytes + 4] = 0xFF;             // BTH: congestion bits
  return mask;
}();

constexpr auto kIpv6Mask = [] {
  std::array<uint8_t, kIpv6Covered> mask{};
  mask[0] = 0x0F;                                      // traffic class
  mask[1] = mask[2] = mask[3] = 0xFF;                  // traffic class and flow label
  mask[7] = 0xFF;                                      // hop limit
  mask[kIpv6Bytes + 6] = mask[kIpv6Bytes + 7] = 0xFF;  // UDP checksum
  mask[kIpv6Bytes + kUdpBytes + 4] = 0xFF;             // BTH: congestion bits
  return mask;
}();

// By words and not by bytes: the CRC reads them right behind, and a word of several small stores would have
// to wait.
template <size_t kBytes>
void copy_masked(uint8_t* to, const uint8_t* ip, const uint8_t* mask) {
  static_assert(kBytes % 4 == 0);
  const auto copy = [=]<typename Word>(size_t at, Word word) {
    Word ones;
    std::memcpy(&word, ip + at, sizeof word);
    std::memcpy(&ones, mask + at, sizeof ones);
    word |= ones;
    std::memcpy(to + at, &word, sizeof word);
  };
  for (size_t at = 0; at + 8 <= kBytes; at += 8) copy(at, uint64_t{});
  if constexpr (kBytes % 8 == 4) copy(kBytes - 4, uint32_t{});
}

template <size_t kBytes>
uint32_t masked_crc(const uint8_t* ip, const std::array<uint8_t, kBytes>& mask) {
  uint8_t masked[kBytes];
  copy_masked<kBytes>(masked, ip, mask.data());
  return crc32_update(kIcrcInit, masked, kBytes);
}

bool is_ipv4(const uint8_t* ip) {
  return ip[0] >> 4 == 4;
}

}  // namespace

void icrc_mask_network(uint8_t* to, const uint8_t* ip) {
  if (is_ipv4(ip)) {
    copy_masked<kIpv4Bytes + kUdpBytes>(to, ip, kIpv4Mask.data());
  } else {
    copy_masked<kIpv6Bytes + kUdpBytes>(to, ip, kIpv6Mask.data());
  }
}

uint32_t icrc_headers(const uint8_t* ip, size_t bytes) {
  const bool v4 = is_ipv4(ip);
  const size_t masked_bytes = v4 ? kIpv4Covered : kIpv6Covered;
  // Not by a packet: the decoder lets nothing through that is shorter than BTH.
  assert(bytes >= masked_bytes);
  const uint32_t crc = v4 ? masked_crc(ip, kIpv4Mask) : masked_crc(ip, kIpv6Mask);
  return crc32_update(crc, ip + masked_bytes, bytes - masked_bytes);
}

}  // namespace mrc
