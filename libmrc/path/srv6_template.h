// SPDX-License-Identifier: BSD-2-Clause
// MRC 6: from an EV (plane, uplink) to the uSID list towards one destination, and back.
//
// A template is made per destination; per path the plane goes into every uSID and the uplink number chooses
// the T1 (and, with three tiers, the T2).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "libmrc/path/ev_entry.h"
#include "libmrc/path/fabric_shape.h"
#include "libmrc/wire/srv6.h"

namespace mrc {

class Srv6Template {
 public:
  // As many paths of a plane as settings may ask for: 256 in use, and 256 backups.
  static constexpr uint32_t kPathsMax = 512;
  static_assert(kPathsMax <= kUplinksMax);

  // The places and what leads to them fit the plan: who makes the shape has checked that.
  Srv6Template(const FabricShape& shape, const FabricPlace& from, const FabricPlace& to)
      : shape_(shape), from_(from), to_(to) {}

  // Choices on a plane. Same leaf: T0, host; one. Same pod: T0, T1 (= uplink), T0, host. Else T0, T1, T2, T1,
  // T0, host, all six uSIDs: a T1 is number pod * spines + group, a T2 is number group * cores_per_spine +
  // core; group and core are the choice: uplink = group * cores_per_spine + core.
  uint32_t uplinks() const;
  IpAddress address(Plane plane, uint32_t uplink) const;
  // The inverse: the uplink; nothing if the address is not one of this template's on the plane.
  std::optional<uint32_t> parse(Plane plane, const IpAddress& address) const;

  // The uplinks that are used: all, or so many that are spread evenly over them, and are others for another
  // host.
  uint32_t paths() const { return std::min(uplinks(), kPathsMax); }
  EvEntry entry(Plane plane, uint32_t path) const;
  // Every path on `planes` planes, plane by plane.
  std::vector<EvEntry> entries(uint32_t planes) const;

 private:
  bool same_pod() const { return shape_.pod_of(from_.leaf) == shape_.pod_of(to_.leaf); }
  uint32_t uplink_of(uint32_t path) const;

  FabricShape shape_;
  FabricPlace from_;
  FabricPlace to_;
};

// What a host of the fabric writes as the source of its outer headers: BLOCK:host::.
IpAddress outer_source_of(const FabricShape& shape, const FabricPlace& host, Plane plane);

}  // namespace mrc
