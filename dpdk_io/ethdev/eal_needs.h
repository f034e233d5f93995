// SPDX-License-Identifier: BSD-2-Clause
// What EAL must be started with for the DPDK devices of a device's settings.
#pragma once

#include "dpdk_io/ethdev/eal.h"
#include "dpdk_io/settings/device_config.h"

namespace mrc {

// `is_driven`: whether this process drives the port. `pools`: how many pools of packets it will make.
EalOptions eal_needs_of(const DeviceConfig& config, bool (PortConfig::*is_driven)() const,
                        uint32_t pools = 1);

}  // namespace mrc
