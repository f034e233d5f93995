// SPDX-License-Identifier: BSD-2-Clause
// The ICRC's beginning: the masked IP, UDP and BTH headers. The CRC itself is in crc32.cc.
#include "libmrc/wire/icrc.h"

#include <cassert>
#include <cstring>

#include "libmrc/wire/ethernet.h"
#include "libmrc/wire/headers.h"

namespace mrc {
namespace {

constexpr size_t kLeadBytes = 8;  // of ones: they stand for the InfiniBand LRH that RoCEv2 does not have

}  // namespace

uint32_t icrc_headers(const uint8_t* ip, size_t bytes) {
  const bool v4 = (ip[0] >> 4) == 4;
  const size_t ip_bytes = v4 ? kIpv4Bytes : kIpv6Bytes;
  const size_t masked_bytes = ip_bytes + kUdpBytes + Bth::kBytes;
  assert(bytes >= masked_bytes);

  uint8_t masked[kLeadBytes + kIpv6Bytes + kUdpBytes + Bth::kBytes];
  std::memset(masked, 0xFF, kLeadBytes);
  uint8_t* header = masked + kLeadBytes;
  if (v4) {
    std::memcpy(header, ip, kIpv4Bytes + kUdpBytes + Bth::kBytes);
    header[1] = 0xFF;                   // type of service
    header[8] = 0xFF;                   // time to live
    std::memset(header + 10, 0xFF, 2);  // header checksum
  } else {
    std::memcpy(header, ip, kIpv6Bytes + kUdpBytes + Bth::kBytes);
    header[0] |= 0x0F;                 // traffic class
    std::memset(header + 1, 0xFF, 3);  // traffic class and flow label
    header[7] = 0xFF;                  // hop limit
  }
  std::memset(header + ip_bytes + 6, 0xFF, 2);  // UDP checksum
  header[ip_bytes + kUdpBytes + 4] = 0xFF;      // BTH: congestion bits
  const uint32_t crc = crc32_update(kCrcInit, masked, kLeadBytes + masked_bytes);
  return crc32_update(crc, ip + masked_bytes, bytes - masked_bytes);
}

}  // namespace mrc
