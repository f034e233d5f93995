// SPDX-License-Identifier: BSD-2-Clause
// IP addresses as rdma_cm programs give them.
#pragma once

#include <netinet/in.h>

#include <cstdint>

#include "libmrc/wire/identifiers.h"

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

// Whether the second address is in the network of an interface of this host that has the first one.
bool shares_network(const IpAddress& own, const IpAddress& other);

}  // namespace mrc::provider
