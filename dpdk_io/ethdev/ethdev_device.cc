// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/ethdev/ethdev_device.h"

#include <rte_dev.h>
#include <rte_errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "dpdk_io/ethdev/af_packet_driver.h"
#include "dpdk_io/ethdev/packet_pool.h"
#include "dpdk_io/host/fork_guard.h"
#include "dpdk_io/wire/frame_filter.h"

namespace mrc {
namespace {

// Frames in each ring of net_af_packet. The driver counts on frames that fill blocks without a rest, and the
// kernel on blocks of whole pages. A frame must also fit into one of our buffers. The kernel puts at most 80
// bytes before it: its own header, an address, and an alignment.
constexpr unsigned kFrameBytes = kBufferBytes;
constexpr unsigned kFramesPerBlock = 16;
constexpr unsigned kBlockBytes = kFrameBytes * kFramesPerBlock;
constexpr unsigned kFrames = 512;
static_assert(kBlockBytes % 4096 == 0 && kFrames % kFramesPerBlock == 0);
static_assert(kFrameBytes >= kFrameBytesMax + 80);

constexpr uint16_t kDescriptors = 512;

bool is_vdev(const PortConfig& port) {
  return port.backend == PortBackend::kAfPacket || port.device.starts_with("net_") ||
         port.device.starts_with("eth_");
}

std::string next_name() {
  static std::atomic<unsigned> number{0};
  return "net_af_packet_mrc" + std::to_string(number.fetch_add(1));
}

std::string af_packet_arguments(const std::string& interface) {
  return "iface=" + interface + ",blocksz=" + std::to_string(kBlockBytes) +
         ",framesz=" + std::to_string(kFrameBytes) + ",framecnt=" + std::to_string(kFrames);
}

// The driver does not say why it fails; this is the usual reason.
bool may_open_packet_sockets(std::string* why) {
  const int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
  if (fd >= 0) {
    close(fd);
    return true;
  }
  *why = std::string("no packet socket: ") + std::strerror(errno);
  if (errno == EPERM)
    *why += "; it needs CAP_NET_RAW: run the program as root, or in a user namespace that owns the network";
  return false;
}

}  // namespace

std::string driver_library(const PortConfig& port) {
  return "librte_" + (port.backend == PortBackend::kAfPacket ? "net_af_packet" : port.driver) + ".so";
}

std::string pci_address(const PortConfig& port) {
  return port.backend == PortBackend::kEthdev && !is_vdev(port) ? port.device : std::string();
}

std::unique_ptr<EthdevDevice> EthdevDevice::open(const Config& config, std::string* error) {
  std::unique_ptr<EthdevDevice> device(new EthdevDevice);
  std::string why;
  if (device->create(config, &why) && device->configure(config, &why)) return device;
  const PortConfig& port = config.port;
  *error = "mrc: " + port.where + "port of plane " + std::to_string(port.plane) + " (" +
           (port.backend == PortBackend::kAfPacket ? port.interface : port.device) + "): " + why;
  return nullptr;
}

bool EthdevDevice::create(const Config& config, std::string* error) {
  const PortConfig& port = config.port;
  std::string arguments;
  bus_ = is_vdev(port) ? "vdev" : "pci";
  if (port.backend == PortBackend::kAfPacket) {
    if (!may_open_packet_sockets(error) || !repair_af_packet_driver(error)) return false;
    name_ = next_name();
    arguments = af_packet_arguments(port.interface);
  } else {
    const size_t comma = port.device.find(',');
    name_ = port.device.substr(0, comma);
    if (comma != std::string::npos) arguments = port.device.substr(comma + 1);
  }
  if (rte_eth_dev_count_total() >= RTE_MAX_ETHPORTS) {
    *error = "all " + std::to_string(RTE_MAX_ETHPORTS) + " ports that DPDK has are in use";
    return false;
  }
  SocketFilterScope filter(kernel_filter(config.slot));
  // A PCI device has been probed when EAL started.
  if (rte_eth_dev_get_port_by_name(name_.c_str(), &port_) == 0) return true;
  const int result = rte_eal_hotplug_add(bus_.c_str(), name_.c_str(), arguments.c_str());
  slot_ = config.slot;
  sockets_ = filter.sockets();
  created_ = result == 0;
  if (created_ && rte_eth_dev_get_port_by_name(name_.c_str(), &port_) == 0) return true;
  *error = "DPDK made no device \"" + name_ + "," + arguments + "\" (" + std::strerror(std::abs(result)) +
           "); set MRC_DEBUG=1 to see DPDK's own messages";
  return false;
}

bool EthdevDevice::configure(const Config& config, std::string* error) {
  const rte_eth_conf configuration{};
  if (rte_eth_dev_configure(port_, 1, 1, &configuration) != 0 ||
      rte_eth_rx_queue_setup(port_, 0, kDescriptors, SOCKET_ID_ANY, nullptr, config.pool) != 0 ||
      rte_eth_tx_queue_setup(port_, 0, kDescriptors, SOCKET_ID_ANY, nullptr) != 0) {
    *error = std::string("DPDK refuses its queues (") + rte_strerror(rte_errno) +
             "); set MRC_DEBUG=1 to see DPDK's own messages";
    return false;
  }
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

void EthdevDevice::hear_all(bool wanted) {
  const std::vector<sock_filter> all{BPF_STMT(BPF_RET | BPF_K, UINT32_MAX)};
  for (const int socket : sockets_) set_socket_filter(socket, wanted ? all : kernel_filter(slot_));
}

bool EthdevDevice::link_up() const {
  rte_eth_link link{};
  return rte_eth_link_get_nowait(port_, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

}  // namespace mrc
