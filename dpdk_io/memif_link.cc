// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/memif_link.h"

#include <rte_dev.h>
#include <rte_errno.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "dpdk_io/interrupt_thread.h"
#include "dpdk_io/packet_pool.h"

namespace mrc {
namespace {

// log2 of the slots in each ring; docs/settings.md has the measurements.
constexpr unsigned kRingSlotsLog2 = 7;

// Two names of one socket: the driver keeps its sockets by name, and a client in the same process as its
// server must not be taken for the server.
std::string link_path(const MemifLink::Config& config) {
  const auto [low, high] = std::minmax(config.own_slot, config.peer_slot);
  return config.run_directory + (config.own_slot == low ? "/link." : "/./link.") + std::to_string(low) + "-" +
         std::to_string(high);
}

std::string next_device_name() {
  static std::atomic<unsigned> number{0};
  return "net_memif_mrc" + std::to_string(number.fetch_add(1));
}

}  // namespace

MemifLink::MemifLink(const Config& config)
    : config_(config), socket_path_(link_path(config)), device_name_(next_device_name()) {}

MemifLink::~MemifLink() {
  run_in_interrupt_thread([this] {
    if (created_) destroy_device();
    record_.release();
  });
}

bool MemifLink::create(std::string* error) {
  bool done = false;
  *error = "the interrupt thread of DPDK does not answer";
  run_in_interrupt_thread([&] {
    record_.begin();
    done = create_device(error);
    record_.end();
  });
  return done;
}

bool MemifLink::create_device(std::string* error) {
  if (rte_eth_dev_count_total() >= RTE_MAX_ETHPORTS) {
    *error = "all " + std::to_string(RTE_MAX_ETHPORTS) + " ports that DPDK has are in use";
    return false;
  }
  if (is_server()) unlink(socket_path_.c_str());
  const std::string arguments = std::string(is_server() ? "role=server" : "role=client") +
                                ",id=0,bsize=" + std::to_string(kBufferBytes) +
                                ",rsize=" + std::to_string(kRingSlotsLog2) + ",socket=" + socket_path_ +
                                ",socket-abstract=no";
  const int result = rte_eal_hotplug_add("vdev", device_name_.c_str(), arguments.c_str());
  if (result != 0) {
    *error = std::string("DPDK made no memif port (") + std::strerror(-result) + ")";
    return false;
  }
  created_ = true;
  if (rte_eth_dev_get_port_by_name(device_name_.c_str(), &port_) == 0 && configure_queues()) return true;
  *error = std::string("DPDK refused the queues of a memif port (") + rte_strerror(rte_errno) + ")";
  return false;
}

bool MemifLink::configure_queues() {
  const rte_eth_conf configuration{};
  if (rte_eth_dev_configure(port_, config_.queues, config_.queues, &configuration) != 0) return false;
  for (uint16_t queue = 0; queue < config_.queues; ++queue) {
    const uint16_t slots = 1u << kRingSlotsLog2;
    if (rte_eth_rx_queue_setup(port_, queue, slots, SOCKET_ID_ANY, nullptr, config_.pool) != 0) return false;
    if (rte_eth_tx_queue_setup(port_, queue, slots, SOCKET_ID_ANY, nullptr) != 0) return false;
  }
  return true;
}

bool MemifLink::start() {
  run_in_interrupt_thread([this] { started_ = rte_eth_dev_start(port_) == 0; });
  return started_;
}

void MemifLink::stop() {
  run_in_interrupt_thread([this] { rte_eth_dev_stop(port_); });
  started_ = false;
}

void MemifLink::stop_listening() {
  run_in_interrupt_thread([this] { record_.stop_listening(); });
  unlink(socket_path_.c_str());
}

bool MemifLink::connected() const {
  rte_eth_link link{};
  return started_ && rte_eth_link_get_nowait(port_, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

void MemifLink::destroy_device() {
  if (started_) rte_eth_dev_stop(port_);
  record_.stop_listening();  // before the driver frees what the listener's callback uses
  rte_eal_hotplug_remove("vdev", device_name_.c_str());
}

}  // namespace mrc
