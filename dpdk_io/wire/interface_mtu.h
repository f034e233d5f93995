// SPDX-License-Identifier: BSD-2-Clause
// Packets and their headers must fit through the interfaces of the ports.
#pragma once

#include <cstdint>
#include <string>

#include "dpdk_io/settings/device_config.h"

namespace mrc {

// The MTU that an interface must have for packets with so much payload.
uint32_t needed_interface_mtu(const DeviceConfig& config, uint32_t mtu);

// Where the settings do not say, the largest MTU that fits all interfaces. Those that are not there count for
// nothing: opening the port will complain.
void choose_mtu(DeviceConfig* config);

// An error for an interface with this MTU; 0: it is not there.
std::string describe_bad_interface(const DeviceConfig& config, const PortConfig& port, uint32_t mtu);

}  // namespace mrc
