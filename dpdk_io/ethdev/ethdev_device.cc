// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/ethdev/ethdev_device.h"

#include <rte_dev.h>
#include <rte_errno.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "dpdk_io/ethdev/new_descriptors.h"
#include "dpdk_io/host/fork_guard.h"
#include "dpdk_io/host/loaded_library.h"

namespace mrc {
namespace {

constexpr uint16_t kDescriptors = 512;

// The plug-in with a driver: "net_pcap" -> "librte_net_pcap.so".
std::string driver_library(const PortConfig& port) {
  return "librte_" + port.driver + ".so";
}

bool is_vdev(const PortConfig& port) {
  return port.device.starts_with("net_") || port.device.starts_with("eth_");
}

}  // namespace

std::string pci_address(const PortConfig& port) {
  return is_vdev(port) ? std::string() : port.device;
}

std::unique_ptr<EthdevDevice> EthdevDevice::open(const Config& config, std::string* error) {
  std::unique_ptr<EthdevDevice> device(new EthdevDevice);
  std::string why;
  const NewDescriptors descriptors;
  const bool made = device->create(config, &why) && device->configure(config, &why);
  descriptors.close_on_exec();
  if (made) return device;
  const PortConfig& port = config.port;
  *error =
      "mrc: " + port.where + "port of plane " + std::to_string(port.plane) + " (" + port.device + "): " + why;
  return nullptr;
}

bool EthdevDevice::create(const Config& config, std::string* error) {
  const PortConfig& port = config.port;
  if (find_loaded_library(driver_library(port).c_str()) == nullptr) {
    *error = "DPDK's plug-in " + driver_library(port) +
             " is not there; install the package with it (Debian: libdpdk-dev brings all)";
    return false;
  }
  std::string arguments;
  bus_ = is_vdev(port) ? "vdev" : "pci";
  const size_t comma = port.device.find(',');
  name_ = port.device.substr(0, comma);
  if (comma != std::string::npos) arguments = port.device.substr(comma + 1);
  if (rte_eth_dev_count_total() >= RTE_MAX_ETHPORTS) {
    *error = "all " + std::to_string(RTE_MAX_ETHPORTS) + " ports that DPDK has are in use";
    return false;
  }
  // A PCI device has been probed when EAL started.
  if (rte_eth_dev_get_port_by_name(name_.c_str(), &port_) == 0) return true;
  const int result = rte_eal_hotplug_add(bus_.c_str(), name_.c_str(), arguments.c_str());
  created_ = result == 0;
  if (created_ && rte_eth_dev_get_port_by_name(name_.c_str(), &port_) == 0) return true;
  *error = "DPDK made no device \"" + name_ + "," + arguments + "\" (" + std::strerror(std::abs(result)) +
           "); set MRC_DEBUG=1 to see DPDK's own messages";
  return false;
}

bool EthdevDevice::set_up_queues(const Config& config, std::string* error) {
  const auto queues = static_cast<uint16_t>(config.pools.size());
  rte_eth_dev_info info{};
  int result = rte_eth_dev_info_get(port_, &info);
  if (result == 0 && (info.max_rx_queues < queues || info.max_tx_queues < queues)) {
    *error = "it has " + std::to_string(std::min(info.max_rx_queues, info.max_tx_queues)) +
             " pairs of queues, and " + std::to_string(queues) +
             " threads want one each; set a smaller \"threads\" in [mrcd], or give the device more";
    return false;
  }
  rte_eth_conf configuration{};
  // Drivers without RSS spread flows in a way of their own.
  if (queues > 1 && info.flow_type_rss_offloads != 0) {
    configuration.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
    configuration.rx_adv_conf.rss_conf.rss_hf =
        info.flow_type_rss_offloads & (RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP);
  }
  if (result == 0) result = rte_eth_dev_configure(port_, queues, queues, &configuration);
  for (uint16_t queue = 0; queue < queues && result == 0; ++queue) {
    result = rte_eth_rx_queue_setup(port_, queue, kDescriptors, SOCKET_ID_ANY, nullptr, config.pools[queue]);
    if (result == 0) result = rte_eth_tx_queue_setup(port_, queue, kDescriptors, SOCKET_ID_ANY, nullptr);
  }
  if (result == 0) return true;
  *error = std::string("DPDK refuses its queues (") + rte_strerror(-result) +
           "); set MRC_DEBUG=1 to see DPDK's own messages";
  return false;
}

bool EthdevDevice::configure(const Config& config, std::string* error) {
  if (!set_up_queues(config, error)) return false;
  // Where the kernel has the interface, its MTU is the kernel's affair and is checked there.
  uint16_t mtu = 0;
  if (config.port.interface.empty() && rte_eth_dev_get_mtu(port_, &mtu) == 0 && mtu < config.frame_bytes &&
      rte_eth_dev_set_mtu(port_, static_cast<uint16_t>(config.frame_bytes)) != 0) {
    *error = "its MTU is " + std::to_string(mtu) + " and cannot be raised to the " +
             std::to_string(config.frame_bytes) + " that are needed; set a smaller \"mtu\" in [device]";
    return false;
  }
  read_mac();
  if (rte_eth_dev_start(port_) == 0) {
    // Where the kernel has the interface, it makes it hear multicast groups. Some drivers cannot.
    if (config.port.interface.empty()) rte_eth_allmulticast_enable(port_);
    return true;
  }
  *error = std::string("it does not start (") + rte_strerror(rte_errno) + ")";
  return false;
}

EthdevDevice::~EthdevDevice() {
  if (in_forked_child() || port_ == RTE_MAX_ETHPORTS) return;
  rte_eth_dev_stop(port_);
  if (created_)
    rte_eal_hotplug_remove(bus_.c_str(), name_.c_str());
  else
    rte_eth_dev_close(port_);
}

void EthdevDevice::read_mac() {
  rte_ether_addr address{};
  rte_eth_macaddr_get(port_, &address);
  std::memcpy(mac_.bytes.data(), address.addr_bytes, mac_.bytes.size());
}

bool EthdevDevice::link_up() const {
  rte_eth_link link{};
  return rte_eth_link_get_nowait(port_, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

}  // namespace mrc
