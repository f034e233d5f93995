// SPDX-License-Identifier: BSD-2-Clause
// The settings file of a host's device, and the list of hosts that all of them share.
#pragma once

#include <cstdint>
#include <string>

#include "examples/lab/topology.h"

namespace mrc::lab {

std::string host_config(const Topology& topology, uint32_t host);
std::string hosts_config(const Topology& topology);

}  // namespace mrc::lab
