// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/shared_wires.h"

#include <algorithm>
#include <cstdio>

#include "dpdk_io/host/monotonic_clock.h"
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
  pool_ = PacketPool::create(config_.mbufs, error);
  if (pool_ == nullptr) return false;
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
  wire.device = open_device(port, error);
  if (wire.device == nullptr) return false;
  wire.carrier = std::make_unique<EthdevCarrier>(*wire.device, pool_->mempool());
  wires_.push_back(std::move(wire));
  return true;
}

std::unique_ptr<EthdevDevice> SharedWires::open_device(const PortConfig& port, std::string* error) const {
  return EthdevDevice::open(
      {port, std::nullopt, needed_interface_mtu(config_, config_.mtu), pool_->mempool()}, error);
}

bool SharedWires::is_local(const IpAddress& address) const {
  const auto& gids = config_.gids;
  return monitor_->is_local(address) || std::find(gids.begin(), gids.end(), address) != gids.end();
}

SharedPorts SharedWires::ports() const {
  SharedPorts ports;
  for (const Wire& wire : wires_) {
    const uint32_t bit = uint32_t{1} << wire.config->plane;
    ports.shared |= bit;
    if (wire.up) ports.up |= bit;
    if (wire.device != nullptr) ports.macs[wire.config->plane] = wire.device->mac();
  }
  return ports;
}

void SharedWires::refresh() {
  for (Wire& wire : wires_) refresh_wire(wire);
  if (changed_) changed_();
}

void SharedWires::refresh_wire(Wire& wire) {
  wire.up = true;
  if (!wire.config->interface.empty()) {
    const Interface* interface = monitor_->find(wire.config->interface);
    wire.up = interface != nullptr && interface->up;
    if (wire.up && interface->life != wire.interface_life) reopen(wire, *interface);
    wire.up = wire.up && interface->life == wire.interface_life;
  }
  if (wire.config->backend == PortBackend::kEthdev) wire.up = wire.up && wire.device->link_up();
}

// As of a port that a program drives itself (WirePorts::reopen).
void SharedWires::reopen(Wire& wire, const Interface& interface) {
  if (wire.config->backend != PortBackend::kAfPacket) return;
  if (interface.mtu < needed_interface_mtu(config_, config_.mtu)) return;
  wire.carrier->replace_device(nullptr);
  wire.device.reset();
  std::string error;
  wire.device = open_device(*wire.config, &error);
  if (wire.device == nullptr) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return;
  }
  wire.carrier->replace_device(wire.device.get());
  wire.interface_life = interface.life;
}

}  // namespace mrc
