// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/wire_ports.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>

#include "dpdk_io/ethdev/ethdev_carrier.h"
#include "dpdk_io/host/debugging.h"
#include "dpdk_io/host/fork_guard.h"
#include "dpdk_io/host/monotonic_clock.h"
#include "dpdk_io/packet/packet_carrier.h"
#include "dpdk_io/wire/interface_mtu.h"

namespace mrc {
namespace {

constexpr Nanoseconds kFastRefresh = 100 * kMillisecond;  // while a next hop is not known
constexpr Nanoseconds kSlowRefresh = kSecond;
// How often the kernel is asked: the first time at once, then less and less often.
constexpr Nanoseconds kAskFirst = 200 * kMillisecond;
constexpr Nanoseconds kAskMax = 5 * kSecond;
// A known neighbour is confirmed so often: only traffic of the kernel's own would do it otherwise.
constexpr Nanoseconds kConfirm = 10 * kSecond;

}  // namespace

std::unique_ptr<WirePorts> WirePorts::open(const DeviceConfig& config, HostMesh& mesh, ShareClient* sharer,
                                           std::string* error) {
  std::unique_ptr<WirePorts> ports(new WirePorts(config, mesh, sharer));
  if (!ports->open_parts(error)) return nullptr;
  return ports;
}

WirePorts::~WirePorts() {
  wires_.clear();
  if (wake_fd_ >= 0) close(wake_fd_);
  if (in_forked_child()) [[maybe_unused]]
    auto* leaked = pool_.release();  // the parent's
}

bool WirePorts::open_parts(std::string* error) {
  if (config_.network.any_port(&PortConfig::is_own_ethdev)) {
    pool_ = PacketPool::create(config_.mbufs, error);
    if (pool_ == nullptr) return false;
  }
  if (sharer_ != nullptr) shared_carrier_ = std::make_unique<SharedCarrier>(sharer_->link());
  ControlLoop& loop = mesh_.loop();
  monitor_ = LinkMonitor::open(loop, error);
  if (monitor_ == nullptr) return false;
  hosts_ = std::make_unique<HostMap>(config_.network,
                                     [this](const IpAddress& address) { return is_local(address); });
  std::vector<IpAddress> own = config_.gids;
  for (const IpAddress& address : monitor_->addresses()) own.push_back(address);
  if (!hosts_->find_self(own, error)) return false;
  wake_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  const auto wake = [this](Nanoseconds now) {
    uint64_t value;
    while (read(wake_fd_, &value, sizeof value) > 0) {
    }
    refresh(now);
  };
  if (wake_fd_ < 0 || !loop.watch(wake_fd_, wake)) {
    *error = std::string("mrc: no descriptor for the device's events: ") + std::strerror(errno) +
             "; raise the limit of open files (ulimit -n)";
    return false;
  }
  quiet_.open(config_.network.srv6.has_value());
  for (const PortConfig& port : config_.network.ports)
    if (port.is_real() && !open_port(port, error)) return false;
  timer_ = loop.add_timer([this](Nanoseconds now) { refresh(now); });
  monitor_->on_change([this] { refresh(monotonic_now()); });
  if (sharer_ != nullptr) {
    if (!sharer_->start(loop, config_.network.shared_planes(), error)) return false;
    sharer_->on_change([this] { refresh(monotonic_now()); });
  }
  refresh(monotonic_now());
  return true;
}

bool WirePorts::open_port(const PortConfig& port, std::string* error) {
  const uint32_t needed = needed_interface_mtu(config_, config_.mtu);
  if (!port.interface.empty()) {
    const Interface* interface = monitor_->find(port.interface);
    if (interface == nullptr || interface->mtu < needed) {
      *error = describe_bad_interface(config_, port, interface == nullptr ? 0 : interface->mtu);
      return false;
    }
  }
  Wire wire;
  wire.config = &port;
  if (!port.interface.empty()) wire.interface_life = monitor_->find(port.interface)->life;
  const WirePort::Config config{port.plane, mesh_.slot(), mesh_.faults(),
                                [this](const IpAddress& address) { return is_local(address); },
                                [fd = wake_fd_] {
                                  const uint64_t one = 1;
                                  [[maybe_unused]] const ssize_t written = write(fd, &one, sizeof one);
                                }};
  if (port.shared)
    open_shared(wire, config);
  else if (!open_own(wire, config, error))
    return false;
  if (!port.interface.empty()) groups_.add_interface(port.interface);
  wires_.push_back(std::move(wire));
  return true;
}

bool WirePorts::open_own(Wire& wire, const WirePort::Config& config, std::string* error) {
  auto carrier = open_carrier(*wire.config, error);
  if (carrier == nullptr) return false;
  auto port = std::make_unique<OwnPort>(mesh_.port(config.plane), std::move(carrier), config);
  wire.own = port.get();
  wire.port = std::move(port);
  wire.voice = std::make_unique<HostVoice>(wire.config->interface);
  return true;
}

void WirePorts::open_shared(Wire& wire, const WirePort::Config& config) {
  auto port = std::make_unique<SharedPort>(mesh_.port(config.plane), *shared_carrier_, config);
  shared_carrier_->add(config.plane, *port);
  wire.shared = port.get();
  wire.port = std::move(port);
  // A device that the kernel does not know is shared all the same.
  const std::string& interface = wire.config->interface;
  wire.voice =
      std::make_unique<HostVoice>(interface.empty() ? "plane" + std::to_string(config.plane) : interface);
}

std::unique_ptr<WireCarrier> WirePorts::open_carrier(const PortConfig& port, std::string* error) const {
  if (port.backend == PortBackend::kAfPacket) return PacketCarrier::open(port, {mesh_.slot(), {}}, error);
  std::shared_ptr<EthdevDevice> device =
      EthdevDevice::open({port, needed_interface_mtu(config_, config_.mtu), {pool_->mempool()}}, error);
  if (device == nullptr) return nullptr;
  return std::make_unique<EthdevCarrier>(std::move(device), uint16_t{0}, pool_->mempool());
}

Port* WirePorts::port(Plane plane) {
  for (Wire& wire : wires_)
    if (wire.config->plane == plane) return wire.port.get();
  return nullptr;
}

bool WirePorts::is_local(const IpAddress& address) const {
  const auto& gids = config_.gids;
  return monitor_->is_local(address) || std::find(gids.begin(), gids.end(), address) != gids.end();
}

void WirePorts::refresh(Nanoseconds now) {
  bool all_known = true;
  if (hosts_->follow_file())
    for (Wire& wire : wires_) wire.port->next_hops().look_again();
  refresh_voices();
  for (Wire& wire : wires_) {
    refresh_link(wire);
    refresh_filter(wire);
    if (!refresh_next_hops(wire, now)) all_known = false;
  }
  mesh_.loop().set_timer(timer_, all_known ? kSlowRefresh : kFastRefresh, now);
}

// A process that ends leaves its voice to another one within a refresh.
void WirePorts::refresh_voices() {
  for (Wire& wire : wires_) wire.port->set_voice(wire.voice->claim());
  speaks_.store(wires_.empty() || wires_[0].voice->claim(), std::memory_order_relaxed);
}

void WirePorts::hear_all(bool wanted) {
  hears_all_.store(wanted);
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_fd_, &one, sizeof one);
}

void WirePorts::refresh_filter(Wire& wire) const {
  const bool wanted = hears_all_.load();
  if (wire.own == nullptr || wire.hears_all == wanted) return;
  wire.hears_all = wanted;
  wire.own->set_hears_all(wanted);
  wire.own->carrier().hear_all(wanted);
}

void WirePorts::refresh_link(Wire& wire) {
  bool up = true;
  if (!wire.config->interface.empty()) {
    const Interface* interface = monitor_->find(wire.config->interface);
    up = interface != nullptr && interface->up;
    if (wire.own != nullptr) {
      wire.own->carrier().tidy();
      if (up && interface->life != wire.interface_life) reopen(wire, *interface);
      up = up && interface->life == wire.interface_life;
    }
  }
  if (wire.shared != nullptr) {
    const SharedPorts& ports = sharer_->ports();
    wire.shared->set_address(ports.macs[wire.config->plane]);
    up = up && (ports.up >> wire.config->plane & 1) != 0;
  } else {
    up = up && wire.own->carrier().link_up();
  }
  wire.port->set_wire_up(up);
}

// An interface that was deleted and made anew, or moved away and back: sockets on the old one hear nothing of
// it. What does not work now is tried again with every refresh.
void WirePorts::reopen(Wire& wire, const Interface& interface) {
  if (wire.config->backend != PortBackend::kAfPacket) return;  // the driver's affair
  if (interface.mtu < needed_interface_mtu(config_, config_.mtu)) return;
  wire.own->set_wire_up(false);
  std::string error;
  if (!wire.own->carrier().reopen(&error)) {
    if (debugging()) std::fprintf(stderr, "%s\n", error.c_str());
    return;
  }
  wire.own->next_hops().forget_macs();
  wire.interface_life = interface.life;
  groups_.refresh(wire.config->interface);
}

bool WirePorts::refresh_next_hops(Wire& wire, Nanoseconds now) {
  NextHops& next_hops = wire.port->next_hops();
  const uint32_t count = next_hops.count();
  bool all_known = true;
  if (wire.config->gateway_mac) {
    for (uint32_t i = 0; i < count; ++i) next_hops.set_mac(i, *wire.config->gateway_mac);
    return true;
  }
  const Interface* interface = monitor_->find(wire.config->interface);
  if (interface == nullptr || !interface->up) return true;  // its coming back will be told
  for (uint32_t i = 0; i < count; ++i)
    if (!refresh_next_hop(wire, *interface, i, now)) all_known = false;
  return all_known;
}

bool WirePorts::refresh_next_hop(Wire& wire, const Interface& interface, uint32_t number, Nanoseconds now) {
  NextHops& next_hops = wire.port->next_hops();
  NextHops::Entry& entry = next_hops.entry(number);
  const bool due = now >= entry.ask_at;
  if (due || !entry.neighbour)  // routes change
    entry.neighbour =
        wire.config->gateway
            ? wire.config->gateway
            : monitor_->route(interface.index, hosts_->first_target(entry.destination, wire.config->plane));
  const auto mac = entry.neighbour ? monitor_->neighbour(interface.index, *entry.neighbour) : std::nullopt;
  if (mac) {
    if (entry.asked > 0) entry.ask_at = now + kConfirm;
    entry.asked = 0;
    next_hops.set_mac(number, *mac);
  }
  if (due) {
    entry.ask_at = now + (mac ? kConfirm : std::min(kAskFirst << std::min(entry.asked, 8u), kAskMax));
    if (!mac) ++entry.asked;
    if (entry.neighbour) monitor_->ask_for(interface, *entry.neighbour);
  }
  return mac.has_value();
}

}  // namespace mrc
