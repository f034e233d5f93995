// SPDX-License-Identifier: BSD-2-Clause
// One path as a profile or a template names it: what an EV profile produces and a path set takes.
#pragma once

#include <cstdint>

#include "libmrc/wire/identifiers.h"

namespace mrc {

// The EV as packets carry it: 4 bits of plane and 10 of uplink within the dynamic port range (MRC 1.7 [P]),
// so that it travels over IPv4 too.
inline constexpr uint32_t kUplinksMax = 1024;
constexpr Entropy make_entropy(Plane plane, uint32_t uplink) {
  return Entropy{0xC000u | static_cast<uint32_t>(plane & 0xF) << 10 | (uplink & (kUplinksMax - 1))};
}

struct EvEntry {
  Entropy entropy{};
  Plane plane = 0;
  bool denied = false;            // by the controller
  bool has_outer = false;         // SRv6: the outer destination is this path's own
  IpAddress outer_destination{};  // uSID list
  bool has_segment = false;       // SRv6: the profile wants a routing header with this one segment
  IpAddress segment{};

  friend bool operator==(const EvEntry&, const EvEntry&) = default;
};

}  // namespace mrc
