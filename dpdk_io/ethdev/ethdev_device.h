// SPDX-License-Identifier: BSD-2-Clause
// One DPDK ethernet device, as the settings name it, with one or more pairs of queues.
#pragma once

#include <rte_ethdev.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dpdk_io/settings/network_config.h"
#include "libmrc/wire/identifiers.h"

namespace mrc {

class EthdevDevice {
 public:
  struct Config {
    const PortConfig& port;
    uint32_t frame_bytes;  // the longest frame without the Ethernet header: what the MTU must be
    // For the buffers of each pair of queues: as many pairs as pools. What arrives is spread over them by
    // the driver or by the NIC, flow by flow.
    std::vector<rte_mempool*> pools;
  };
  // EAL must run. Null: `error` says why and what to do.
  static std::unique_ptr<EthdevDevice> open(const Config& config, std::string* error);
  ~EthdevDevice();
  EthdevDevice(const EthdevDevice&) = delete;
  EthdevDevice& operator=(const EthdevDevice&) = delete;

  const MacAddress& mac() const { return mac_; }
  bool link_up() const;

  // One thread at a time for each queue.
  uint16_t receive(uint16_t queue, rte_mbuf** frames, uint16_t count) {
    return rte_eth_rx_burst(port_, queue, frames, count);
  }
  uint16_t transmit(uint16_t queue, rte_mbuf** frames, uint16_t count) {
    return rte_eth_tx_burst(port_, queue, frames, count);
  }

 private:
  EthdevDevice() = default;
  bool create(const Config& config, std::string* error);
  bool configure(const Config& config, std::string* error);
  bool set_up_queues(const Config& config, std::string* error);
  void read_mac();

  std::string bus_;
  std::string name_;
  bool created_ = false;
  uint16_t port_ = RTE_MAX_ETHPORTS;
  MacAddress mac_;
};

// The PCI address that EAL must probe; empty: the device is none.
std::string pci_address(const PortConfig& port);

}  // namespace mrc
