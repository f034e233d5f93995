// SPDX-License-Identifier: BSD-2-Clause
// The station addresses of processes on this host: locally administered, "MR", plane and slot. They never
// appear on a wire.
#pragma once

#include <cstdint>

#include "libmrc/wire/identifiers.h"

namespace mrc {

constexpr bool is_same_host(const uint8_t* mac) {
  return mac[0] == 0x02 && mac[1] == 0x4D && mac[2] == 0x52;
}
constexpr bool is_same_host(const MacAddress& mac) {
  return is_same_host(mac.bytes.data());
}

constexpr MacAddress station_of(uint32_t slot, Plane plane) {
  return MacAddress{{0x02, 0x4D, 0x52, plane, static_cast<uint8_t>(slot >> 8), static_cast<uint8_t>(slot)}};
}
// 0: no station of this host.
constexpr uint32_t slot_of_station(const uint8_t* mac) {
  return is_same_host(mac) ? static_cast<uint32_t>(mac[4]) << 8 | mac[5] : 0;
}

}  // namespace mrc
