// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/presence/device_settings.h"

#include "dpdk_io/wire/interface_mtu.h"

namespace mrc::provider {

const DeviceConfig& device_settings() {
  static const auto* const settings = [] {
    auto* config = new DeviceConfig;  // never destroyed: threads may outlive static destructors
    std::string error;
    if (!load_device_config(config, &error)) *config = DeviceConfig{};
    choose_mtu(config);
    return config;
  }();
  return *settings;
}

}  // namespace mrc::provider
