// SPDX-License-Identifier: BSD-2-Clause
// How long packets of each plane take at present, rather too long than too short: queues of planes differ,
// and a packet that waits in the longest one is not lost because those of the others have overtaken it.
#pragma once

#include <algorithm>
#include <array>

#include "libmrc/wire/identifiers.h"
#include "libmrc/wire/time.h"

namespace mrc {

class PlaneRtt {
 public:
  // Up at once, down slowly.
  void sample(Plane plane, Nanoseconds rtt) {
    Nanoseconds& recent = recent_[plane];
    recent = rtt >= recent ? rtt : recent - ((recent - rtt) >> 3);
  }
  void at_least(Plane plane, Nanoseconds rtt) { recent_[plane] = std::max(recent_[plane], rtt); }
  Nanoseconds recent(Plane plane) const { return recent_[plane]; }

 private:
  std::array<Nanoseconds, kPlanesMax> recent_{};
};

}  // namespace mrc
