// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/cm/addresses.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

namespace mrc::provider {
namespace {

const sockaddr_in& as_v4(const SocketAddress& address) {
  return reinterpret_cast<const sockaddr_in&>(address);
}

socklen_t length_of(const SocketAddress& address) {
  return address.sin6_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
}

class Socket {
 public:
  explicit Socket(int family) : fd_(socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {}
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

// False: there is none, or it is none of IP.
bool copy_ip(const sockaddr* from, SocketAddress* to) {
  if (from == nullptr || (from->sa_family != AF_INET && from->sa_family != AF_INET6)) return false;
  *to = {};
  std::memcpy(to, from, from->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
  return true;
}

bool equal_under(const IpAddress& mask, const IpAddress& a, const IpAddress& b) {
  for (size_t i = a.is_v4() ? 12 : 0; i < mask.bytes.size(); ++i)
    if (((a.bytes[i] ^ b.bytes[i]) & mask.bytes[i]) != 0) return false;
  return true;
}

}  // namespace

bool is_ip(const SocketAddress& address) {
  return address.sin6_family == AF_INET || address.sin6_family == AF_INET6;
}

bool is_any(const SocketAddress& address) {
  if (address.sin6_family == AF_INET) return as_v4(address).sin_addr.s_addr == INADDR_ANY;
  return IN6_IS_ADDR_UNSPECIFIED(&address.sin6_addr);
}

uint16_t port_of(const SocketAddress& address) {
  static_assert(offsetof(sockaddr_in, sin_port) == offsetof(sockaddr_in6, sin6_port));
  return ntohs(address.sin6_port);
}

void set_port(SocketAddress* address, uint16_t port) {
  address->sin6_port = htons(port);
}

IpAddress to_ip(const SocketAddress& address) {
  IpAddress ip;
  if (address.sin6_family == AF_INET) {
    uint8_t bytes[4];
    std::memcpy(bytes, &as_v4(address).sin_addr, sizeof bytes);
    return IpAddress::v4(bytes[0], bytes[1], bytes[2], bytes[3]);
  }
  std::memcpy(ip.bytes.data(), &address.sin6_addr, ip.bytes.size());
  return ip;
}

SocketAddress to_socket_address(const IpAddress& address) {
  SocketAddress result{};
  if (address.is_v4()) {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    std::memcpy(&v4.sin_addr, address.v4_bytes(), sizeof v4.sin_addr);
    std::memcpy(&result, &v4, sizeof v4);
  } else {
    result.sin6_family = AF_INET6;
    std::memcpy(&result.sin6_addr, address.bytes.data(), address.bytes.size());
  }
  return result;
}

int find_source(const SocketAddress& destination, SocketAddress* source) {
  const Socket socket(destination.sin6_family);
  if (socket.fd() < 0) return errno;
  SocketAddress to = destination;
  if (port_of(to) == 0) set_port(&to, 1);
  socklen_t length = sizeof *source;
  // Nothing is sent: connecting a datagram socket only asks for the route.
  if (connect(socket.fd(), reinterpret_cast<const sockaddr*>(&to), length_of(to)) != 0) return errno;
  *source = {};
  if (getsockname(socket.fd(), reinterpret_cast<sockaddr*>(source), &length) != 0) return errno;
  set_port(source, 0);
  return 0;
}

bool is_local(const SocketAddress& address) {
  if (address.sin6_family == AF_INET && as_v4(address).sin_addr.s_addr == htonl(INADDR_LOOPBACK)) return true;
  const Socket socket(address.sin6_family);
  SocketAddress at = address;
  set_port(&at, 0);
  return socket.fd() >= 0 && bind(socket.fd(), reinterpret_cast<const sockaddr*>(&at), length_of(at)) == 0;
}

bool shares_network(const IpAddress& own, const IpAddress& other) {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return false;
  bool shared = false;
  for (const ifaddrs* at = first; at != nullptr && !shared; at = at->ifa_next) {
    SocketAddress address;
    SocketAddress mask;
    if (!copy_ip(at->ifa_addr, &address) || to_ip(address) != own || !copy_ip(at->ifa_netmask, &mask))
      continue;
    shared = own.is_v4() == other.is_v4() && equal_under(to_ip(mask), own, other);
  }
  freeifaddrs(first);
  return shared;
}

}  // namespace mrc::provider
