// SPDX-License-Identifier: BSD-2-Clause
// The settings file of a host's device.
#pragma once

#include <cstdint>
#include <string>

#include "examples/lab/topology.h"

namespace mrc::lab {

std::string host_config(const Topology& topology, uint32_t host);

}  // namespace mrc::lab
