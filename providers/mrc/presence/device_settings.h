// SPDX-License-Identifier: BSD-2-Clause
// The settings as far as they show before the device is started: its GIDs and its MTU.
#pragma once

#include "dpdk_io/settings/device_config.h"

namespace mrc::provider {

// Read once in a process. Broken settings count as none here: starting the device will complain.
const DeviceConfig& device_settings();

}  // namespace mrc::provider
