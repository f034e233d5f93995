// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/wire/host_map.h"

#include <utility>

#include "libmrc/wire/frame.h"

namespace mrc {

HostMap::HostMap(const NetworkConfig& network, IsLocal is_local)
    : srv6_(network.srv6), is_local_(std::move(is_local)) {
  for (const PortConfig& port : network.ports)
    if (port.is_real()) planes_.push_back(port.plane);
  for (const HostConfig& config : network.hosts) {
    Host host;
    host.addresses = config.addresses;
    if (srv6_ && config.leaf && config.host) host.place = {*config.leaf, *config.host};
    for (const IpAddress& gid : config.gids) hosts_[gid.bytes] = host;
  }
}

const HostMap::Host* HostMap::find(const IpAddress& gid) const {
  const auto found = hosts_.find(gid.bytes);
  return found == hosts_.end() ? nullptr : &found->second;
}

IpAddress HostMap::first_target(const IpAddress& destination, Plane plane) const {
  const Host* host = find(destination);
  if (host == nullptr) return destination;
  if (host->place) return template_to(*host->place).address(plane, 0);
  return host->addresses.empty() ? destination : host->addresses[plane];
}

std::vector<EvEntry> HostMap::paths_to(const IpAddress& destination) {
  const Host* host = find(destination);
  std::vector<EvEntry> paths;
  if (host == nullptr || !host->place || is_local_(destination)) return paths;
  const Srv6Template way = template_to(*host->place);
  paths.reserve(planes_.size() * way.paths());
  for (const Plane plane : planes_)
    for (uint32_t path = 0; path < way.paths(); ++path) paths.push_back(way.entry(plane, path));
  return paths;
}

std::optional<IpAddress> HostMap::outer_source(Plane plane) const {
  if (!srv6_) return std::nullopt;
  return outer_source_of(srv6_->shape, srv6_->place, plane);
}

std::optional<EvEntry> HostMap::path_back(const IpAddress& destination, Plane plane, Entropy entropy) const {
  const Host* host = find(destination);
  if (host == nullptr || !host->place || is_local_(destination)) return std::nullopt;
  const Srv6Template way = template_to(*host->place);
  EvEntry path = way.entry(plane, split_entropy(entropy).source_port % way.paths());
  path.entropy = entropy;
  return path;
}

}  // namespace mrc
