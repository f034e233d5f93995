// SPDX-License-Identifier: BSD-2-Clause
// The settings as far as they show before the device is started: its GIDs and its MTU.
#pragma once

#include <string_view>
#include <vector>

#include "dpdk_io/settings/device_config.h"

namespace mrc::provider {

// Of all devices; there is at least one. Read once in a process. Broken settings count as none here: starting
// the device will complain.
const std::vector<DeviceConfig>& all_device_settings();
// Of the device with this name, else of the first.
const DeviceConfig& device_settings(std::string_view name = {});

}  // namespace mrc::provider
