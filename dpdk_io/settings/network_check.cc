// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/settings/network_check.h"

#include <algorithm>
#include <string_view>
#include <utility>

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

bool check_network(NetworkConfig* config, std::string* error) {
  auto& ports = config->ports;
  std::sort(ports.begin(), ports.end(), [](const auto& a, const auto& b) { return a.plane < b.plane; });
  const auto fail = [&](const std::string& where, const std::string& why) {
    *error = "mrc: " + where + why;
    return false;
  };
  for (size_t plane = 0; plane < ports.size(); ++plane)
    if (ports[plane].plane != plane)
      return fail(ports[plane].where, "there is no [[port]] of plane " + std::to_string(plane));
  for (size_t i = 0; i < ports.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (ports[i].backend == PortBackend::kAfPacket && ports[j].backend == PortBackend::kAfPacket &&
          ports[i].interface == ports[j].interface)
        return fail(ports[i].where, "two planes use the interface " + ports[i].interface);
  if (!config->has_real_ports() && (config->srv6 || !config->hosts.empty()))
    return fail(config->srv6 ? config->srv6->where : config->hosts.front().where,
                "[srv6] and [[host]] need a [[port]] with backend \"af_packet\" or \"ethdev\"");
  const auto planes = static_cast<uint32_t>(ports.size());
  if (config->srv6)
    if (const std::string why = lack_of_usids(config->srv6->shape, planes, config->srv6->place); !why.empty())
      return fail(config->srv6->where, why);
  for (const HostConfig& host : config->hosts) {
    if (host.leaf && !config->srv6)
      return fail(host.where, "a [[host]] has \"leaf\" and \"host\", but there is no [srv6]");
    if (host.leaf)
      if (const std::string why = lack_of_usids(config->srv6->shape, planes, {*host.leaf, *host.host});
          !why.empty())
        return fail(host.where, why);
    if (!host.addresses.empty() && host.addresses.size() != ports.size())
      return fail(host.where, "\"addresses\" of a [[host]] must have one address per plane, that is " +
                                  std::to_string(ports.size()));
  }
  return true;
}

}  // namespace mrc
