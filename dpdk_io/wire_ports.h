// SPDX-License-Identifier: BSD-2-Clause
// The ports of a device that are on real interfaces, and what keeps them right while they run: links, next
// hops and the host's addresses, followed in the control loop.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dpdk_io/ethdev/packet_pool.h"
#include "dpdk_io/link/host_mesh.h"
#include "dpdk_io/settings/device_config.h"
#include "dpdk_io/share/share_client.h"
#include "dpdk_io/share/shared_port.h"
#include "dpdk_io/wire/host_map.h"
#include "dpdk_io/wire/host_voice.h"
#include "dpdk_io/wire/link_monitor.h"
#include "dpdk_io/wire/own_port.h"
#include "dpdk_io/wire/quiet_sockets.h"
#include "dpdk_io/wire/wire_groups.h"

namespace mrc {

class WirePorts {
 public:
  // EAL must run if the program has DPDK devices of its own. `sharer`: null where mrcd shares none. The mesh
  // and the sharer outlive it. Null: `error` says why.
  static std::unique_ptr<WirePorts> open(const DeviceConfig& config, HostMesh& mesh, ShareClient* sharer,
                                         std::string* error);
  ~WirePorts();
  WirePorts(const WirePorts&) = delete;
  WirePorts& operator=(const WirePorts&) = delete;

  Port* port(Plane plane);  // null: that plane has same-host links only
  PathSource& paths() { return *hosts_; }
  // Whether what is for no process in particular, on any of the ports, is this one's to answer. Any thread.
  bool speaks_for_host() const { return speaks_.load(std::memory_order_relaxed); }
  // Any thread. 0 or an errno.
  int join(const IpAddress& group) { return groups_.join(group); }
  void leave(const IpAddress& group) { groups_.leave(group); }
  // Any thread: frames that are none of RoCE are received, too, on ports of our own; soon.
  void hear_all(bool wanted);

 private:
  struct Wire {
    const PortConfig* config = nullptr;
    uint32_t interface_life = 0;  // of the interface that the carrier is bound to
    bool hears_all = false;       // the carrier does
    std::unique_ptr<WirePort> port;
    OwnPort* own = nullptr;        // the port, if it is one
    SharedPort* shared = nullptr;  // the port, if it is one
    std::unique_ptr<HostVoice> voice;
  };

  WirePorts(const DeviceConfig& config, HostMesh& mesh, ShareClient* sharer)
      : config_(config), mesh_(mesh), sharer_(sharer) {}
  bool open_parts(std::string* error);
  bool open_port(const PortConfig& port, std::string* error);
  bool open_own(Wire& wire, const WirePort::Config& config, std::string* error);
  void open_shared(Wire& wire, const WirePort::Config& config);
  std::unique_ptr<WireCarrier> open_carrier(const PortConfig& port, std::string* error) const;
  bool is_local(const IpAddress& address) const;

  // In the control loop.
  void refresh(Nanoseconds now);
  void refresh_link(Wire& wire);
  void reopen(Wire& wire, const Interface& interface);
  void refresh_voices();
  void refresh_filter(Wire& wire) const;
  bool refresh_next_hops(Wire& wire, Nanoseconds now);  // true: all are known
  bool refresh_next_hop(Wire& wire, const Interface& interface, uint32_t number, Nanoseconds now);

  const DeviceConfig config_;
  HostMesh& mesh_;
  ShareClient* const sharer_;
  std::unique_ptr<SharedCarrier> shared_carrier_;
  std::unique_ptr<PacketPool> pool_;
  QuietSockets quiet_;
  WireGroups groups_;
  std::unique_ptr<LinkMonitor> monitor_;
  std::unique_ptr<HostMap> hosts_;
  std::vector<Wire> wires_;
  std::atomic<bool> speaks_{false};
  std::atomic<bool> hears_all_{false};
  int wake_fd_ = -1;
  ControlLoop::Timer timer_{};
};

}  // namespace mrc
