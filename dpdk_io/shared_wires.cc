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
  if (config_.network.any_port(&PortConfig::is_shared_ethdev)) {
    pool_ = PacketPool::create(config_.mbufs, error);
    if (pool_ == nullptr) return false;
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
  wire.carrier = open_carrier(port, error);
  if (wire.carrier == nullptr) return false;
  wires_.push_back(std::move(wire));
  return true;
}

std::unique_ptr<WireCarrier> SharedWires::open_carrier(const PortConfig& port, std::string* error) const {
  if (port.backend == PortBackend::kAfPacket) return PacketCarrier::open(port, std::nullopt, error);
  std::shared_ptr<EthdevDevice> device =
      EthdevDevice::open({port, needed_interface_mtu(config_, config_.mtu), {pool_->mempool()}}, error);
  if (device == nullptr) return nullptr;
  return std::make_unique<EthdevCarrier>(std::move(device), uint16_t{0}, pool_->mempool());
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
    ports.macs[wire.config->plane] = wire.carrier->address();
  }
  return ports;
}

void SharedWires::refresh() {
  for (Wire& wire : wires_) refresh_wire(wire);
  if (changed_) changed_();
}

void SharedWires::refresh_wire(Wire& wire) {
  wire.up = wire.carrier->link_up();
  wire.carrier->tidy();
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
  std::string error;
  if (wire.carrier->reopen(&error))
    wire.interface_life = interface.life;
  else
    std::fprintf(stderr, "%s\n", error.c_str());
}

}  // namespace mrc
