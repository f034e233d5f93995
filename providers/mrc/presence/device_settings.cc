// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/presence/device_settings.h"

#include "dpdk_io/wire/interface_mtu.h"

namespace mrc::provider {

const std::vector<DeviceConfig>& all_device_settings() {
  static const auto* const settings = [] {
    auto* devices = new std::vector<DeviceConfig>;  // never destroyed: threads may outlive static destructors
    std::string error;
    if (!load_device_configs(devices, &error)) devices->assign(1, DeviceConfig{});
    for (DeviceConfig& device : *devices) choose_mtu(&device);
    return devices;
  }();
  return *settings;
}

const DeviceConfig& device_settings(std::string_view name) {
  for (const DeviceConfig& device : all_device_settings())
    if (device.name == name) return device;
  return all_device_settings().front();
}

}  // namespace mrc::provider
