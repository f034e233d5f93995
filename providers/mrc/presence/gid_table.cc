// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/presence/gid_table.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netpacket/packet.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <string_view>

#include "providers/mrc/presence/device_settings.h"
#include "providers/mrc/presence/limits.h"

namespace mrc::provider {
namespace {

// A port keeps its GIDs while its link is down.
enum class Links { kOnlyUp, kAll };

bool usable(const ifaddrs& address, Links links) {
  const unsigned kWanted = links == Links::kOnlyUp ? IFF_UP | IFF_RUNNING : 0;
  return address.ifa_addr != nullptr && (address.ifa_flags & kWanted) == kWanted &&
         (address.ifa_flags & IFF_LOOPBACK) == 0;
}

bool is_link_local(const IpAddress& address) {
  if (address.is_v4()) return address.v4_bytes()[0] == 169 && address.v4_bytes()[1] == 254;
  return address.bytes[0] == 0xFE && (address.bytes[1] & 0xC0) == 0x80;
}

// False: not an IP address.
bool to_ip(const sockaddr* from, IpAddress* to) {
  if (from->sa_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(from);
    uint8_t bytes[4];
    std::memcpy(bytes, &v4->sin_addr, sizeof bytes);
    *to = IpAddress::v4(bytes[0], bytes[1], bytes[2], bytes[3]);
    return true;
  }
  if (from->sa_family == AF_INET6) {
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(from);
    std::memcpy(to->bytes.data(), &v6->sin6_addr, to->bytes.size());
    return true;
  }
  return false;
}

class Interfaces {
 public:
  Interfaces() {
    if (getifaddrs(&first_) != 0) first_ = nullptr;
  }
  ~Interfaces() {
    if (first_ != nullptr) freeifaddrs(first_);
  }
  Interfaces(const Interfaces&) = delete;
  Interfaces& operator=(const Interfaces&) = delete;

  // The first interface with an address of the family; empty: none.
  std::string first_with(int family) const {
    for (const ifaddrs* at = first_; at != nullptr; at = at->ifa_next) {
      IpAddress ip;
      if (!usable(*at, Links::kOnlyUp) || at->ifa_addr->sa_family != family || !to_ip(at->ifa_addr, &ip))
        continue;
      if (family == AF_INET && is_link_local(ip)) continue;
      return at->ifa_name;
    }
    return {};
  }

  void append(const std::string& interface, int family, bool link_local, std::vector<GidEntry>* to,
              Links links = Links::kOnlyUp) const {
    for (const ifaddrs* at = first_; at != nullptr; at = at->ifa_next) {
      IpAddress ip;
      if (!usable(*at, links) || interface != at->ifa_name || at->ifa_addr->sa_family != family) continue;
      if (!to_ip(at->ifa_addr, &ip) || is_link_local(ip) != link_local) continue;
      to->push_back({ip, interface, if_nametoindex(interface.c_str())});
    }
  }

  // The interface that has the address; empty: none.
  std::string owner_of(const IpAddress& address) const {
    for (const ifaddrs* at = first_; at != nullptr; at = at->ifa_next) {
      IpAddress ip;
      if (at->ifa_addr != nullptr && to_ip(at->ifa_addr, &ip) && ip == address) return at->ifa_name;
    }
    return {};
  }

  MacAddress mac_of(const std::string& interface) const {
    MacAddress mac;
    for (const ifaddrs* at = first_; at != nullptr; at = at->ifa_next) {
      if (at->ifa_addr == nullptr || at->ifa_addr->sa_family != AF_PACKET || interface != at->ifa_name)
        continue;
      const auto* link = reinterpret_cast<const sockaddr_ll*>(at->ifa_addr);
      if (link->sll_halen == mac.bytes.size())
        std::memcpy(mac.bytes.data(), link->sll_addr, mac.bytes.size());
    }
    return mac;
  }

 private:
  ifaddrs* first_ = nullptr;
};

// The interfaces of the ports, in order of planes.
std::vector<std::string> port_interfaces(const DeviceConfig& device) {
  std::vector<std::string> names;
  for (const PortConfig& port : device.network.ports)
    if (!port.interface.empty()) names.push_back(port.interface);
  return names;
}

void append_given(const Interfaces& interfaces, const DeviceConfig& device, const std::string& other,
                  GidTable* table) {
  for (const IpAddress& gid : device.gids) {
    std::string owner = interfaces.owner_of(gid);
    if (owner.empty()) owner = other.empty() ? "lo" : other;
    table->entries.push_back({gid, owner, if_nametoindex(owner.c_str())});
  }
}

void append_ports(const Interfaces& interfaces, const std::vector<std::string>& ports, GidTable* table) {
  struct Kind {
    int family;
    bool link_local;
  };
  for (const Kind kind : {Kind{AF_INET, false}, Kind{AF_INET6, false}, Kind{AF_INET6, true}})
    for (const std::string& port : ports)
      interfaces.append(port, kind.family, kind.link_local, &table->entries, Links::kAll);
}

}  // namespace

namespace {

GidTable read_addresses(const DeviceConfig& device) {
  const Interfaces interfaces;
  GidTable table;
  const std::vector<std::string> ports = port_interfaces(device);
  if (!ports.empty()) table.mac = interfaces.mac_of(ports.front());
  append_given(interfaces, device, ports.empty() ? "" : ports.front(), &table);
  if (table.entries.empty()) append_ports(interfaces, ports, &table);
  if (!table.entries.empty()) return table;
  std::string interface = interfaces.first_with(AF_INET);
  if (!interface.empty()) {
    interfaces.append(interface, AF_INET, false, &table.entries);
    table.mac = interfaces.mac_of(interface);
  } else {
    table.entries.push_back({IpAddress::v4(127, 0, 0, 1), "lo", if_nametoindex("lo")});
    interface = interfaces.first_with(AF_INET6);
    table.mac = interfaces.mac_of(interface);
  }
  interfaces.append(interface, AF_INET6, true, &table.entries);
  interfaces.append(interface, AF_INET6, false, &table.entries);
  return table;
}

}  // namespace

GidTable read_gid_table(const DeviceConfig& device) {
  GidTable table = read_addresses(device);
  table.device_index = device.index;
  if (table.entries.size() > limits::kGids) table.entries.resize(limits::kGids);
  return table;
}

uint64_t GidTable::node_guid() const {
  if (!(mac == MacAddress{})) {
    // EUI-64 of the interface, as RoCE devices do.
    const auto& m = mac.bytes;
    uint64_t guid = m[0] ^ 2u;
    for (const unsigned byte : {+m[1], +m[2], 0xFF, 0xFE, +m[3], +m[4], +m[5]}) guid = guid << 8 | byte;
    return guid + (uint64_t{device_index} << 24);  // in the place of FF FE
  }
  // Only loopback: the host's name must do.
  char name[65] = "";
  gethostname(name, sizeof name - 1);
  uint64_t hash = 0xCBF29CE484222325u;
  for (const char c : std::string_view(name)) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001B3u;
  return ((hash + device_index) & 0x00FFFFFFFFFFFFFFu) | 0x0200000000000000u;  // locally administered
}

}  // namespace mrc::provider
