// SPDX-License-Identifier: BSD-2-Clause
// What EAL must have been started with for the ports of a device.
#pragma once

#include "dpdk_io/ethdev/eal.h"
#include "dpdk_io/settings/device_config.h"

namespace mrc {

// For the ports that this process drives: those that `drives` says.
EalOptions eal_needs_of(const DeviceConfig& config, bool (*drives)(const PortConfig& port));

}  // namespace mrc
