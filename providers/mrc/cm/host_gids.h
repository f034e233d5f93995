// SPDX-License-Identifier: BSD-2-Clause
// The GIDs of this host's devices: which device an IP address stands for, and by which GID.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "libmrc/wire/identifiers.h"
#include "libmrc/wire/time.h"
#include "providers/mrc/cm/addresses.h"
#include "providers/mrc/presence/gid_table.h"

namespace mrc::provider {

// The GID table of a device, read again when it is older than a moment.
class LocalGids {
 public:
  explicit LocalGids(const DeviceConfig& settings) : settings_(&settings) {}

  const GidTable& table(Nanoseconds now);
  // The entry for a local address: its own, else the first of its IP version, else the first of all. So a
  // loopback address stands for the device, too.
  size_t index_for(const IpAddress& address, Nanoseconds now);
  const IpAddress& gid_for(const IpAddress& address, Nanoseconds now) {
    return table(now).entries[index_for(address, now)].gid;
  }
  bool contains(const IpAddress& gid, Nanoseconds now);

 private:
  const DeviceConfig* settings_;
  std::optional<GidTable> table_;
  Nanoseconds read_at_ = 0;
};

// Devices are named by their place in the settings.
class HostGids {
 public:
  HostGids();

  LocalGids& of(size_t device) { return devices_[device]; }
  // The device that has the GID; of several, `preferred` if it is one of them. Nothing: not of this host.
  std::optional<size_t> owner_of(const IpAddress& gid, size_t preferred, Nanoseconds now);
  // The device for which an address of this host stands: the one that has it, else one in its network, else
  // the first.
  size_t device_for(const IpAddress& address, Nanoseconds now);
  // The device that leads to a destination, if the routing table would go there from `*source`. It may lead
  // there from another address, which is then set.
  size_t device_towards(const SocketAddress& destination, SocketAddress* source, Nanoseconds now);

 private:
  // A device in the network of that address, and its own one there.
  struct Neighbour {
    size_t device;
    IpAddress gid;
  };
  std::optional<Neighbour> in_network_of(const IpAddress& address, Nanoseconds now);

  std::vector<LocalGids> devices_;
};

}  // namespace mrc::provider
