// SPDX-License-Identifier: BSD-2-Clause
// Where a queue pair's paths come from, if not from the built-in ones: an EV profile or SRv6 templates.
#pragma once

#include <vector>

#include "libmrc/path/ev_entry.h"
#include "libmrc/wire/identifiers.h"

namespace mrc {

class PathSource {
 public:
  virtual ~PathSource() = default;
  // The paths towards a destination; none = the built-in ones. Asked once, when a queue pair connects.
  virtual std::vector<EvEntry> paths_to(const IpAddress& destination) = 0;
};

}  // namespace mrc
