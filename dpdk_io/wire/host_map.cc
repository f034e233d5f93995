// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/wire/host_map.h"

#include <utility>

#include "libmrc/wire/frame.h"

namespace mrc {
namespace {

std::optional<Srv6Template> template_to(const Srv6Config& own, uint8_t leaf, uint8_t host) {
  if (leaf == own.leaf) return Srv6Template::same_leaf(own.block, leaf, host);
  return Srv6Template::two_tier(own.block, own.leaf, leaf, host, own.spines);
}

}  // namespace

HostMap::HostMap(const NetworkConfig& network, IsLocal is_local)
    : srv6_(network.srv6), is_local_(std::move(is_local)) {
  for (const PortConfig& port : network.ports)
    if (port.is_real()) planes_.push_back(port.plane);
  for (const HostConfig& config : network.hosts) {
    Host host;
    host.addresses = config.addresses;
    if (srv6_ && config.leaf && config.host) host.paths = template_to(*srv6_, *config.leaf, *config.host);
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
  if (host->paths) return host->paths->address(plane, 0);
  return host->addresses.empty() ? destination : host->addresses[plane];
}

std::vector<EvEntry> HostMap::paths_to(const IpAddress& destination) {
  const Host* host = find(destination);
  std::vector<EvEntry> paths;
  if (host == nullptr || !host->paths || is_local_(destination)) return paths;
  for (const Plane plane : planes_)
    for (uint32_t uplink = 0; uplink < host->paths->uplinks(); ++uplink)
      paths.push_back(host->paths->entry(plane, uplink));
  return paths;
}

std::optional<IpAddress> HostMap::outer_source(Plane plane) const {
  if (!srv6_) return std::nullopt;
  return make_usid_address(srv6_->block, std::array{make_usid(kTierHost, plane, srv6_->host)});
}

std::optional<EvEntry> HostMap::path_back(const IpAddress& destination, Plane plane, Entropy entropy) const {
  const Host* host = find(destination);
  if (host == nullptr || !host->paths || is_local_(destination)) return std::nullopt;
  EvEntry path = host->paths->entry(plane, split_entropy(entropy).source_port % host->paths->uplinks());
  path.entropy = entropy;
  return path;
}

}  // namespace mrc
