// SPDX-License-Identifier: BSD-2-Clause
// IP addresses as rdma_cm programs give them, and the GIDs of the device that stand for them.
#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <optional>

#include "libmrc/cm/connection.h"
#include "libmrc/wire/identifiers.h"
#include "libmrc/wire/time.h"
#include "providers/mrc/presence/gid_table.h"

namespace mrc::provider {

// As the kernel's interface has it: room for both, the family says which it is. No family: none given.
using SocketAddress = sockaddr_in6;

bool is_ip(const SocketAddress& address);
bool is_any(const SocketAddress& address);
// IPv4 and IPv6 have it in the same place; in host order.
uint16_t port_of(const SocketAddress& address);
void set_port(SocketAddress* address, uint16_t port);
IpAddress to_ip(const SocketAddress& address);
// Of the family of the IP address; the port is 0.
SocketAddress to_socket_address(const IpAddress& address);

// The source address that the routing table gives for a destination; 0 or an errno.
int find_source(const SocketAddress& destination, SocketAddress* source);
// Whether this host has the address, on whatever interface.
bool is_local(const SocketAddress& address);

// The GID table, read again when it is older than a moment.
class LocalGids {
 public:
  const GidTable& table(Nanoseconds now);
  // The entry for a local address: its own, else the first of its IP version, else the first of all. So a
  // loopback address stands for the device, too.
  size_t index_for(const IpAddress& address, Nanoseconds now);
  const IpAddress& gid_for(const IpAddress& address, Nanoseconds now) {
    return table(now).entries[index_for(address, now)].gid;
  }
  bool contains(const IpAddress& gid, Nanoseconds now);

 private:
  std::optional<GidTable> table_;
  Nanoseconds read_at_ = 0;
};

}  // namespace mrc::provider
