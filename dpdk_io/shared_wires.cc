// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/shared_wires.h"

#include <algorithm>
#include <cstdio>

#include "dpdk_io/ethdev/ethdev_carrier.h"
#include "dpdk_io/host/monotonic_clock.h"
#include "dpdk_io/packet/packet_carrier.h"
#include "dpdk_io/wire/interface_mtu.h"

namespace mrc {
namespace {

constexpr Nanoseconds kLookAtLinks = 200 * kMillisecond;  // drivers do not tell by themselves

}  // namespace

std::unique_ptr<SharedWires> SharedWires::open(const DeviceConfig& config, ControlLoop& loop,
                                               std::string* error) {
  std::unique_ptr<SharedWires> wires(new SharedWires(config));
  if (!wires->open_parts(loop, error)) return nullptr;
  return wires;
}

bool SharedWires::open_parts(ControlLoop& loop, std::string* error) {
  const bool has_ethdev = config_.network.any_port(&PortConfig::is_shared_ethdev);
  for (uint32_t i = 0; has_ethdev && i < config_.share_threads; ++i) {
    pools_.push_back(PacketPool::create(config_.mbufs, error));
    if (pools_.back() == nullptr) return false;
  }
  monitor_ = LinkMonitor::open(loop, error);
  if (monitor_ == nullptr) return false;
  quiet_.open(config_.network.srv6.has_value());
  for (const PortConfig& port : config_.network.ports)
    if (port.shared && !open_wire(port, error)) return false;
  monitor_->on_change([this] { refresh(); });
  const ControlLoop::Timer timer = loop.add_timer([this](Nanoseconds) { refresh(); });
  loop.set_timer(timer, kLookAtLinks, monotonic_now());
  refresh();
  return true;
}

bool SharedWires::open_wire(const PortConfig& port, std::string* error) {
  Wire wire;
  wire.config = &port;
  if (!port.interface.empty()) {
    const Interface* interface = monitor_->find(port.interface);
    if (interface == nullptr || interface->mtu < needed_interface_mtu(config_, config_.mtu)) {
      *error = describe_bad_interface(config_, port, interface == nullptr ? 0 : interface->mtu);
      return false;
    }
    wire.interface_life = interface->life;
  }
  if (!open_carriers(wire, error)) return false;
  wires_.push_back(std::move(wire));
  return true;
}

bool SharedWires::open_carriers(Wire& wire, std::string* error) const {
  const PortConfig& port = *wire.config;
  const uint32_t threads = config_.share_threads;
  if (port.backend == PortBackend::kAfPacket) {
    for (uint32_t i = 0; i < threads; ++i) {
      wire.carriers.push_back(PacketCarrier::open(port, {std::nullopt, {i, threads}}, error));
      if (wire.carriers.back() == nullptr) return false;
    }
    return true;
  }
  EthdevDevice::Config config{port, needed_interface_mtu(config_, config_.mtu), {}};
  for (const auto& pool : pools_) config.pools.push_back(pool->mempool());
  const std::shared_ptr<EthdevDevice> device = EthdevDevice::open(config, error);
  if (device == nullptr) return false;
  for (uint32_t i = 0; i < threads; ++i)
    wire.carriers.push_back(
        std::make_unique<EthdevCarrier>(device, static_cast<uint16_t>(i), config.pools[i]));
  return true;
}

bool SharedWires::is_local(const IpAddress& address) const {
  const auto& gids = config_.gids;
  return monitor_->is_local(address) || std::find(gids.begin(), gids.end(), address) != gids.end();
}

std::vector<IpAddress> SharedWires::own_addresses() const {
  std::vector<IpAddress> own = config_.gids;
  for (const IpAddress& address : monitor_->addresses()) own.push_back(address);
  return own;
}

SharedPorts SharedWires::ports() const {
  SharedPorts ports;
  for (const Wire& wire : wires_) {
    const uint32_t bit = uint32_t{1} << wire.config->plane;
    ports.shared |= bit;
    if (wire.up) ports.up |= bit;
    ports.macs[wire.config->plane] = wire.carriers[0]->address();
  }
  return ports;
}

void SharedWires::refresh() {
  for (Wire& wire : wires_) refresh_wire(wire);
  if (changed_) changed_();
}

void SharedWires::refresh_wire(Wire& wire) {
  wire.up = wire.carriers[0]->link_up();
  for (const auto& carrier : wire.carriers) carrier->tidy();
  if (!wire.config->interface.empty()) {
    const Interface* interface = monitor_->find(wire.config->interface);
    wire.up = wire.up && interface != nullptr && interface->up;
    if (wire.up && interface->life != wire.interface_life) reopen(wire, *interface);
    wire.up = wire.up && interface->life == wire.interface_life;
  }
}

// As of a port that a program drives itself (WirePorts::reopen).
void SharedWires::reopen(Wire& wire, const Interface& interface) {
  if (wire.config->backend != PortBackend::kAfPacket) return;
  if (interface.mtu < needed_interface_mtu(config_, config_.mtu)) return;
  for (const auto& carrier : wire.carriers) {
    std::string error;
    if (carrier->reopen(&error)) continue;
    std::fprintf(stderr, "%s\n", error.c_str());
    return;
  }
  wire.interface_life = interface.life;
}

}  // namespace mrc
