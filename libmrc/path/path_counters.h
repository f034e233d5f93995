// SPDX-License-Identifier: BSD-2-Clause
// How often paths changed their state (MRC 4.2), over all path sets that share these counters, and how many
// there are.
#pragma once

#include <cstdint>

namespace mrc {

struct PathCounters {
  uint64_t skipped = 0;         // GOOD -> SKIP: a mark, or a trim in the core
  uint64_t forgiven = 0;        // SKIP -> GOOD: missed its turn
  uint64_t assumed_bad = 0;     // GOOD or SKIP -> ASSUMED_BAD: losses, or the responder's word
  uint64_t told_bad = 0;        // of these, by the responder's word (ALWAYS_SKIP)
  uint64_t restored_probe = 0;  // ASSUMED_BAD -> GOOD or SKIP: answered enough probes
  uint64_t restored_floor = 0;  // ASSUMED_BAD -> GOOD: needed for ev_min_active
  uint64_t restored_port = 0;   // ASSUMED_BAD -> GOOD: its port came back
  uint64_t kept_floor = 0;      // would have gone, but ev_min_active forbade it
  uint64_t denied = 0;          // any -> DENIED: the controller's word
  uint64_t denied_bad = 0;      // of these, from ASSUMED_BAD
  uint64_t allowed = 0;         // DENIED -> GOOD
};

// Paths that there are now, over all path sets that are counted here.
struct PathTotals {
  uint32_t active = 0;  // PathSet::active()
  uint32_t all = 0;     // PathSet::places()
};

}  // namespace mrc
