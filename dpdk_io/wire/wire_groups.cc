// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/wire/wire_groups.h"

#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace mrc {
namespace {

// 0 or an errno; twice is once.
int add_membership(int fd, const IpAddress& group, const std::string& interface) {
  const unsigned index = if_nametoindex(interface.c_str());
  if (index == 0) return errno;
  int result;
  if (group.is_v4()) {
    ip_mreqn wanted{};
    std::memcpy(&wanted.imr_multiaddr, group.v4_bytes(), sizeof wanted.imr_multiaddr);
    wanted.imr_ifindex = static_cast<int>(index);
    result = setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &wanted, sizeof wanted);
  } else {
    ipv6_mreq wanted{};
    std::memcpy(&wanted.ipv6mr_multiaddr, group.bytes.data(), sizeof wanted.ipv6mr_multiaddr);
    wanted.ipv6mr_interface = index;
    result = setsockopt(fd, IPPROTO_IPV6, IPV6_JOIN_GROUP, &wanted, sizeof wanted);
  }
  return result == 0 || errno == EADDRINUSE ? 0 : errno;
}

}  // namespace

WireGroups::~WireGroups() {
  for (const auto& [group, fd] : sockets_) close(fd);
}

int WireGroups::join(const IpAddress& group) {
  const std::lock_guard lock(mutex_);
  if (interfaces_.empty() || sockets_.contains(group.bytes)) return 0;
  const int fd = socket(group.is_v4() ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  for (const std::string& interface : interfaces_) {
    const int error = add_membership(fd, group, interface);
    if (error == 0 || error == ENODEV || error == ENXIO) continue;
    close(fd);
    return error;
  }
  sockets_[group.bytes] = fd;
  return 0;
}

void WireGroups::leave(const IpAddress& group) {
  const std::lock_guard lock(mutex_);
  const auto found = sockets_.find(group.bytes);
  if (found == sockets_.end()) return;
  close(found->second);
  sockets_.erase(found);
}

void WireGroups::refresh(const std::string& interface) {
  const std::lock_guard lock(mutex_);
  for (const auto& [group, fd] : sockets_) add_membership(fd, IpAddress{group}, interface);
}

}  // namespace mrc
