// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/settings/host_list.h"

namespace mrc {

HostList::HostList(const NetworkConfig& network, std::optional<FabricPlace> own)
    : own_(own), ranges_(network.ranges) {
  if (network.srv6) {
    shape_ = network.srv6->shape;
    if (network.srv6->place) own_ = network.srv6->place;
  }
  for (const HostConfig& config : network.hosts) {
    Host host;
    host.addresses = config.addresses;
    if (shape_ && config.leaf && config.host) host.place = {*config.leaf, *config.host};
    for (const IpAddress& gid : config.gids) hosts_[gid.bytes] = host;
  }
}

const HostList::Host* HostList::find(const IpAddress& gid) const {
  const auto found = hosts_.find(gid.bytes);
  return found == hosts_.end() ? nullptr : &found->second;
}

std::optional<HostList::InRange> HostList::find_in_ranges(const IpAddress& gid) const {
  for (const HostRange& range : ranges_)
    if (const auto number = range.number_of(gid)) return InRange{&range, *number};
  return std::nullopt;
}

std::optional<FabricPlace> HostList::place_of(const IpAddress& gid) const {
  if (const Host* host = find(gid)) return host->place;
  const auto found = find_in_ranges(gid);
  if (!found || !shape_ || !found->range->leaf) return std::nullopt;
  return found->range->place_of(found->number);
}

std::optional<Srv6Template> HostList::paths_to(const IpAddress& gid) const {
  const auto place = place_of(gid);
  if (!place || !shape_ || !own_) return std::nullopt;
  return Srv6Template(*shape_, *own_, *place);
}

std::optional<Srv6Template> HostList::paths_from(const IpAddress& gid) const {
  const auto place = place_of(gid);
  if (!place || !shape_ || !own_) return std::nullopt;
  return Srv6Template(*shape_, *place, *own_);
}

std::optional<IpAddress> HostList::address_of(const IpAddress& gid, Plane plane) const {
  if (const Host* host = find(gid))
    return plane < host->addresses.size() ? std::optional(host->addresses[plane]) : std::nullopt;
  const auto found = find_in_ranges(gid);
  if (!found || plane >= found->range->addresses.size()) return std::nullopt;
  return found->range->address_of(found->number, plane);
}

}  // namespace mrc
