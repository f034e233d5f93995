// SPDX-License-Identifier: BSD-2-Clause
// Where other hosts are, as the settings tell: their addresses on each plane, or the SRv6 paths to them.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "dpdk_io/settings/network_config.h"
#include "libmrc/path/path_source.h"
#include "libmrc/path/srv6_template.h"
#include "libmrc/wire/identifiers.h"

namespace mrc {

class HostMap final : public PathSource {
 public:
  using IsLocal = std::function<bool(const IpAddress&)>;

  // `is_local`: whatever goes to this host itself takes no source-routed path. Any thread may ask it.
  HostMap(const NetworkConfig& network, IsLocal is_local);

  bool has_srv6() const { return srv6_.has_value(); }

  // What to look up the next hop of: the host's address on the plane, or the beginning of its SRv6 paths, or
  // the destination as it is.
  IpAddress first_target(const IpAddress& destination, Plane plane) const;

  // PathSource, under the engine's lock.
  std::vector<EvEntry> paths_to(const IpAddress& destination) override;
  std::optional<IpAddress> outer_source(Plane plane) const override;
  std::optional<EvEntry> path_back(const IpAddress& destination, Plane plane, Entropy entropy) const override;

 private:
  struct Host {
    std::optional<FabricPlace> place;
    std::vector<IpAddress> addresses;
  };
  const Host* find(const IpAddress& gid) const;
  Srv6Template template_to(const FabricPlace& place) const { return {srv6_->shape, srv6_->place, place}; }

  const std::optional<Srv6Config> srv6_;
  const IsLocal is_local_;
  std::vector<Plane> planes_;  // those with a real port
  std::map<std::array<uint8_t, 16>, Host> hosts_;
};

}  // namespace mrc
