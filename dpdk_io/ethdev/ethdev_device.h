// SPDX-License-Identifier: BSD-2-Clause
// One DPDK ethernet device with one queue each way: net_af_packet on an interface of the kernel, or whatever
// the settings name.
#pragma once

#include <rte_ethdev.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dpdk_io/settings/network_config.h"
#include "libmrc/wire/identifiers.h"

namespace mrc {

class EthdevDevice {
 public:
  struct Config {
    const PortConfig& port;
    std::optional<uint32_t> slot;  // of this process: whose frames it wants; none: those of all
    uint32_t frame_bytes;          // the longest frame without the Ethernet header: what the MTU must be
    rte_mempool* pool;
  };
  // EAL must run with the driver loaded. Null: `error` says why and what to do.
  static std::unique_ptr<EthdevDevice> open(const Config& config, std::string* error);
  ~EthdevDevice();
  EthdevDevice(const EthdevDevice&) = delete;
  EthdevDevice& operator=(const EthdevDevice&) = delete;

  const MacAddress& mac() const { return mac_; }
  // From now on all frames come, or again only those that are this process's. Of a driver that has no filter
  // all come anyway.
  void hear_all(bool wanted);
  bool link_up() const;  // as the driver says; af_packet's always says yes

  uint16_t receive(rte_mbuf** frames, uint16_t count) { return rte_eth_rx_burst(port_, 0, frames, count); }
  uint16_t transmit(rte_mbuf** frames, uint16_t count) { return rte_eth_tx_burst(port_, 0, frames, count); }

 private:
  EthdevDevice() = default;
  bool create(const Config& config, std::string* error);
  bool configure(const Config& config, std::string* error);
  void read_mac();

  std::string bus_;
  std::string name_;
  bool created_ = false;
  uint16_t port_ = RTE_MAX_ETHPORTS;
  MacAddress mac_;
  std::optional<uint32_t> slot_;
  std::vector<int> sockets_;  // of net_af_packet, whose they are
};

// The plug-in with a driver, as start_eal() wants it: "net_pcap" -> "librte_net_pcap.so".
std::string driver_library(const PortConfig& port);
// The PCI address that EAL must probe; empty: the device is none.
std::string pci_address(const PortConfig& port);

}  // namespace mrc
