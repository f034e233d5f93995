// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/wire/host_map.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "dpdk_io/settings/hosts_file.h"
#include "libmrc/wire/frame.h"

namespace mrc {
namespace {

std::string text_of(const IpAddress& address) {
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(address.is_v4() ? AF_INET : AF_INET6, address.bytes.data() + (address.is_v4() ? 12 : 0), text,
            sizeof text);
  return text;
}

// Nothing: none of these addresses is a host's of the list.
std::optional<FabricPlace> find_place(const HostList& list, const std::vector<IpAddress>& addresses) {
  for (const IpAddress& address : addresses)
    if (const auto place = list.place_of(address)) return place;
  return std::nullopt;
}

}  // namespace

HostMap::HostMap(const NetworkConfig& network, IsLocal is_local)
    : network_(network),
      is_local_(std::move(is_local)),
      list_(std::make_shared<const HostList>(network, std::nullopt)) {
  for (const PortConfig& port : network.ports)
    if (port.is_real()) planes_.push_back(port.plane);
}

bool HostMap::find_self(const std::vector<IpAddress>& own, std::string* error) {
  if (!network_.srv6 || network_.srv6->place) return true;
  self_ = own;
  const auto place = find_place(*list(), own);
  if (place) {
    replace(std::make_shared<const HostList>(network_, place));
    return true;
  }
  std::string all;
  for (auto address = own.begin(); address != own.end(); ++address)
    if (std::find(own.begin(), address, *address) == address)  // a GID is often an interface's address, too
      all += (all.empty() ? "" : ", ") + text_of(*address);
  *error =
      "mrc: " + network_.srv6->where +
      "[srv6] has no \"leaf\" and \"host\", and no [[host]] or [[hosts]] has an address of this host's as a "
      "GID: " +
      all;
  return false;
}

bool HostMap::follow_file() {
  if (!hosts_file_changed(network_)) return false;
  std::string error;
  if (!reread_hosts_file(&network_, &error)) {
    std::fprintf(stderr, "%s; the hosts that were known before stay\n", error.c_str());
    return false;
  }
  auto anew = std::make_shared<const HostList>(network_, list()->own_place());
  if (!network_.srv6 || network_.srv6->place) {
    // Its place is in the settings, or it needs none.
  } else if (const auto place = find_place(*anew, self_); place && place != anew->own_place()) {
    anew = std::make_shared<const HostList>(network_, place);
  }
  replace(std::move(anew));
  return true;
}

// Who has read the new number finds the new list.
void HostMap::replace(std::shared_ptr<const HostList> list) {
  {
    const std::lock_guard lock(mutex_);
    list_.swap(list);
  }
  version_.fetch_add(1, std::memory_order_release);
}

IpAddress HostMap::first_target(const IpAddress& destination, Plane plane) const {
  const auto hosts = list();
  if (const auto paths = hosts->paths_to(destination)) return paths->address(plane, 0);
  return hosts->address_of(destination, plane).value_or(destination);
}

std::vector<EvEntry> HostMap::paths_to(const IpAddress& destination) {
  if (is_local_(destination)) return {};
  return entries(list()->paths_to(destination));
}

std::vector<EvEntry> HostMap::paths_from(const IpAddress& source) {
  if (is_local_(source)) return {};
  return entries(list()->paths_from(source));
}

std::vector<EvEntry> HostMap::entries(const std::optional<Srv6Template>& way) const {
  std::vector<EvEntry> paths;
  if (!way) return paths;
  paths.reserve(planes_.size() * way->paths());
  for (const Plane plane : planes_)
    for (uint32_t path = 0; path < way->paths(); ++path) paths.push_back(way->entry(plane, path));
  return paths;
}

std::optional<IpAddress> HostMap::outer_source(Plane plane) const {
  const auto hosts = list();
  if (!hosts->shape() || !hosts->own_place()) return std::nullopt;
  return outer_source_of(*hosts->shape(), *hosts->own_place(), plane);
}

std::optional<IpAddress> HostMap::peer_outer_source(const IpAddress& host, Plane plane) const {
  const auto hosts = list();
  const auto place = hosts->place_of(host);
  if (!hosts->shape() || !place) return std::nullopt;
  return outer_source_of(*hosts->shape(), *place, plane);
}

std::optional<EvEntry> HostMap::path_back(const IpAddress& destination, Plane plane, Entropy entropy) const {
  const auto way = list()->paths_to(destination);
  if (!way || is_local_(destination)) return std::nullopt;
  // The one that the EV names, as make_entropy() does.
  EvEntry path = way->entry(plane, split_entropy(entropy).source_port % kUplinksMax % way->paths());
  path.entropy = entropy;
  return path;
}

}  // namespace mrc
