// SPDX-License-Identifier: BSD-2-Clause
#include "examples/mrcctl/fabric_routes.h"

#include <algorithm>
#include <set>
#include <span>

#include "dpdk_io/settings/host_list.h"
#include "libmrc/wire/srv6.h"

namespace mrc {

namespace {
// Those of our pod, but not ours.
std::set<uint32_t> other_leaves(const NetworkConfig& network, const FabricPlace& own) {
  const FabricShape& shape = network.srv6->shape;
  std::set<uint32_t> leaves;
  const auto add = [&](uint32_t leaf) {
    if (leaf != own.leaf && shape.pod_of(leaf) == shape.pod_of(own.leaf)) leaves.insert(leaf);
  };
  for (const HostConfig& host : network.hosts)
    if (host.leaf) add(*host.leaf);
  for (const HostRange& range : network.ranges)
    for (uint32_t i = 0; range.leaf && i < range.count; i += std::max(range.hosts_per_leaf, 1u))
      add(range.place_of(i).leaf);
  return leaves;
}
}  // namespace

std::optional<FabricPlace> own_place(const NetworkConfig& network, const IpAddress& own) {
  if (!network.srv6) return std::nullopt;
  const HostList hosts(network, std::nullopt);
  return hosts.own_place() ? hosts.own_place() : hosts.place_of(own);
}

std::vector<FabricRoute> routes_from_here(const NetworkConfig& network, const FabricPlace& own) {
  std::vector<FabricRoute> routes;
  if (!network.srv6) return routes;
  const FabricShape& shape = network.srv6->shape;
  const std::set<uint32_t> others = other_leaves(network, own);
  for (const PortConfig& port : network.ports) {
    if (!port.is_real()) continue;
    const auto usid = [&](UsidKind kind, uint32_t number) {
      return shape.usids.usid(kind, port.plane, number);
    };
    const uint16_t host = usid(UsidKind::kHost, own.host);
    const uint16_t leaf = usid(UsidKind::kLeaf, own.leaf);
    routes.push_back({port.plane, {host, leaf, host}});
    for (uint32_t i = 0; i < shape.spines; ++i) {
      const uint16_t spine = usid(UsidKind::kSpine, shape.pod_of(own.leaf) * shape.spines + i);
      routes.push_back({port.plane, {host, leaf, spine, leaf, host}});
      for (const uint32_t other : others)
        routes.push_back({port.plane, {host, leaf, spine, usid(UsidKind::kLeaf, other), spine, leaf, host}});
      for (uint32_t core = 0; shape.leaves_per_pod != 0 && core < shape.cores_per_spine; ++core)
        routes.push_back({port.plane,
                          {host, leaf, spine, usid(UsidKind::kCore, i * shape.cores_per_spine + core), spine,
                           leaf, host}});
    }
  }
  return routes;
}

IpAddress address_of(uint32_t block, const FabricRoute& route) {
  return make_usid_address(block, std::span(route.nodes).subspan(1));
}

}  // namespace mrc
