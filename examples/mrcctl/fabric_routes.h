// SPDX-License-Identifier: BSD-2-Clause
// Routes through an SRv6 fabric that begin and end at this host: to its own leaf and back, to each spine and
// back, over each spine to each other leaf of its pod and back, and with three tiers to each core and back.
// No switch has to answer: all just forward.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dpdk_io/settings/device_config.h"
#include "libmrc/wire/identifiers.h"

namespace mrc {

struct FabricRoute {
  Plane plane = 0;
  std::vector<uint16_t> nodes;  // uSIDs, from this host to this host
};

// Where this host is in its fabric, which has such an address. Nothing: the settings do not say it.
std::optional<FabricPlace> own_place(const NetworkConfig& network, const IpAddress& own);
// Plane by plane. Leaves are those of the hosts that the settings name, of other pods none: a route there and
// back is longer than an address. None: the settings have no [srv6].
std::vector<FabricRoute> routes_from_here(const NetworkConfig& network, const FabricPlace& own);
// The outer destination that leads there.
IpAddress address_of(uint32_t block, const FabricRoute& route);

}  // namespace mrc
