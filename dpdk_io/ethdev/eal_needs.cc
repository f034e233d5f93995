// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/ethdev/eal_needs.h"

#include "dpdk_io/ethdev/ethdev_device.h"
#include "dpdk_io/ethdev/packet_pool.h"

namespace mrc {

EalOptions eal_needs_of(const DeviceConfig& config, bool (PortConfig::*is_driven)() const, uint32_t pools) {
  EalOptions options;
  options.megabytes = kEalMegabytes + pools * PacketPool::megabytes(config.mbufs);
  for (const PortConfig& port : config.network.ports) {
    if (!(port.*is_driven)()) continue;
    if (const std::string address = pci_address(port); !address.empty()) options.pci.push_back(address);
  }
  return options;
}

}  // namespace mrc
