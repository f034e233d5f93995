// SPDX-License-Identifier: BSD-2-Clause
// The settings file of a host's device, and the list of hosts that all of them share.
#pragma once

#include <cstdint>
#include <string>

#include "examples/lab/topology.h"

namespace mrc::lab {

// `names`: the file of fabric_names().
std::string host_config(const Topology& topology, uint32_t host, const std::string& names);
std::string hosts_config(const Topology& topology);
// What the uSIDs of the fabric are called.
std::string fabric_names(const Topology& topology);

}  // namespace mrc::lab
