// SPDX-License-Identifier: BSD-2-Clause
// The paths of one queue pair: which entropy values on which planes, the health of each, and whose turn it
// is.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "libmrc/path/ev_entry.h"
#include "libmrc/wire/identifiers.h"
#include "libmrc/wire/time.h"

namespace mrc {

// MRC 4.2. DENIED is the controller's; the others follow from what the network does.
enum class PathState : uint8_t { kGood, kSkip, kAssumedBad, kDenied };

enum class PathId : uint16_t {};
inline constexpr PathId kNoPath{0xFFFF};

// A set of planes, one bit each.
using PlaneMask = uint32_t;

struct PathSetConfig {
  uint32_t planes = 1;
  uint32_t paths_per_plane = 32;
  uint32_t backups_per_plane = 0;  // MRC 4.5: more paths, that take the place of bad ones of their plane
  uint32_t min_active = 1;         // MRC 4.2, ev_min_active
  Nanoseconds probe_interval = kMillisecond;
  Nanoseconds probe_interval_max = kSecond;
  uint8_t event_mask = 0;    // kPathEvent*
  uint32_t events_max = 64;  // room of the event queue
};

// MRC 4.7: what a controller is told about. The values are OCP's.
inline constexpr uint8_t kPathEventGood = 1 << 0;
inline constexpr uint8_t kPathEventAssumedBad = 1 << 1;

struct PathEvent {
  PathId path = kNoPath;
  PathState state = PathState::kGood;
  uint32_t dropped = 0;  // events lost just before this one
};

struct Path {
  Entropy entropy{};
  Plane plane = 0;
  PathState state = PathState::kGood;
  uint8_t probe_successes = 0;
  uint8_t probe_successes_needed = kProbeSuccesses;
  uint64_t delivered_order = 0;  // newest transmission known to have arrived by this path
  Nanoseconds demoted_at = 0;
  Nanoseconds probe_at = kNever;  // next probe; only while assumed bad
  Nanoseconds probe_backoff = 0;
  bool has_outer = false;  // SRv6: outer_destination replaces the connection's
  IpAddress outer_destination;
  uint16_t profile_index = 0;  // of the entry it was made from

  // MRC 4.5 [P]: so many answers in a row bring a path back; twice as many after every relapse.
  static constexpr uint8_t kProbeSuccesses = 3;
  static constexpr uint8_t kProbeSuccessesMax = 64;
};

class PathSet {
 public:
  PathSet() = default;
  // Equal shares per plane, in a shuffled order that differs from set to set.
  void reset(const PathSetConfig& config, uint64_t seed);
  // The same with the paths of a profile or a template. Of each plane `paths_per_plane` drawn at random are
  // in use (all planes as many as the poorest has), the others wait as backups.
  void reset(const PathSetConfig& config, std::span<const EvEntry> entries, uint64_t seed);

  size_t size() const { return paths_.size(); }
  size_t active() const { return active_; }
  const Path& at(PathId id) const { return paths_[static_cast<uint16_t>(id)]; }
  // Planes that have at least one path in use.
  PlaneMask active_planes() const { return active_planes_; }

  // MRC 4.3: the next path of the rotation that is good and whose plane is in `usable`. A path in SKIP misses
  // one turn; at most one is forgiven per packet. kNoPath: no plane of `usable` has a path in use.
  PathId select(PlaneMask usable);
  // Any path of this plane, good ones first; for control packets, which follow the plane they answer on.
  PathId control_path(Plane plane);
  PathId find(Entropy entropy, Plane plane) const;

  // A packet sent as number `order` arrived by this path.
  void delivered(PathId id, uint64_t order) {
    Path& path = paths_[static_cast<uint16_t>(id)];
    if (order > path.delivered_order) path.delivered_order = order;
  }
  // MRC 4.2: the responder saw a congestion mark, or a switch trimmed the packet.
  void skip_once(PathId id);
  // Every SACK that names its path: was it marked? Calls skip_once, unless most marks are of the last hop
  // (MRC 5.4).
  void marked(PathId id, bool ce);
  // MRC 5.4: more than ~80 % of the recent SACKs are marked, so marks say nothing about single paths.
  bool marks_are_common() const;

  // MRC 4.5: packet number `order` was lost by this path without notice. Takes the path out of use, unless
  // losses are so common everywhere that this one says nothing. True if it went out.
  bool lost(PathId id, uint64_t order, Nanoseconds now);
  // Out of use without asking (MRC 4.2, ALWAYS_SKIP). True if the path went out.
  bool demote(PathId id, Nanoseconds now);
  // A probe of this path was answered. True if the path is in use again.
  bool probe_answered(PathId id, Nanoseconds now);

  // The next path that is due for a probe, or kNoPath. Schedules its following probe.
  PathId take_due_probe(Nanoseconds now);
  Nanoseconds next_probe() const { return next_probe_; }
  // MRC 4.5 [P]: probes are not closer than 4 round trips.
  void set_rtt(Nanoseconds rtt);
  // MRC 4.5, reverse path: call it when data came in; once per round trip without news about our own sending
  // it names a path to probe, else kNoPath. Its answer goes to probe_answered like any other.
  PathId take_reverse_probe(Nanoseconds now);

  // MRC 4.6: the local port went down or came back: all its paths leave or return at once, and nothing of it
  // is counted as loss.
  void port_down(Plane plane);
  void port_up(Plane plane, Nanoseconds now);
  // PORT_STATUS_UPDATE: the planes on which the peer can be reached.
  void set_remote_ports(PlaneMask usable, Nanoseconds now);
  // Planes up at both ends.
  PlaneMask port_planes() const;

  // MRC 4.2, 4.7: the controller's word, for every copy of this EV. How many paths changed.
  size_t deny(Entropy entropy, Nanoseconds now);
  size_t allow(Entropy entropy, Nanoseconds now);

  // The least number of paths in use that losses can lead to, with the ports as they are.
  size_t floor() const;

  // MRC 4.7: what happened to paths, oldest first; false = nothing. When the queue is full events are dropped
  // and counted.
  bool take_event(PathEvent* event);
  uint32_t events_dropped() const;

 private:
  Path& path(PathId id) { return paths_[static_cast<uint16_t>(id)]; }
  void shuffle();
  void set_active(PathId id, bool active);
  void restore(PathId id);
  void refresh_next_probe();
  uint64_t random();

  PathSetConfig config_;
  std::vector<Path> paths_;    // plane-major
  std::vector<PathId> order_;  // the rotation: every run of `planes` entries has one path of each plane
  size_t cursor_ = 0;
  size_t active_ = 0;
  std::vector<uint32_t> active_in_plane_;
  PlaneMask active_planes_ = 0;
  Nanoseconds next_probe_ = kNever;
  uint64_t random_ = 1;
};

}  // namespace mrc
