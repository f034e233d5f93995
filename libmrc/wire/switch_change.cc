// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/wire/switch_change.h"

#include "libmrc/wire/bytes.h"
#include "libmrc/wire/ethernet.h"

namespace mrc {
namespace {

enum class Version : uint8_t { kNone, kV4, kV6 };

Version version_of(std::span<const uint8_t> frame) {
  if (frame.size() < kEthernetBytes) return Version::kNone;
  const auto type = load_be<uint16_t>(frame.data() + 12);
  if (type == kEtherTypeIpv4 && frame.size() >= kEthernetBytes + kIpv4Bytes) return Version::kV4;
  if (type == kEtherTypeIpv6 && frame.size() >= kEthernetBytes + kIpv6Bytes) return Version::kV6;
  return Version::kNone;
}

// RFC 1624: a 16-bit word of the header changes, and the checksum with it.
void set_v4_word(uint8_t* ip, size_t at, uint16_t value) {
  const auto before = load_be<uint16_t>(ip + at);
  store_be(ip + at, value);
  uint32_t sum = static_cast<uint16_t>(~load_be<uint16_t>(ip + 10)) + static_cast<uint16_t>(~before) + value;
  sum = (sum & 0xFFFF) + (sum >> 16);
  sum = (sum & 0xFFFF) + (sum >> 16);
  store_be(ip + 10, static_cast<uint16_t>(~sum));
}

}  // namespace

bool read_traffic_class(std::span<const uint8_t> frame, uint8_t* value) {
  const Version version = version_of(frame);
  if (version == Version::kNone) return false;
  const uint8_t* ip = frame.data() + kEthernetBytes;
  *value = version == Version::kV4 ? ip[1] : static_cast<uint8_t>(load_be<uint16_t>(ip) >> 4);
  return true;
}

bool write_traffic_class(std::span<uint8_t> frame, uint8_t value) {
  const Version version = version_of(frame);
  if (version == Version::kNone) return false;
  uint8_t* ip = frame.data() + kEthernetBytes;
  if (version == Version::kV4)
    set_v4_word(ip, 0, static_cast<uint16_t>(ip[0] << 8 | value));
  else
    store_be(ip, static_cast<uint16_t>((load_be<uint16_t>(ip) & 0xF00F) | value << 4));
  return true;
}

bool mark_congestion(std::span<uint8_t> frame) {
  uint8_t before = 0;
  return read_traffic_class(frame, &before) && (before & 3) != 0 && write_traffic_class(frame, before | 3);
}

bool trim_frame(std::span<uint8_t> frame, uint8_t dscp) {
  uint8_t before = 0;
  if (frame.size() <= kTrimmedBytes || !read_traffic_class(frame, &before)) return false;
  uint8_t* ip = frame.data() + kEthernetBytes;
  constexpr size_t kBehindEthernet = kTrimmedBytes - kEthernetBytes;
  if (version_of(frame) == Version::kV4) {
    set_v4_word(ip, 2, static_cast<uint16_t>(kBehindEthernet));
    store_be(ip + kIpv4Bytes + 4, static_cast<uint16_t>(kBehindEthernet - kIpv4Bytes));
  } else {
    constexpr auto kPayload = static_cast<uint16_t>(kBehindEthernet - kIpv6Bytes);
    store_be(ip + 4, kPayload);
    if (ip[6] == kProtocolUdp) store_be(ip + kIpv6Bytes + 4, kPayload);
  }
  return write_traffic_class(frame, static_cast<uint8_t>(dscp << 2 | (before & 3)));
}

}  // namespace mrc
