// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/wire/link_monitor.h"

#include <linux/neighbour.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

// After the C library's, which it then leaves alone; for IFF_LOWER_UP.
#include <linux/if.h>

#include <cerrno>
#include <cstring>

#include "libmrc/wire/packet.h"

namespace mrc {
namespace {

constexpr uint32_t kGroups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_NEIGH |
                             RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE;
constexpr uint16_t kUsable = NUD_PERMANENT | NUD_NOARP | NUD_REACHABLE | NUD_PROBE | NUD_STALE | NUD_DELAY;

template <typename Body>
const Body* body_of(const nlmsghdr& message) {
  if (message.nlmsg_len < NLMSG_LENGTH(sizeof(Body))) return nullptr;
  return static_cast<const Body*>(NLMSG_DATA(&message));
}

template <typename Body>
Attributes attributes_of(const nlmsghdr& message, const Body* body) {
  const auto* first = reinterpret_cast<const uint8_t*>(body) + NLMSG_ALIGN(sizeof(Body));
  const auto* end = reinterpret_cast<const uint8_t*>(&message) + message.nlmsg_len;
  return {reinterpret_cast<const rtattr*>(first), first < end ? static_cast<size_t>(end - first) : 0};
}

bool is_loopback_v4(const IpAddress& address) {
  return address.is_v4() && address.v4_bytes()[0] == 127;
}

// An empty datagram towards a neighbour makes the kernel look for it. For those who may not ask by netlink.
void send_empty_datagram(const Interface& interface, const IpAddress& address) {
  const int fd = socket(family_of(address), SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return;
  setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, interface.name.c_str(),
             static_cast<socklen_t>(interface.name.size()));
  sockaddr_in6 v6{};
  sockaddr_in v4{};
  if (address.is_v4()) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(kUdpPort);
    std::memcpy(&v4.sin_addr, address.v4_bytes(), 4);
    sendto(fd, nullptr, 0, MSG_DONTWAIT, reinterpret_cast<const sockaddr*>(&v4), sizeof v4);
  } else {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(kUdpPort);
    v6.sin6_scope_id = static_cast<uint32_t>(interface.index);
    std::memcpy(&v6.sin6_addr, address.bytes.data(), 16);
    sendto(fd, nullptr, 0, MSG_DONTWAIT, reinterpret_cast<const sockaddr*>(&v6), sizeof v6);
  }
  close(fd);
}

}  // namespace

std::unique_ptr<LinkMonitor> LinkMonitor::open(ControlLoop& loop, std::string* error) {
  std::unique_ptr<LinkMonitor> monitor(new LinkMonitor);
  monitor->events_ = RtNetlink::open(kGroups, error);
  if (monitor->events_ == nullptr) return nullptr;
  monitor->questions_ = RtNetlink::open(0, error);
  if (monitor->questions_ == nullptr || !monitor->load(error)) return nullptr;
  LinkMonitor* self = monitor.get();
  if (loop.watch(self->events_->fd(), [self](Nanoseconds) { self->receive(); })) return monitor;
  *error = "mrc: the control loop takes no more descriptors";
  return nullptr;
}

bool LinkMonitor::load(std::string* error) {
  const auto before = std::exchange(interfaces_, {});
  neighbours_.clear();
  {
    std::lock_guard lock(addresses_mutex_);
    addresses_.clear();
  }
  if (!dump(RTM_GETLINK, AF_UNSPEC, error)) return false;
  for (const auto& [index, interface] : before)
    if (const auto now = interfaces_.find(index);
        now != interfaces_.end() && now->second.name == interface.name)
      now->second.life = interface.life;
  return dump(RTM_GETADDR, AF_UNSPEC, error) && dump(RTM_GETNEIGH, AF_UNSPEC, error);
}

bool LinkMonitor::dump(uint16_t type, uint8_t family, std::string* error) {
  // The three bodies all begin with the family, and zeros ask for everything.
  ndmsg body{};
  ifinfomsg link{};
  ifaddrmsg address{};
  body.ndm_family = link.ifi_family = address.ifa_family = family;
  NetlinkRequest request = type == RTM_GETLINK   ? NetlinkRequest(type, NLM_F_DUMP, link)
                           : type == RTM_GETADDR ? NetlinkRequest(type, NLM_F_DUMP, address)
                                                 : NetlinkRequest(type, NLM_F_DUMP, body);
  const int result = questions_->ask(request, [this](const nlmsghdr& message) { take(message); });
  if (result == 0) return true;
  *error = std::string("mrc: the kernel does not tell of its network interfaces: ") + std::strerror(-result);
  return false;
}

void LinkMonitor::receive() {
  std::string ignored;
  if (!events_->receive([this](const nlmsghdr& message) { take(message); })) load(&ignored);
  if (changed_) changed_();
}

void LinkMonitor::take(const nlmsghdr& message) {
  switch (message.nlmsg_type) {
    case RTM_NEWLINK:
    case RTM_DELLINK:
      return take_link(message, message.nlmsg_type == RTM_DELLINK);
    case RTM_NEWADDR:
    case RTM_DELADDR:
      return take_address(message, message.nlmsg_type == RTM_DELADDR);
    case RTM_NEWNEIGH:
    case RTM_DELNEIGH:
      return take_neighbour(message, message.nlmsg_type == RTM_DELNEIGH);
    default:
      return;
  }
}

void LinkMonitor::take_link(const nlmsghdr& message, bool gone) {
  const auto* link = body_of<ifinfomsg>(message);
  if (link == nullptr || link->ifi_family != AF_UNSPEC) return;  // a bridge's view of its ports
  if (gone) {
    interfaces_.erase(link->ifi_index);
    return;
  }
  const Attributes attributes = attributes_of(message, link);
  const auto [entry, is_new] = interfaces_.try_emplace(link->ifi_index);
  Interface& interface = entry->second;
  if (is_new) interface.life = ++lives_;
  interface.index = link->ifi_index;
  if (const rtattr* name = attributes[IFLA_IFNAME])
    interface.name.assign(static_cast<const char*>(RTA_DATA(name)),
                          strnlen(static_cast<const char*>(RTA_DATA(name)), RTA_PAYLOAD(name)));
  if (const auto mac = attributes.mac(IFLA_ADDRESS)) interface.mac = *mac;
  if (const auto mtu = attributes.number(IFLA_MTU)) interface.mtu = *mtu;
  constexpr unsigned kUp = unsigned{IFF_UP} | unsigned{IFF_LOWER_UP};
  interface.up = (link->ifi_flags & kUp) == kUp;
}

void LinkMonitor::take_address(const nlmsghdr& message, bool gone) {
  const auto* body = body_of<ifaddrmsg>(message);
  if (body == nullptr) return;
  const Attributes attributes = attributes_of(message, body);
  // On a point-to-point link the other end's address is IFA_ADDRESS.
  auto address = attributes.address(IFA_LOCAL);
  if (!address) address = attributes.address(IFA_ADDRESS);
  if (!address) return;
  const std::pair entry{address->bytes, static_cast<int>(body->ifa_index)};
  std::lock_guard lock(addresses_mutex_);
  if (gone)
    addresses_.erase(entry);
  else
    addresses_.insert(entry);
}

void LinkMonitor::take_neighbour(const nlmsghdr& message, bool gone) {
  const auto* body = body_of<ndmsg>(message);
  if (body == nullptr || (body->ndm_family != AF_INET && body->ndm_family != AF_INET6)) return;
  const Attributes attributes = attributes_of(message, body);
  const auto address = attributes.address(NDA_DST);
  if (!address) return;
  const std::pair key{body->ndm_ifindex, address->bytes};
  const auto mac = attributes.mac(NDA_LLADDR);
  if (gone || (body->ndm_state & kUsable) == 0 || !mac)
    neighbours_.erase(key);
  else
    neighbours_[key] = *mac;
}

const Interface* LinkMonitor::find(const std::string& name) const {
  for (const auto& [index, interface] : interfaces_)
    if (interface.name == name) return &interface;
  return nullptr;
}

std::optional<MacAddress> LinkMonitor::neighbour(int interface, const IpAddress& address) const {
  const auto found = neighbours_.find({interface, address.bytes});
  if (found == neighbours_.end()) return std::nullopt;
  return found->second;
}

std::optional<IpAddress> LinkMonitor::route(int interface, const IpAddress& destination) {
  rtmsg body{};
  body.rtm_family = family_of(destination);
  body.rtm_dst_len = destination.is_v4() ? 32 : 128;
  NetlinkRequest request(RTM_GETROUTE, 0, body);
  request.add(RTA_DST, destination);
  request.add(RTA_OIF, static_cast<uint32_t>(interface));
  std::optional<IpAddress> next_hop;
  questions_->ask(request, [&](const nlmsghdr& message) {
    const auto* route = body_of<rtmsg>(message);
    if (message.nlmsg_type != RTM_NEWROUTE || route == nullptr || route->rtm_type != RTN_UNICAST) return;
    const Attributes attributes = attributes_of(message, route);
    if (attributes.number(RTA_OIF) != static_cast<uint32_t>(interface)) return;
    next_hop = attributes.address(RTA_GATEWAY);
    if (const rtattr* via = attributes[RTA_VIA]; !next_hop && via != nullptr && RTA_PAYLOAD(via) == 18) {
      // IPv4 by way of an IPv6 neighbour: family, then the address.
      next_hop.emplace();
      std::memcpy(next_hop->bytes.data(), static_cast<const uint8_t*>(RTA_DATA(via)) + 2, 16);
    }
    if (!next_hop) next_hop = destination;
  });
  return next_hop;
}

void LinkMonitor::ask_for(const Interface& interface, const IpAddress& address) {
  ndmsg body{};
  body.ndm_family = family_of(address);
  body.ndm_ifindex = interface.index;
  body.ndm_flags = NTF_USE;
  NetlinkRequest request(RTM_NEWNEIGH, NLM_F_CREATE, body);
  request.add(NDA_DST, address);
  if (questions_->ask(request, [](const nlmsghdr&) {}) == -EPERM) send_empty_datagram(interface, address);
}

bool LinkMonitor::is_local(const IpAddress& address) const {
  if (is_loopback_v4(address)) return true;
  std::lock_guard lock(addresses_mutex_);
  const auto found = addresses_.lower_bound({address.bytes, 0});
  return found != addresses_.end() && found->first == address.bytes;
}

std::vector<IpAddress> LinkMonitor::addresses() const {
  const std::lock_guard lock(addresses_mutex_);
  std::vector<IpAddress> all;
  for (const auto& [bytes, interface] : addresses_) all.push_back(IpAddress{bytes});
  return all;
}

}  // namespace mrc
