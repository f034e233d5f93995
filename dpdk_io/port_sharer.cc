// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/port_sharer.h"

#include <poll.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <utility>
#include <vector>

#include "dpdk_io/ethdev/eal.h"
#include "dpdk_io/ethdev/eal_needs.h"
#include "dpdk_io/host/debugging.h"
#include "dpdk_io/host/monotonic_clock.h"
#include "dpdk_io/share/locked_carrier.h"
#include "dpdk_io/share/share_server.h"
#include "dpdk_io/shared_wires.h"
#include "dpdk_io/switch_thread.h"
#include "dpdk_io/wire/frame_filter.h"
#include "dpdk_io/wire/host_map.h"

namespace mrc {
namespace {

constexpr int kIdleWaitMs = 100;

// Names or numbers. False: `error` names the one that is not known.
bool find_users(const ShareUsers& users, std::vector<uid_t>* found, std::string* error) {
  found->push_back(geteuid());
  for (const std::string& name : users.names) {
    char* end = nullptr;
    const unsigned long number = std::strtoul(name.c_str(), &end, 10);
    if (*end == '\0' && name[0] >= '0' && name[0] <= '9') {
      found->push_back(static_cast<uid_t>(number));
    } else if (const passwd* entry = getpwnam(name.c_str())) {
      found->push_back(entry->pw_uid);
    } else {
      *error = "mrc: \"users\" in [mrcd] names \"" + name + "\", and there is no such user";
      return false;
    }
  }
  return true;
}

}  // namespace

// Some threads turn a switch each. One more does all that may take its time: the kernel makes whoever opens
// or closes a packet socket wait, and memory is mapped and unmapped.
class PortSharer::Impl {
 public:
  ~Impl() {
    switches_.clear();  // before what they switch between
  }
  bool open(const DeviceConfig& config, const Place& place, std::string* error);
  void run(const std::atomic<bool>& stop);

 private:
  void open_switches(const DeviceConfig& config);
  void take_ports();
  void add_program(ShareServer::Client& client);
  void remove_program(const ShareServer::Client& client);
  void say_counters() const;

  std::vector<uid_t> users_;
  std::unique_ptr<ControlLoop> loop_;
  std::unique_ptr<SharedWires> wires_;
  std::unique_ptr<HostMap> hosts_;
  std::map<uint32_t, LockedCarrier> locked_;  // programs, by slot, if there is more than one switch
  std::vector<std::unique_ptr<SwitchThread>> switches_;
  std::unique_ptr<ShareServer> server_;
};

bool PortSharer::Impl::open(const DeviceConfig& config, const Place& place, std::string* error) {
  if (!find_users(config.share_users, &users_, error)) return false;
  loop_ = ControlLoop::open(error);
  if (loop_ == nullptr) return false;
  wires_ = SharedWires::open(config, *loop_, error);
  if (wires_ == nullptr) return false;
  const auto is_local = [this](const IpAddress& address) { return wires_->is_local(address); };
  hosts_ = std::make_unique<HostMap>(config.network, is_local);
  if (!hosts_->find_self(wires_->own_addresses(), error)) return false;
  open_switches(config);
  ShareServer::Config serving;
  serving.socket = place.socket;
  serving.path = place.ledger;
  serving.per_user = place.per_user;
  serving.admits = [this, all = config.share_users.all](uid_t user) {
    return all || std::find(users_.begin(), users_.end(), user) != users_.end();
  };
  serving.on_host = claim_on_host;
  serving.hold_on_host = hold_on_host;
  serving.joined = [this](ShareServer::Client& client) { add_program(client); };
  serving.leaving = [this](const ShareServer::Client& client) { remove_program(client); };
  server_ = ShareServer::open(serving, error);
  if (server_ == nullptr) return false;
  wires_->on_change([this] {
    hosts_->follow_file();
    take_ports();
  });
  take_ports();
  return true;
}

// Each has its own queues of every port.
void PortSharer::Impl::open_switches(const DeviceConfig& config) {
  const FrameGate::Rules rules{[this](const IpAddress& address) { return wires_->is_local(address); },
                               [this](Plane plane) { return hosts_->outer_source(plane); }};
  for (uint32_t i = 0; i < config.share_threads; ++i) {
    switches_.push_back(std::make_unique<SwitchThread>(rules));
    switches_.back()->change([this, i](FrameSwitch& frames) {
      for (const SharedWires::Wire& wire : wires_->wires())
        frames.add_wire(wire.config->plane, *wire.carriers[i]);
    });
  }
}

void PortSharer::Impl::take_ports() {
  const SharedPorts ports = wires_->ports();
  if (ports == server_->ports()) return;
  for (const auto& one : switches_)
    one->change([&](FrameSwitch& frames) {
      for (Plane plane = 0; plane < kPlanesMax; ++plane) frames.set_up(plane, (ports.up >> plane & 1) != 0);
    });
  server_->set_ports(ports);
}

// What comes may come by any queue, so all switches lead to a program. What it sends goes by one of them and
// keeps its order.
void PortSharer::Impl::add_program(ShareServer::Client& client) {
  Carrier* carrier = &client.end;
  if (switches_.size() > 1) carrier = &locked_.try_emplace(client.slot, client.end).first->second;
  const auto count = static_cast<uint32_t>(switches_.size());
  for (uint32_t i = 0; i < count; ++i)
    switches_[i]->change([&](FrameSwitch& frames) {
      frames.add_program(client.slot, *carrier, SlotPart{i, count}.has(client.slot));
    });
}

void PortSharer::Impl::remove_program(const ShareServer::Client& client) {
  for (const auto& one : switches_)
    one->change([&](FrameSwitch& frames) { frames.remove_program(client.slot, monotonic_now()); });
  locked_.erase(client.slot);
}

void PortSharer::Impl::run(const std::atomic<bool>& stop) {
  for (const auto& one : switches_) one->start();
  while (!stop.load(std::memory_order_relaxed)) {
    pollfd files[] = {{server_->event_fd(), POLLIN, 0}, {loop_->fd(), POLLIN, 0}};
    poll(files, 2, kIdleWaitMs);
    const Nanoseconds now = monotonic_now();
    loop_->run(now);
    server_->service(now);
  }
  for (const auto& one : switches_) one->stop();
  if (debugging()) say_counters();
}

void PortSharer::Impl::say_counters() const {
  for (size_t i = 0; i < switches_.size(); ++i) {
    const FrameSwitch::Counters& frames = switches_[i]->counters();
    std::fprintf(stderr,
                 "mrcd: thread %zu: frames: %" PRIu64 " to programs, %" PRIu64 " to wires, %" PRIu64
                 " for nobody, %" PRIu64 " not let out, %" PRIu64 " without a wire, %" PRIu64
                 " without room\n",
                 i, frames.to_programs, frames.to_wires, frames.for_nobody, frames.not_let_out,
                 frames.without_wire, frames.no_room);
  }
}

bool PortSharer::start_drivers(const std::vector<DeviceConfig>& devices, std::string* error) {
  EalOptions all;
  bool needed = false;
  for (const DeviceConfig& device : devices) {
    if (!device.network.any_port(&PortConfig::is_shared_ethdev)) continue;
    const EalOptions needs = eal_needs_of(device, &PortConfig::is_shared_ethdev, device.share_threads);
    all.megabytes = needs.megabytes + (needed ? all.megabytes : 0);
    all.pci.insert(all.pci.end(), needs.pci.begin(), needs.pci.end());
    needed = true;
  }
  return !needed || start_eal(error, all);
}

std::unique_ptr<PortSharer> PortSharer::open(const DeviceConfig& config, const Place& place,
                                             std::string* error) {
  auto impl = std::make_unique<Impl>();
  if (!impl->open(config, place, error)) return nullptr;
  return std::unique_ptr<PortSharer>(new PortSharer(std::move(impl)));
}

PortSharer::PortSharer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PortSharer::~PortSharer() = default;

void PortSharer::run(const std::atomic<bool>& stop) {
  impl_->run(stop);
}

}  // namespace mrc
