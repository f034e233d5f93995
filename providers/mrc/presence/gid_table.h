// SPDX-License-Identifier: BSD-2-Clause
// The device's GIDs, which are IP addresses of the host, read live: those of the ports' interfaces, or of the
// host's first network interface.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "libmrc/wire/identifiers.h"
#include "providers/mrc/presence/device_settings.h"

namespace mrc::provider {

struct GidEntry {
  IpAddress gid;
  std::string interface;
  uint32_t interface_index = 0;
};

struct GidTable {
  // Index 0 is an IPv4 address where there is one: programs that cannot read the types of GIDs take it.
  std::vector<GidEntry> entries;
  uint32_t device_index = 0;  // devices with one MAC address have GUIDs of their own all the same
  MacAddress mac;             // of the interface of entry 0; zero for loopback

  // A number for the device that differs between hosts and is never 0, as the class tree writes it.
  uint64_t node_guid() const;
};

// What the settings list as GIDs; else the addresses of the ports' interfaces: IPv4, then IPv6, link-local
// ones last, each in order of planes. Without ports: the IPv4 addresses of the first interface that is up and
// no loopback, else 127.0.0.1; then the IPv6 addresses of that interface, link-local ones first.
GidTable read_gid_table(const DeviceConfig& device = device_settings());

}  // namespace mrc::provider
