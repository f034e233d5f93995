// SPDX-License-Identifier: BSD-2-Clause
// The small names that travel in packets: QP numbers, memory keys, entropy, addresses. Each its own type, so
// that none can be passed for another.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

namespace mrc {

class Qpn {
 public:
  static constexpr uint32_t kMask = 0xFFFFFF;
  constexpr Qpn() = default;
  constexpr explicit Qpn(uint32_t value) : value_(value & kMask) {}
  constexpr uint32_t value() const { return value_; }
  friend constexpr bool operator==(Qpn, Qpn) = default;

 private:
  uint32_t value_ = 0;
};

inline constexpr uint32_t kQpnGroupBits = 14;    // QPNs of one program are alike but for these
inline constexpr Qpn kEndpointQpn{2};            // MRC 1.2: reserved for endpoint operations
inline constexpr Qpn kMulticastQpn{Qpn::kMask};  // IBTA 9.2.1: every member of a multicast group

enum class MemoryKey : uint32_t {};

// The 32-bit entropy value (EV) as packets carry and echo it.
enum class Entropy : uint32_t {};

// Index of a network plane; a device has one port per plane.
using Plane = uint8_t;
inline constexpr Plane kPlanesMax = 16;
using PlaneMask = uint32_t;  // a set of them, one bit each

struct MacAddress {
  std::array<uint8_t, 6> bytes{};
  // NOLINTNEXTLINE(modernize-use-nullptr): of the 0 that nobody wrote
  friend auto operator<=>(const MacAddress&, const MacAddress&) = default;
};

// An IP address in its 128-bit form, which is also the GID: IPv4 is ::ffff:a.b.c.d.
struct IpAddress {
  std::array<uint8_t, 16> bytes{};

  static constexpr IpAddress v4(uint8_t a, uint8_t b, uint8_t c, uint8_t d) {
    return IpAddress{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, a, b, c, d}};
  }
  bool is_v4() const {
    static constexpr uint8_t kPrefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
    return std::memcmp(bytes.data(), kPrefix, sizeof kPrefix) == 0;
  }
  const uint8_t* v4_bytes() const { return bytes.data() + 12; }
  bool is_multicast() const { return is_v4() ? bytes[12] >> 4 == 0xE : bytes[0] == 0xFF; }
  // NOLINTNEXTLINE(modernize-use-nullptr): of the 0 that nobody wrote
  friend auto operator<=>(const IpAddress&, const IpAddress&) = default;
  // Every packet is asked whose it is: by words, where the default would call memcmp().
  friend bool operator==(const IpAddress& a, const IpAddress& b) {
    uint64_t left[2];
    uint64_t right[2];
    std::memcpy(left, a.bytes.data(), sizeof left);
    std::memcpy(right, b.bytes.data(), sizeof right);
    return left[0] == right[0] && left[1] == right[1];
  }
};

// The group of those processes of a host that hear whole Ethernet frames of applications. None of the
// application's own: its scope is one interface.
inline constexpr IpAddress kRawFrameListeners{
    {0xFF, 0x01, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x4D, 0x52, 0x43, 0x01}};

// Where frames to a multicast group go: RFC 1112 for IPv4, RFC 2464 for IPv6.
inline MacAddress group_mac(const IpAddress& group) {
  const auto& b = group.bytes;
  if (group.is_v4()) return MacAddress{{0x01, 0x00, 0x5E, static_cast<uint8_t>(b[13] & 0x7F), b[14], b[15]}};
  return MacAddress{{0x33, 0x33, b[12], b[13], b[14], b[15]}};
}

}  // namespace mrc
