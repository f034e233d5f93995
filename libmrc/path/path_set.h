// SPDX-License-Identifier: BSD-2-Clause
// The paths to a peer: which entropy values on which planes, the health of each, and which of them are in
// use. Whose turn it is, is another's to say: see PathTurns. path_health.cc judges, path_slots.cc is about
// who is in use, path_marks.cc about congestion, path_control.cc about the way of answers; path_set.cc is the
// rest: set-up, ports, controller.
//
// Every plane has the same number of slots in the rotation. A slot holds a path; a path that is lost gives
// its slot to a backup of its own plane, never of another (MRC 4.5), and waits for probes to bring it back.
//
// One loss is enough to take a path out, as MRC 4.5 asks, but only where it says something about the path.
// Each path carries the weight of evidence (a cumulative sum of log-likelihoods) for "worse than the rest": a
// loss adds log2(bad / usual), a delivery takes a little away, and 2^10 : 1 takes the path out. `usual` is
// the loss rate of all paths, so on a clean network the first loss does it, and with 1 % everywhere it takes
// three in close order. A loss counts as usual only if the path is known to have carried something later; a
// path or a plane that swallows everything thus never makes the others look normal.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "libmrc/path/ev_entry.h"
#include "libmrc/path/path_counters.h"
#include "libmrc/path/path_random.h"
#include "libmrc/path/retransmit_cause.h"
#include "libmrc/wire/identifiers.h"
#include "libmrc/wire/time.h"

namespace mrc {

// MRC 12.R6, 4.2: DENIED is the controller's; the others follow from what the network does.
enum class PathState : uint8_t { kGood, kSkip, kAssumedBad, kDenied };

enum class PathId : uint16_t {};
inline constexpr PathId kNoPath{0xFFFF};

// MRC 4.7: what a controller is told about. The values are OCP's.
inline constexpr uint8_t kPathEventGood = 1 << 0;
inline constexpr uint8_t kPathEventAssumedBad = 1 << 1;

struct PathSetConfig {
  uint32_t planes = 1;
  uint32_t paths_per_plane = 32;   // in use
  uint32_t backups_per_plane = 0;  // MRC 4.5: more paths, that take the place of bad ones of their plane
  uint32_t min_active = 0;         // MRC 4.2, ev_min_active; 0 = a quarter of those in use at first
  Nanoseconds probe_interval = kMillisecond;
  Nanoseconds probe_interval_max = kSecond;
  uint32_t mark_skip_turns_max = 32;  // MRC 4.2: SKIP after many marks in a row; a power of two, 128 at most
  uint32_t trim_skip_turns = 8;       // and after a trimmed packet, at least
  uint8_t event_mask = 0;             // kPathEvent*
  PathCounters* counters = nullptr;   // may be shared; null = not counted

  friend bool operator==(const PathSetConfig&, const PathSetConfig&) = default;
};

struct PathEvent {
  PathId path = kNoPath;
  PathState state = PathState::kGood;
  uint32_t dropped = 0;  // events lost just before this one
};

// What every packet may touch of a path. There are hundreds of them, so it is half a cache line; what only
// those need that have lost something is a PathTrouble, and where SRv6 leads is shared, see PathSet::way().
struct Path {
  uint64_t delivered_order = 0;  // newest transmission known to have arrived by this path
  Entropy entropy{};
  uint32_t sent = 0;           // packets of data, first or again
  uint16_t suspicion = 0;      // evidence that it is worse than the rest, in 1/16 bits
  uint16_t slot = kNoSlot;     // its place in the rotation; kNoSlot: a backup
  uint16_t profile_index = 0;  // of the entry it was made from
  uint16_t clean_deliveries = 0;
  Plane plane = 0;
  PathState state = PathState::kGood;
  uint8_t probe_successes = 0;
  uint8_t probe_successes_needed = kProbeSuccesses;
  uint8_t skip_turns = 0;        // kSkip: turns it still has to miss
  uint8_t lateness = 0;          // of its answers, of late; in units of the caller's
  uint8_t turns_missed : 4 = 0;  // while reluctant; comes round as its turns do
  uint8_t mark_level : 4 = 0;    // marked so many times more often than not, of late
  bool reluctant : 1 = false;    // in use only because of ev_min_active: few turns
  bool unexplained : 1 = false;  // lost something, nothing later arrived: gray or dead?
  bool late : 1 = false;         // a packet of it is overdue; nothing new goes there until that is settled
  bool has_outer : 1 = false;    // SRv6: outer_destination replaces the connection's
  bool has_segment : 1 = false;  // SRv6: with a routing header of one segment

  bool in_use() const { return slot != kNoSlot && (state == PathState::kGood || state == PathState::kSkip); }

  // In use, and nothing is to be thought about when its turn comes.
  bool is_plain() const {
    return slot != kNoSlot && state == PathState::kGood && !late && !reluctant && mark_level <= 1;
  }

  static constexpr uint16_t kNoSlot = 0xFFFF;
  // MRC 4.5 [P]: so many answers in a row bring a path back; twice as many after every relapse.
  static constexpr uint8_t kProbeSuccesses = 3;
  static constexpr uint8_t kProbeSuccessesMax = 64;
  // So many deliveries make one relapse forgotten.
  static constexpr uint16_t kForgetDeliveries = 4096;
};
static_assert(sizeof(Path) == 32);

// Of a path that has lost something, or was denied.
struct PathTrouble {
  uint64_t lost_order = 0;     // newest transmission that was lost
  Nanoseconds good_since = 0;  // losses of what was sent before it are old news
  Nanoseconds demoted_at = 0;
  Nanoseconds probe_at = kNever;  // next probe; only while assumed bad
  Nanoseconds probe_backoff = 0;
  uint32_t losses = 0;
  PathRetransmitCounts retransmits{};
};
static_assert(sizeof(PathTrouble) == 64);

// Entries of a profile or a template, which path sets of many queue pairs may share.
using EvEntries = std::shared_ptr<const std::vector<EvEntry>>;

class PathSet {
 public:
  // Room for events: a plane of the usual size that goes at once, twice. A controller that is slower hears
  // how many it has missed, and can read all states.
  static constexpr uint32_t kEventsMax = 64;

  // What its owner should look at.
  static constexpr uint8_t kNewsOfEvents = 1 << 0;  // see take_event()
  static constexpr uint8_t kNewsOfProbes = 1 << 1;  // next_probe() may be sooner than it was
  static constexpr uint8_t kNewsOfPlanes = 1 << 2;  // one is back, and no port has said so

  PathSet() = default;
  // Of who has no paths. Nothing ever changes in it.
  static PathSet& none();
  // Equal shares per plane.
  void reset(const PathSetConfig& config, uint64_t seed);
  // The same with the paths of a profile or a template. Of each plane `paths_per_plane` drawn at random are
  // in use (all planes as many as the poorest has), the others wait as backups. Entries of planes that there
  // are not are left out.
  void reset(const PathSetConfig& config, const EvEntries& entries, uint64_t seed);
  void reset(const PathSetConfig& config, std::vector<EvEntry> entries, uint64_t seed) {
    reset(config, std::make_shared<const std::vector<EvEntry>>(std::move(entries)), seed);
  }

  size_t size() const { return paths_.size(); }  // backups too
  // How many are in use when all is well; the others are backups.
  size_t places() const { return slots_.size(); }
  // Of each plane so many, one behind the other.
  uint32_t share() const { return share_; }
  uint32_t planes() const { return config_.planes; }
  // Who has this place; kNoPath: the plane has no paths at all.
  PathId in_slot(uint16_t slot) const { return slots_[slot]; }
  // Paths in use whose ports are up at both ends.
  size_t active() const { return active_; }
  // From the first to the last of those who come its paths are counted there, once.
  void enter(PathTotals& totals);
  void leave();
  const Path& at(PathId id) const { return paths_[static_cast<uint16_t>(id)]; }
  // SRv6: what the entry says that it was made from. Only with has_outer.
  const EvEntry& way(const Path& path) const { return (*ways_)[path.profile_index]; }
  // Planes that have at least one path in use.
  PlaneMask active_planes() const { return active_planes_; }
  // MRC 4.2: losses never leave fewer paths in use; ev_min_active, in proportion to the ports that are up.
  size_t floor() const;

  // An answer of this path came so much later than the soonest. A moving average of four or so: hashes fill
  // some links more than others for as long as they are what they are.
  void answered_after(PathId id, uint8_t lateness) {
    uint8_t& usual = path(id).lateness;
    usual = static_cast<uint8_t>((3u * usual + lateness + 2) / 4);
  }
  // Whether the paths are routes of their own, and not just other EVs.
  bool has_ways() const { return ways_ != nullptr; }
  // MRC 4.5, reverse set: a path of this plane for control packets, which follow the plane they answer on.
  // One that was seen to work not long ago, else the one on which the peer was heard, else any good one.
  // `asked`: for a probe, which the peer also sends when it hears nothing.
  PathId control_path(Plane plane, Entropy heard = {}, bool asked = false);
  PathId find(Entropy entropy, Plane plane) const;

  // The number of a transmission that goes out now, of data or a question. Whatever is said of order below is
  // of these.
  uint64_t next_order() { return ++order_; }
  // A packet of data goes by this path.
  void count_sent(PathId id) { ++path(id).sent; }
  // How many were lost by it.
  uint32_t losses(const Path& path) const {
    return troubles_.empty() ? 0 : troubles_[static_cast<size_t>(&path - paths_.data())].losses;
  }
  // What was sent by this path is sent again, by whichever.
  void count_retransmit(PathId id, RetransmitCause cause) {
    if (know_troubles()) ++trouble(path(id)).retransmits[static_cast<size_t>(cause)];
  }
  PathRetransmitCounts retransmits(const Path& path) const {
    return troubles_.empty() ? PathRetransmitCounts{}
                             : troubles_[static_cast<size_t>(&path - paths_.data())].retransmits;
  }
  // A packet sent as number `order` arrived by this path. Said once, and not for what was sent sooner by the
  // same sender: see ArrivalsByPath.
  [[gnu::hot]] void delivered(PathId id, uint64_t order) {
    Path& path = paths_[static_cast<uint16_t>(id)];
    loss_rate_ -= loss_rate_ >> kLossRateShift;
    if ((++path.clean_deliveries & (Path::kForgetDeliveries - 1)) == 0 || path.suspicion != 0 ||
        path.reluctant || path.unexplained || path.late)
      clear(path, order);
    if (order > path.delivered_order) path.delivered_order = order;
    news(path, id, order);
  }
  // MRC 4.5: packet number `order`, sent by this path at `sent_at`, was lost without notice. Takes the path
  // out of use, unless losses are so common that this one says nothing. True if it went out.
  bool lost(PathId id, uint64_t order, Nanoseconds sent_at, Nanoseconds now);
  // Packets that were sent after one of this path have arrived, and it has not. Too soon to call it lost, but
  // soon enough to send the next ones elsewhere: a path that swallows everything gets less to swallow.
  void overdue(PathId id) { path(id).late = true; }
  void settled(PathId id) { path(id).late = false; }
  // Out of use without asking (MRC 4.2, ALWAYS_SKIP). True if the path went out.
  bool demote(PathId id, Nanoseconds now);
  // Of all paths, as far as single losses go unexplained; 0..1.
  double loss_rate() const { return static_cast<double>(loss_rate_) / kOne; }

  // MRC 4.2: the responder saw a congestion mark. Nothing happens while marks are common.
  void skip_once(PathId id) { skip(path(id), 0); }
  // MRC 4.2: a switch of the core trimmed a packet: its queue is not just there, it is full.
  void trimmed(PathId id) { skip(path(id), trim_level_); }
  // For every SACK that names its path: was it marked? Does skip_once as well.
  void marked(PathId id, bool ce);
  // So many packets arrived without a SACK of their own, which every marked packet has (MRC 3.1). Without
  // them marks would seem to be more common than they are.
  void unmarked(uint32_t packets);
  // MRC 5.4: more than ~80 % of the recent packets are marked. That is the last hop, and no path is better.
  bool marks_are_common() const { return marks_ > kMarksCommon; }

  // A probe of this path was answered, marked or not, after so long (0 = unknown). True if the path is in use
  // again.
  bool probe_answered(PathId id, Nanoseconds now, bool ce = false, Nanoseconds took = 0);
  // The next path that is due for a probe, or kNoPath. Schedules its following probe.
  PathId take_due_probe(Nanoseconds now);
  Nanoseconds next_probe() const { return next_probe_; }
  // So many were taken since one was answered.
  uint32_t unanswered_probes() const { return unanswered_probes_; }
  // When they were due nobody was there to ask, and now somebody is.
  void remind_of_probes() {
    if (next_probe_ != kNever) news_ |= kNewsOfProbes;
  }
  // MRC 4.5 [P]: probes are not closer than 4 round trips.
  void set_rtt(Nanoseconds rtt) { rtt_ = rtt; }
  // MRC 4.5, reverse set: call it when data came in. Where our own sending brings no news it names a path to
  // probe once in a while, else kNoPath. The answer goes to probe_answered like any other.
  PathId take_reverse_probe(Nanoseconds now);
  // Whether that has anything to do.
  bool reverse_probe_due(Nanoseconds now) const { return now >= reverse_probe_at_; }

  // MRC 4.6: the local port went down or came back: all its paths leave or return at once, and nothing of it
  // counts as loss.
  void port_down(Plane plane);
  void port_up(Plane plane, Nanoseconds now);
  // Of which it knows something else than this.
  PlaneMask local_ports_unlike(PlaneMask up) const {
    return (local_ports_ ^ up) & static_cast<PlaneMask>((uint64_t{1} << config_.planes) - 1);
  }
  // PORT_STATUS_UPDATE: the planes on which the peer can be reached. Anybody can forge it, so a plane that is
  // said to be down is asked (take_due_probe names a path of it), is back at once if it answers, and is back
  // after a while unless the news is repeated.
  void set_remote_ports(PlaneMask usable, Nanoseconds now);
  // What was sent by this plane at `sent_at` has arrived. True: its peer's port was said to be down, and the
  // plane is back; the like is not believed again for a while.
  bool plane_answered(Plane plane, Nanoseconds sent_at, Nanoseconds now);
  // Planes up at both ends.
  PlaneMask port_planes() const { return local_ports_ & remote_ports_; }

  // MRC 12.C2, 4.2, 4.7: the profile that the paths were made of has changed: an entry with another way takes
  // the place of its path, which begins anew; what is denied goes, also below the floor, and what is not any
  // more comes back. Entries are found by their number. How many paths changed.
  size_t follow(const EvEntries& wanted, Nanoseconds now);
  // Whether the paths are then those that would be made of these entries.
  bool can_follow(const std::vector<EvEntry>& entries) const;
  void set_event_mask(uint8_t mask);

  // MRC 12.C3, 4.7: what happened to paths, oldest first; false = nothing. When the queue is full, events are
  // dropped and counted.
  bool take_event(PathEvent* event);
  bool has_events() const { return event_count_ != 0; }
  bool has_news() const { return news_ != 0; }
  uint8_t take_news() { return std::exchange(news_, uint8_t{0}); }
  uint32_t events_dropped() const { return events_dropped_; }

 private:
  struct PlaneInfo {
    uint16_t first = 0;  // its paths, one behind the other
    uint16_t count = 0;
    uint16_t in_use = 0;
    uint16_t silent_losses = 0;  // lost since anything of the plane arrived
    uint64_t delivered_order = 0;
    PathId working = kNoPath;  // the reverse EV
    uint8_t working_uses = 0;  // since it was seen to work
    uint8_t questions = 0;     // of the peer's, that nothing was known for
    // The peer's port was said to be down:
    Nanoseconds news_at = 0;
    Nanoseconds news_until = kNever;  // and is not believed any longer
    Nanoseconds ask_at = kNever;
    Nanoseconds ask_backoff = 0;
    Nanoseconds trusted_until = 0;  // it has answered in spite of such news
    Nanoseconds good_since = 0;     // it came back then: older losses of its paths are old news
  };

  static constexpr uint32_t kOne = 1u << 24;  // of loss_rate_
  // A moving average of the last thousand packets or so, of all paths: some windows, so that one burst does
  // not look usual, and a network that has got worse does soon.
  static constexpr unsigned kLossRateShift = 10;
  // The usual rate is never taken for less than this, 1 in 16,384. The first loss on a clean network then
  // weighs 2^11 : 1 and more, which is enough to take the path out.
  static constexpr uint32_t kUsualLossMin = kOne >> 14;
  // What a bad path loses: three times the usual, for less would take too many packets to tell from chance;
  // but a fifth at least, so that some forty deliveries make up for a loss and not some hundreds; and nine
  // tenths at most, or a single delivery would prove the contrary. The usual rate stays below that, so that
  // deliveries always count for something.
  static constexpr uint32_t kBadLossTimes = 3;
  static constexpr uint32_t kBadLossMin = kOne / 5;
  static constexpr uint32_t kBadLossMax = kOne / 10 * 9;
  static constexpr uint32_t kUsualLossMax = kOne / 10 * 8;
  // The same for marks, over the last 32 answers or so.
  static constexpr uint32_t kMarksOne = 1u << 16;
  static constexpr unsigned kMarksShift = 5;
  static constexpr uint32_t kMarksMemory = 128;  // packets; older ones weigh nothing
  static constexpr uint32_t kMarksCommon = kMarksOne / 5 * 4;
  // A path for control packets is trusted for so many. Every answer of the peer makes it new; a responder
  // that only acknowledges finds out after so many SACKs, about a window of data, that nobody hears it.
  static constexpr uint8_t kWorkingUses = 64;
  // MRC 4.2 [P]: ev_min_active, where nobody says, is such a part of the paths in use at first. Fewer would
  // be a worse network than more of which some are bad.
  static constexpr uint32_t kFloorPart = 4;
  // MRC 4.5 [P]: probes of a path are not closer than so many round trips: an answer that has met a queue is
  // there before the next question goes.
  static constexpr Nanoseconds kProbeRoundTrips = 4;
  // Reverse probes may be closer than those of paths that are out: they keep a path that is in use known.
  static constexpr Nanoseconds kReverseProbesPerInterval = 4;

  friend class PathTurns;
  Path& path(PathId id) { return paths_[static_cast<uint16_t>(id)]; }
  PathId id_of(const Path& path) const { return PathId(&path - paths_.data()); }
  static bool follows(const Path& path, const std::vector<EvEntry>& entries);
  EvEntries ways_after(const EvEntries& wanted) const;
  // Makes place for what may be said of bad paths. False: there is no memory; then nothing is said.
  bool know_troubles() noexcept;
  PathTrouble& trouble(const Path& path) { return troubles_[static_cast<size_t>(&path - paths_.data())]; }
  std::span<Path> paths_of(Plane plane) {
    return {paths_.data() + planes_[plane].first, planes_[plane].count};
  }
  bool port_is_up(Plane plane) const { return (port_planes() >> plane & 1) != 0; }

  void fill_slots();
  void news(const Path& path, PathId id, uint64_t order) {
    PlaneInfo& plane = planes_[path.plane];
    if (order > plane.delivered_order) {
      plane.delivered_order = order;
      plane.silent_losses = 0;
      if (order > delivered_order_) delivered_order_ = order;
    }
    works(path, id);
    sending_heard_ = true;
  }
  void works(const Path& path, PathId id) {
    if (path.state != PathState::kGood && path.state != PathState::kSkip) return;
    planes_[path.plane].working = id;
    planes_[path.plane].working_uses = 0;
  }
  void skip(Path& busy, uint8_t level);
  void miss_turns(Path& busy);
  void forgive(Path& busy);
  void clear(Path& path, uint64_t order);
  void count_loss();
  uint32_t loss_weight() const;
  uint32_t delivery_weight() const;
  bool plane_is_silent(const PlaneInfo& plane) const;
  void empty_silent_plane(Plane plane, Nanoseconds now);

  void deny(Path& path);
  bool take_out(Path& bad, Nanoseconds now, bool silent);
  void assume_bad(Path& bad, Nanoseconds now);
  Path* backup(Plane plane);
  Path* swap_candidate(const Path& bad, bool silent);
  void bring_back(Path& good, Nanoseconds now, bool damp, uint64_t PathCounters::*why);
  void take_slot(Path& good);
  void give_slot(Path& from, Path& to);
  void count_in_use(const Path& path, int change);
  void keep_floor();
  void refresh_ports(PlaneMask before, Nanoseconds now);
  void expire_port_news(Nanoseconds now);
  PathId take_port_question(Nanoseconds now);
  void report(const Path& path);

  Nanoseconds probe_interval() const { return std::max(config_.probe_interval, kProbeRoundTrips * rtt_); }
  void schedule_probe(Path& bad, Nanoseconds at);
  void refresh_next_probe();

  void change_active(int change) {
    active_ += static_cast<size_t>(change);
    if (totals_ != nullptr) totals_->active += static_cast<uint32_t>(change);
  }
  void tally(uint64_t PathCounters::*what) {
    if (config_.counters != nullptr) ++(config_.counters->*what);
  }

  PathSetConfig config_;
  uint8_t mark_level_max_ = 0;  // how often the turns of a path that skips may double, and one more
  uint8_t trim_level_ = 0;
  std::vector<Path> paths_;            // plane by plane
  std::vector<PathTrouble> troubles_;  // of paths_; empty until one of them has some
  EvEntries ways_;                     // only if some have an outer destination
  std::vector<PathId> slots_;          // plane by plane, `share_` each
  std::vector<uint16_t> even_order_;   // room for the order of a plane, while somebody draws it
  uint32_t share_ = 0;
  size_t active_ = 0;
  PathTotals* totals_ = nullptr;  // while somebody is there
  uint32_t entered_ = 0;
  PlaneMask active_planes_ = 0;
  PlaneMask local_ports_ = 0;
  PlaneMask remote_ports_ = 0;
  std::vector<PlaneInfo> planes_;

  uint64_t order_ = 0;            // transmissions so far
  uint64_t delivered_order_ = 0;  // the newest that has arrived by any path
  uint32_t loss_rate_ = 0;
  uint32_t marks_ = 0;
  uint8_t news_ = 0;
  uint32_t unanswered_probes_ = 0;
  Nanoseconds next_probe_ = kNever;
  Nanoseconds rtt_ = 0;
  Nanoseconds reverse_probe_at_ = 0;
  bool sending_heard_ = false;
  PathRandom random_;

  std::vector<PathEvent> events_;  // a ring
  size_t event_first_ = 0;
  size_t event_count_ = 0;
  uint32_t events_dropped_ = 0;
  uint32_t dropped_since_ = 0;
};

}  // namespace mrc
