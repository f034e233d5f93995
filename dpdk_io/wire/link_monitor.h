// SPDX-License-Identifier: BSD-2-Clause
// The kernel's view of the network, kept up to date from rtnetlink: interfaces and their links, the host's
// addresses, routes and neighbours (MAC addresses).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dpdk_io/host/control_loop.h"
#include "dpdk_io/wire/rtnetlink.h"
#include "libmrc/wire/identifiers.h"

namespace mrc {

struct Interface {
  int index = 0;
  uint32_t life = 0;  // no two interfaces that this monitor ever saw have the same, even of the same index
  std::string name;
  MacAddress mac;
  uint32_t mtu = 0;
  bool up = false;  // administratively, and it has a link
};

// Threads: all of it belongs to the control loop's thread, but for is_local() and addresses().
class LinkMonitor {
 public:
  using Handler = std::function<void()>;

  // Asks for everything once; what changes later comes through the loop. Null: `error` says why.
  static std::unique_ptr<LinkMonitor> open(ControlLoop& loop, std::string* error);

  // Called after something has changed, in the control loop.
  void on_change(Handler handler) { changed_ = std::move(handler); }

  const Interface* find(const std::string& name) const;
  std::optional<MacAddress> neighbour(int interface, const IpAddress& address) const;
  // Where a packet to `destination` that leaves by `interface` goes first: a gateway, or the destination
  // itself. Nothing: no route.
  std::optional<IpAddress> route(int interface, const IpAddress& destination);
  // Makes the kernel find out or confirm the MAC address; the answer comes as a change.
  void ask_for(const Interface& interface, const IpAddress& address);

  // Any thread: an address of this host, in this network namespace.
  bool is_local(const IpAddress& address) const;
  std::vector<IpAddress> addresses() const;

 private:
  using AddressBytes = std::array<uint8_t, 16>;

  LinkMonitor() = default;
  bool load(std::string* error);
  bool dump(uint16_t type, uint8_t family, std::string* error);
  void receive();
  void take(const nlmsghdr& message);
  void take_link(const nlmsghdr& message, bool gone);
  void take_address(const nlmsghdr& message, bool gone);
  void take_neighbour(const nlmsghdr& message, bool gone);

  std::unique_ptr<RtNetlink> events_;
  std::unique_ptr<RtNetlink> questions_;
  Handler changed_;
  std::map<int, Interface> interfaces_;
  uint32_t lives_ = 0;
  std::map<std::pair<int, AddressBytes>, MacAddress> neighbours_;
  mutable std::mutex addresses_mutex_;
  std::set<std::pair<AddressBytes, int>> addresses_;  // with the interface
};

}  // namespace mrc
