// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/ethdev/eal_needs.h"

#include "dpdk_io/ethdev/ethdev_device.h"
#include "dpdk_io/ethdev/packet_pool.h"

namespace mrc {

EalOptions eal_needs_of(const DeviceConfig& config, bool (*drives)(const PortConfig& port)) {
  EalOptions options;
  options.megabytes = kEalMegabytes + PacketPool::megabytes(config.mbufs);
  for (const PortConfig& port : config.network.ports) {
    if (!drives(port)) continue;
    options.drivers.push_back(driver_library(port));
    if (const std::string address = pci_address(port); !address.empty()) options.pci.push_back(address);
  }
  if (!options.pci.empty()) options.drivers.insert(options.drivers.begin(), "librte_bus_pci.so");
  return options;
}

}  // namespace mrc
