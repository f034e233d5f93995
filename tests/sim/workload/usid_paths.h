// SPDX-License-Identifier: BSD-2-Clause
// SRv6 for a simulated host: as many EVs per plane as are asked for, each a list of uSIDs through the fabric.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "libmrc/path/path_source.h"
#include "tests/sim/fabric/fabric.h"

namespace mrc::sim {

class UsidPathSource : public PathSource {
 public:
  UsidPathSource(const Fabric& fabric, uint32_t host, uint32_t paths_per_plane)
      : fabric_(fabric), host_(host), paths_per_plane_(paths_per_plane) {}

  std::vector<EvEntry> paths_to(const IpAddress& destination) override {
    return paths(host_, number_of(destination));
  }
  std::vector<EvEntry> paths_from(const IpAddress& source) override {
    return paths(number_of(source), host_);
  }
  std::optional<EvEntry> path_back(const IpAddress& destination, Plane plane,
                                   Entropy entropy) const override {
    return path(host_, number_of(destination), plane, static_cast<uint32_t>(entropy) % paths_per_plane_);
  }

 private:
  static uint32_t number_of(const IpAddress& host) {
    return static_cast<uint32_t>(host.bytes[13]) << 16 | static_cast<uint32_t>(host.bytes[14]) << 8 |
           host.bytes[15];
  }
  std::vector<EvEntry> paths(uint32_t from, uint32_t to) const {
    std::vector<EvEntry> entries;
    for (uint32_t i = 0; i < fabric_.config().planes * paths_per_plane_; ++i)
      entries.push_back(path(from, to, static_cast<Plane>(i / paths_per_plane_), i % paths_per_plane_));
    return entries;
  }
  EvEntry path(uint32_t from, uint32_t to, Plane plane, uint32_t choice) const {
    EvEntry entry;
    entry.plane = plane;
    entry.entropy = make_entropy(plane, choice);
    entry.has_outer = true;
    entry.outer_destination = fabric_.usid_path(from, to, plane, choice);
    return entry;
  }

  const Fabric& fabric_;
  uint32_t host_;
  uint32_t paths_per_plane_;
};

}  // namespace mrc::sim
