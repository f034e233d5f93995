// SPDX-License-Identifier: BSD-2-Clause
// One path as a profile or a template names it: what an EV profile produces and a path set takes.
#pragma once

#include "libmrc/wire/identifiers.h"

namespace mrc {

struct EvEntry {
  Entropy entropy{};
  Plane plane = 0;
  bool has_outer = false;       // SRv6: the outer destination is this path's own
  IpAddress outer_destination;  // uSID list
};

}  // namespace mrc
