// SPDX-License-Identifier: BSD-2-Clause
// MRC 12.C5, 4.6: the links of the local ports, and telling the peers of them.
#include <algorithm>

#include "libmrc/engine/engine.h"

namespace mrc {

namespace {
constexpr Nanoseconds kPortCheckInterval = 50 * kMicrosecond;
constexpr Nanoseconds kAnnounceInterval = kMillisecond;             // until the peer answers
constexpr Nanoseconds kAnnounceAgainInterval = 100 * kMillisecond;  // while a port is down
constexpr Nanoseconds kAnnounceMissedInterval = kSecond;            // while somebody has not answered
constexpr uint32_t kAnnounceAttemptsMax = 7;
// Peers that a turn looks at, and when the next turn does.
constexpr size_t kLookedAtAtOnce = 64;
constexpr Nanoseconds kAnnounceMoreInterval = kMicrosecond;
}  // namespace

void Engine::set_ports_enabled(PlaneMask enabled) {
  if (ports_enabled_ != enabled) ports_checked_ = 0;
  ports_enabled_ = enabled;
}

void Engine::check_ports(Nanoseconds now) {
  if (now >= announce_at_) announce_ports(now);
  if (now >= tell_at_) tell_more(now);
  if (now - ports_checked_ < kPortCheckInterval) return;
  ports_checked_ = now;
  PlaneMask up = 0;
  for (size_t plane = 0; plane < transmitter_.plane_count(); ++plane)
    if (transmitter_.port(static_cast<Plane>(plane)).link_up()) up |= PlaneMask{1} << plane;
  up &= ports_enabled_;
  if (up == services_.ports_up) return;
  services_.ports_up = up;
  sink_->ports_changed(up);
  tell_all(kNewsOfPorts, now);
  ++announcement_;
  announcing_.anew = true;
  begin_announcing(now);
}

// MRC 4.6 [P]: every peer is told until it answers, at most 7 times, and again from time to time while a port
// is down or somebody has not answered: a peer that has missed that a port is back would never use it again.
void Engine::begin_announcing(Nanoseconds now) {
  if (announcing_.anew) peers_.begin_round();
  announcing_ = {.pass = announcing_.pass + 1, .under_way = true, .began_at = now};
  announce_ports(now);
}

// A burst's worth of them.
void Engine::announce_ports(Nanoseconds now) {
  if (!announcing_.under_way) return begin_announcing(now);
  LinkedList<Peer>& peers = peers_.uninformed();
  size_t told = 0;
  for (size_t looked_at = 0; !peers.empty() && peers.front().our_ports.pass != announcing_.pass;
       ++looked_at) {
    if (looked_at == kLookedAtAtOnce || told * transmitter_.plane_count() >= kBurst) {
      announce_at_ = now + kAnnounceMoreInterval;
      return;
    }
    Peer& peer = peers.front();
    peers.rotate();
    peer.our_ports.pass = announcing_.pass;
    if (announce_to(peer, now)) ++told;
  }
  announcing_.under_way = false;
  const bool degraded = __builtin_popcount(services_.ports_up) < static_cast<int>(transmitter_.plane_count());
  announcing_.anew = !announcing_.pending && (degraded || announcing_.missed);
  announce_at_ = kNever;
  if (announcing_.pending)
    announce_at_ = std::max(now, announcing_.began_at + kAnnounceInterval);
  else if (announcing_.anew)
    announce_at_ = now + (degraded ? kAnnounceAgainInterval : kAnnounceMissedInterval);
}

// False: there is nobody to tell it, or it was told too often.
bool Engine::announce_to(Peer& peer, Nanoseconds now) {
  if (peer.members.empty()) return false;
  uint32_t& attempts = peers_.attempts(peer);
  if (attempts == kAnnounceAttemptsMax) {
    announcing_.missed = true;
    return false;
  }
  ++attempts;
  announcing_.pending = true;
  // One queue pair speaks for all that lead to the same peer.
  peer.members.front().announce_ports(services_.ports_up, announcement_, services_, now);
  return true;
}

}  // namespace mrc
