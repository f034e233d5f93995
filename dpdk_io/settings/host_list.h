// SPDX-License-Identifier: BSD-2-Clause
// Who the other hosts are, as the settings tell: found by their GIDs, single ones first, then ranges of them.
// It does not change; another one takes its place.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "dpdk_io/settings/network_config.h"
#include "libmrc/path/srv6_template.h"
#include "libmrc/wire/identifiers.h"

namespace mrc {

class HostList {
 public:
  // `own`: this host's place, where the settings do not say it.
  HostList(const NetworkConfig& network, std::optional<FabricPlace> own);

  const std::optional<FabricShape>& shape() const { return shape_; }
  // This host's; none: without SRv6, or not known.
  const std::optional<FabricPlace>& own_place() const { return own_; }
  // Where a host is; none: it is not reached by SRv6.
  std::optional<FabricPlace> place_of(const IpAddress& gid) const;
  // Its paths; none: it is not reached by SRv6. Does not allocate.
  std::optional<Srv6Template> paths_to(const IpAddress& gid) const;
  // The paths by which it sends to this host, if its settings are the same.
  std::optional<Srv6Template> paths_from(const IpAddress& gid) const;
  // Its address on a plane; none: the GID is all that is known.
  std::optional<IpAddress> address_of(const IpAddress& gid, Plane plane) const;

 private:
  struct Host {
    std::optional<FabricPlace> place;
    std::vector<IpAddress> addresses;
  };
  struct InRange {
    const HostRange* range;
    uint32_t number;
  };
  const Host* find(const IpAddress& gid) const;
  std::optional<InRange> find_in_ranges(const IpAddress& gid) const;

  std::optional<FabricShape> shape_;
  std::optional<FabricPlace> own_;
  std::map<std::array<uint8_t, 16>, Host> hosts_;
  std::vector<HostRange> ranges_;
};

}  // namespace mrc
