// SPDX-License-Identifier: BSD-2-Clause
// The device's GIDs, which are the IP addresses of the host's first network interface, read live.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "libmrc/wire/identifiers.h"

namespace mrc::provider {

struct GidEntry {
  IpAddress gid;
  std::string interface;
  uint32_t interface_index = 0;
};

struct GidTable {
  // Index 0 is always an IPv4 address: programs that cannot read the types of GIDs take it.
  std::vector<GidEntry> entries;
  MacAddress mac;  // of the interface of entry 0; zero for loopback

  // A number for the device that differs between hosts and is never 0, as the class tree writes it.
  uint64_t node_guid() const;
};

// The IPv4 addresses of the first interface that is up and no loopback, else 127.0.0.1; then the IPv6
// addresses of that interface, link-local ones first.
GidTable read_gid_table();

}  // namespace mrc::provider
