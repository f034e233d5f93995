// SPDX-License-Identifier: BSD-2-Clause
// Where a queue pair's paths come from, if not from the built-in ones: an EV profile or SRv6 templates.
#pragma once

#include <optional>
#include <vector>

#include "libmrc/path/ev_entry.h"
#include "libmrc/wire/identifiers.h"

namespace mrc {

class PathSource {
 public:
  virtual ~PathSource() = default;
  // Another number: what it says may be something else. What it is told itself, such as denied links, is not
  // counted, for then the engine is told as well (Engine::follow_profiles).
  virtual uint64_t version() const { return 0; }
  // The paths towards a destination; none = the built-in ones. Asked once for every peer and version.
  virtual std::vector<EvEntry> paths_to(const IpAddress& destination) = 0;
  // SRv6: the source address of the outer header on a plane; none = that of the inner one.
  virtual std::optional<IpAddress> outer_source(Plane) const { return std::nullopt; }
  // The paths by which another host sends to this one, as far as they are known, and the source address of
  // its outer headers.
  virtual std::vector<EvEntry> paths_from(const IpAddress&) { return {}; }
  virtual std::optional<IpAddress> peer_outer_source(const IpAddress&, Plane) const { return std::nullopt; }
  // A path for the answer to somebody who need not be connected, on the plane it came by; none = without
  // SRv6. Does not allocate.
  virtual std::optional<EvEntry> path_back(const IpAddress&, Plane, Entropy) const { return std::nullopt; }
};

}  // namespace mrc
