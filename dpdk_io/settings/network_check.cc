// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/settings/network_check.h"

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "dpdk_io/settings/config_text.h"

namespace mrc {
namespace {

struct KindName {
  std::string_view key;
  std::string_view plural;
};
KindName name_of(UsidKind kind) {
  static constexpr KindName kNames[kUsidKinds] = {
      {"spine_usid", "spines"}, {"leaf_usid", "leaves"}, {"core_usid", "cores"}, {"host_usid", "hosts"}};
  return kNames[static_cast<size_t>(kind)];
}

// Whether there are uSIDs for so many of a kind. Empty, or what is wrong.
std::string lack_of_usids(const FabricShape& shape, uint32_t planes, UsidKind kind, uint64_t wanted) {
  const uint32_t room = shape.usids.room(kind, planes);
  if (room >= wanted) return "";
  const KindName name = name_of(kind);
  return "there are uSIDs for " + std::to_string(room) + " " + std::string(name.plural) + ", and " +
         std::to_string(wanted) + " are needed; see " + config_text::quoted(name.key) +
         " and \"plane_usids\" in [srv6]";
}

// The same for all that lies on the way to a place.
std::string lack_of_usids(const FabricShape& shape, uint32_t planes, const FabricPlace& place) {
  const uint64_t pods = uint64_t{shape.pod_of(place.leaf)} + 1;
  const std::pair<UsidKind, uint64_t> wanted[] = {
      {UsidKind::kLeaf, uint64_t{place.leaf} + 1},
      {UsidKind::kHost, uint64_t{place.host} + 1},
      {UsidKind::kSpine, pods * shape.spines},
      {UsidKind::kCore, shape.leaves_per_pod == 0 ? 0 : uint64_t{shape.spines} * shape.cores_per_spine}};
  for (const auto& [kind, count] : wanted)
    if (std::string why = lack_of_usids(shape, planes, kind, count); !why.empty()) return why;
  return "";
}

}  // namespace

namespace {

using Fail = std::function<bool(const std::string& where, const std::string& why)>;

bool check_ports(std::vector<PortConfig>& ports, const Fail& fail) {
  std::sort(ports.begin(), ports.end(), [](const auto& a, const auto& b) { return a.plane < b.plane; });
  for (size_t plane = 0; plane < ports.size(); ++plane)
    if (ports[plane].plane != plane)
      return fail(ports[plane].where, "there is no [[port]] of plane " + std::to_string(plane));
  for (size_t i = 0; i < ports.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (ports[i].backend == PortBackend::kAfPacket && ports[j].backend == PortBackend::kAfPacket &&
          ports[i].interface == ports[j].interface)
        return fail(ports[i].where, "two planes use the interface " + ports[i].interface);
  return true;
}

// What [[host]] and [[hosts]] have in common; `last`: the last place of a range.
bool check_places(const NetworkConfig& config, const std::string& where, const std::string& table,
                  const std::optional<FabricPlace>& last, size_t addresses, const Fail& fail) {
  const auto planes = static_cast<uint32_t>(config.ports.size());
  if (last && !config.srv6) return fail(where, "a " + table + " has \"leaf\", but there is no [srv6]");
  if (last)
    if (const std::string why = lack_of_usids(config.srv6->shape, planes, *last); !why.empty())
      return fail(where, why);
  if (addresses != 0 && addresses != planes)
    return fail(where, "\"addresses\" of a " + table + " must have one address per plane, that is " +
                           std::to_string(planes));
  return true;
}

bool check_range(const NetworkConfig& config, const HostRange& range, const Fail& fail) {
  std::optional<FabricPlace> last;
  if (range.leaf)
    last = {range.place_of(range.count - 1).leaf,
            range.host + std::min(range.count, range.hosts_per_leaf) - 1};
  if (!check_places(config, range.where, "[[hosts]]", last, range.addresses.size(), fail)) return false;
  for (const IpAddress& first : range.gids)
    if (!HostRange::advance(first, range.count - 1, range.gid_step))
      return fail(range.where, "there are not so many addresses behind the first of \"gids\"");
  for (const IpAddress& first : range.addresses)
    if (!HostRange::advance(first, range.count - 1, range.address_step))
      return fail(range.where, "there are not so many addresses behind the first of \"addresses\"");
  return true;
}

bool check_gids(const NetworkConfig& config, const Fail& fail) {
  std::set<std::array<uint8_t, 16>> seen;
  for (const HostConfig& host : config.hosts) {
    for (const IpAddress& gid : host.gids)
      if (!seen.insert(gid.bytes).second) return fail(host.where, "another [[host]] has the same GID");
  }
  for (const HostRange& range : config.ranges)
    for (const HostRange& other : config.ranges) {
      if (&other == &range) break;
      if (common_gid(range, other))
        return fail(range.where, "hosts of another [[hosts]], in " + other.where + "have the same GIDs");
    }
  return true;
}

}  // namespace

bool check_hosts(NetworkConfig* config, std::string* error) {
  const Fail fail = [error](const std::string& where, const std::string& why) {
    *error = "mrc: " + where + why;
    return false;
  };
  if (!config->has_real_ports() && (config->srv6 || !config->hosts.empty() || !config->ranges.empty()))
    return fail(config->srv6             ? config->srv6->where
                : !config->hosts.empty() ? config->hosts.front().where
                                         : config->ranges.front().where,
                "[srv6] and [[host]] need a [[port]] with backend \"af_packet\" or \"ethdev\"");
  if (config->srv6) {
    const FabricPlace place = config->srv6->place.value_or(FabricPlace{});
    const std::string why =
        lack_of_usids(config->srv6->shape, static_cast<uint32_t>(config->ports.size()), place);
    if (!why.empty()) return fail(config->srv6->where, why);
  }
  for (const HostConfig& host : config->hosts) {
    std::optional<FabricPlace> place;
    if (host.leaf) place = {*host.leaf, *host.host};
    if (!check_places(*config, host.where, "[[host]]", place, host.addresses.size(), fail)) return false;
  }
  for (const HostRange& range : config->ranges)
    if (!check_range(*config, range, fail)) return false;
  return check_gids(*config, fail);
}

bool check_network(NetworkConfig* config, std::string* error) {
  const Fail fail = [error](const std::string& where, const std::string& why) {
    *error = "mrc: " + where + why;
    return false;
  };
  if (!check_ports(config->ports, fail)) return false;
  return !config->hosts_file.empty() || check_hosts(config, error);
}

}  // namespace mrc
