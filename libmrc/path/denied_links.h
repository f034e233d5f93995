// SPDX-License-Identifier: BSD-2-Clause
// Links and switches of an SRv6 fabric that an operator lets no path lead over, whatever its destination.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "libmrc/path/path_source.h"

namespace mrc {

// Two uSIDs that follow each other in a route, in either order. The second 0: all links of the first.
struct UsidLink {
  uint16_t one = 0;
  uint16_t other = 0;
  friend bool operator==(const UsidLink&, const UsidLink&) = default;
};

class DeniedLinks {
 public:
  void assign(std::vector<UsidLink> links) { links_ = std::move(links); }
  // What the host is called, from which the paths of a plane lead.
  using HostOn = std::function<std::optional<IpAddress>(Plane)>;
  // Denies the entries that lead over one of them. If that would leave none, all stay as they are: a bad path
  // is better than no path.
  void apply(const HostOn& host, std::vector<EvEntry>* entries) const;
  // From this host; `source` may be null.
  void apply(const PathSource* source, std::vector<EvEntry>* entries) const;

 private:
  bool on_way(const EvEntry& entry, uint16_t host) const;
  bool has(uint16_t one, uint16_t other) const;

  std::vector<UsidLink> links_;
};

// The device's own paths without those that are denied. All under the engine's lock.
class AllowedPaths final : public PathSource {
 public:
  // Both outlive it.
  AllowedPaths(PathSource& all, const DeniedLinks& denied) : all_(all), denied_(denied) {}

  uint64_t version() const override { return all_.version(); }
  std::vector<EvEntry> paths_to(const IpAddress& destination) override {
    std::vector<EvEntry> entries = all_.paths_to(destination);
    denied_.apply(&all_, &entries);
    return entries;
  }
  // Those that lead over denied links are marked so.
  std::vector<EvEntry> paths_from(const IpAddress& source) override {
    std::vector<EvEntry> entries = all_.paths_from(source);
    denied_.apply([&](Plane plane) { return all_.peer_outer_source(source, plane); }, &entries);
    return entries;
  }
  std::optional<IpAddress> outer_source(Plane plane) const override { return all_.outer_source(plane); }
  std::optional<IpAddress> peer_outer_source(const IpAddress& host, Plane plane) const override {
    return all_.peer_outer_source(host, plane);
  }
  std::optional<EvEntry> path_back(const IpAddress& destination, Plane plane,
                                   Entropy entropy) const override {
    return all_.path_back(destination, plane, entropy);
  }

 private:
  PathSource& all_;
  const DeniedLinks& denied_;
};

}  // namespace mrc
