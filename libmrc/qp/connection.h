// SPDX-License-Identifier: BSD-2-Clause
// Who is connected to whom: addresses, next hops per plane, and the limits agreed on.
#pragma once

#include <array>
#include <cstdint>

#include "libmrc/memory/memory_table.h"
#include "libmrc/path/path_set.h"
#include "libmrc/wire/frame.h"
#include "libmrc/wire/identifiers.h"

namespace mrc {

struct Connection {
  Qpn local_qpn;
  Qpn remote_qpn;
  IpAddress source;
  IpAddress destination;
  uint32_t mtu = 1024;
  uint8_t remote_access = 0;  // AccessRight bits the peer has
  ProtectionDomain domain{};

  PlaneMask resolved = 0;  // planes whose next hop is known
  std::array<NetworkHeader, kPlanesMax> network{};
};

}  // namespace mrc
