// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/path/srv6_template.h"

#include <algorithm>
#include <array>

namespace mrc {

uint32_t Srv6Template::uplinks() const {
  if (from_.leaf == to_.leaf) return 1;
  return same_pod() ? shape_.spines : shape_.spines * shape_.cores_per_spine;
}

// MRC 6: the plane goes into every uSID, the uplink into those of the spine.
IpAddress Srv6Template::address(Plane plane, uint32_t uplink) const {
  const auto usid = [&](UsidKind kind, uint32_t number) { return shape_.usids.usid(kind, plane, number); };
  const auto spine = [&](uint32_t leaf, uint32_t group) {
    return usid(UsidKind::kSpine, shape_.pod_of(leaf) * shape_.spines + group);
  };
  const uint16_t first = usid(UsidKind::kLeaf, from_.leaf);
  const uint16_t last = usid(UsidKind::kLeaf, to_.leaf);
  const uint16_t host = usid(UsidKind::kHost, to_.host);
  if (from_.leaf == to_.leaf) return make_usid_address(shape_.block, std::array{first, host});
  if (same_pod())
    return make_usid_address(shape_.block, std::array{first, spine(from_.leaf, uplink), last, host});
  const uint32_t group = uplink / shape_.cores_per_spine;
  return make_usid_address(shape_.block,
                           std::array{first, spine(from_.leaf, group), usid(UsidKind::kCore, uplink),
                                      spine(to_.leaf, group), last, host});
}

std::optional<uint32_t> Srv6Template::parse(Plane plane, const IpAddress& address) const {
  uint32_t uplink = 0;
  if (from_.leaf != to_.leaf) {
    const size_t choice = same_pod() ? 1 : 2;
    uplink = uint32_t{usid_at(address, choice)} - usid_at(this->address(plane, 0), choice);
  }
  if (uplink >= uplinks() || this->address(plane, uplink) != address) return std::nullopt;
  return uplink;
}

uint32_t Srv6Template::uplink_of(uint32_t path) const {
  const uint64_t all = uplinks();
  if (all == paths()) return path;
  const uint32_t start = (from_.leaf * 0x9E3779B1u + from_.host * 0x85EBCA77u) >> 16;
  return static_cast<uint32_t>((start + path * all / paths()) % all);
}

EvEntry Srv6Template::entry(Plane plane, uint32_t path) const {
  return {.entropy = make_entropy(plane, path),
          .plane = plane,
          .has_outer = true,
          .outer_destination = address(plane, uplink_of(path))};
}

std::vector<EvEntry> Srv6Template::entries(uint32_t planes) const {
  std::vector<EvEntry> all;
  all.reserve(size_t{planes} * paths());
  for (uint32_t plane = 0; plane < planes; ++plane)
    for (uint32_t path = 0; path < paths(); ++path) all.push_back(entry(static_cast<Plane>(plane), path));
  return all;
}

IpAddress outer_source_of(const FabricShape& shape, const FabricPlace& host, Plane plane) {
  return make_usid_address(shape.block, std::array{shape.usids.usid(UsidKind::kHost, plane, host.host)});
}

}  // namespace mrc
