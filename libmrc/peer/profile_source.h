// SPDX-License-Identifier: BSD-2-Clause
// Profiles that a controller keeps (MRC 4.7): which paths a queue pair may use, and how it reacts to
// congestion. They may change under a live queue pair.
#pragma once

#include <cstdint>

#include "libmrc/congestion/controller.h"
#include "libmrc/path/path_set.h"

namespace mrc {

struct PathProfile {
  EvEntries entries;  // none or null: the device's own paths to the destination
  uint32_t min_active = 0;
  uint8_t event_mask = 0;  // kPathEvent*
};

// Under the engine's lock. Number 0 is what queue pairs use that name none.
class ProfileSource {
 public:
  virtual ~ProfileSource() = default;
  // Null: there is none that is online. What is returned stays until the profiles are read again.
  virtual const PathProfile* paths(uint64_t id) = 0;
  virtual const CongestionConfig* congestion(uint64_t id) = 0;
};

}  // namespace mrc
