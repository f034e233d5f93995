// SPDX-License-Identifier: BSD-2-Clause
// What is known of the paths to a peer, for all queue pairs to it whose paths were made of the same things: a
// path that one of them has lost is out for all at once, and one of them asks for all whether it is back. It
// is the peer's, and goes with the last of them.
#pragma once

#include <cstdint>

#include "libmrc/containers/linked_list.h"
#include "libmrc/path/path_set.h"
#include "libmrc/wire/identifiers.h"

namespace mrc {

class QueuePair;

struct PathsOrigin {
  PathSetConfig config;
  uint64_t profile = 0;  // of a controller, which hears of its paths by that name
  IpAddress source;      // switches that spread by hash look at it, too
  EvEntries entries;     // null: the built-in ones

  bool has_entries(const EvEntries& wanted) const {
    if (entries == nullptr || wanted == nullptr) return entries == wanted;
    return entries == wanted || *entries == *wanted;
  }
  // All but the entries, which may follow those of the same profile.
  bool is_alike(const PathsOrigin& other) const {
    return config == other.config && profile == other.profile && source == other.source &&
           (entries == nullptr) == (other.entries == nullptr);
  }
};

struct PeerPaths {
  PathSet set;
  PathsOrigin origin;
  uint32_t index = 0;    // small and unique among the living of all peers
  uint64_t number = 0;   // and this one among all that there ever were
  bool is_exact = true;  // the paths are those that would be made of the origin's entries
  uint32_t users = 0;
  // Those that can ask whether a path leads to the peer; the first does.
  LinkedList<QueuePair> askers;
  uint32_t in_vain = 0;            // PathSet::unanswered_probes() when the first began
  uint32_t ports_followed = 0;     // of the peer's words about its ports, the last that the set knows
  uint64_t profiles_followed = 0;  // the same of changes of profiles

  // The profile that they were made of says this now. What it cannot follow stays as it was, and who connects
  // later does not share it. How many paths changed.
  size_t follow(const EvEntries& wanted, Nanoseconds now) {
    if (origin.has_entries(wanted)) return 0;
    origin.entries = wanted;
    is_exact = set.can_follow(*wanted);
    return set.follow(wanted, now);
  }
  // Of the same things, as they are now.
  bool serves(const PathsOrigin& wanted) const {
    return is_exact && origin.is_alike(wanted) && origin.has_entries(wanted.entries);
  }
};

}  // namespace mrc
