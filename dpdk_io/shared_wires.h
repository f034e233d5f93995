// SPDX-License-Identifier: BSD-2-Clause
// The ports that mrcd shares, on their devices, and what keeps them right: the links and lives of the
// kernel's interfaces, followed in the control loop.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dpdk_io/ethdev/packet_pool.h"
#include "dpdk_io/host/control_loop.h"
#include "dpdk_io/settings/device_config.h"
#include "dpdk_io/share/share_message.h"
#include "dpdk_io/wire/link_monitor.h"
#include "dpdk_io/wire/quiet_sockets.h"
#include "dpdk_io/wire/wire_carrier.h"

namespace mrc {

class SharedWires {
 public:
  // The loop outlives it. Null: `error` says why.
  static std::unique_ptr<SharedWires> open(const DeviceConfig& config, ControlLoop& loop, std::string* error);

  struct Wire {
    const PortConfig* config = nullptr;
    uint32_t interface_life = 0;
    bool up = false;
    std::vector<std::unique_ptr<WireCarrier>> carriers;  // one for each thread
  };
  const std::vector<Wire>& wires() const { return wires_; }
  // As programs are told of them.
  SharedPorts ports() const;
  // Called in the loop, after something may have changed.
  void on_change(std::function<void()> handler) { changed_ = std::move(handler); }

  bool is_local(const IpAddress& address) const;
  std::vector<IpAddress> own_addresses() const;

 private:
  explicit SharedWires(const DeviceConfig& config) : config_(config) {}
  bool open_parts(ControlLoop& loop, std::string* error);
  bool open_wire(const PortConfig& port, std::string* error);
  bool open_carriers(Wire& wire, std::string* error) const;
  void refresh();
  void refresh_wire(Wire& wire);
  void reopen(Wire& wire, const Interface& interface);

  const DeviceConfig config_;
  std::vector<std::unique_ptr<PacketPool>> pools_;  // one for each thread: they have no locks
  QuietSockets quiet_;
  std::unique_ptr<LinkMonitor> monitor_;
  std::vector<Wire> wires_;
  std::function<void()> changed_;
};

}  // namespace mrc
