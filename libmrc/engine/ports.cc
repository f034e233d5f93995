// SPDX-License-Identifier: BSD-2-Clause
// MRC 12.C5, 4.6: the links of the local ports, and telling the peers of them.
#include "libmrc/engine/engine.h"

namespace mrc {

namespace {
constexpr Nanoseconds kPortCheckInterval = 50 * kMicrosecond;
constexpr Nanoseconds kAnnounceInterval = kMillisecond;             // until the peer answers
constexpr Nanoseconds kAnnounceAgainInterval = 100 * kMillisecond;  // while a port is down
constexpr Nanoseconds kAnnounceMissedInterval = kSecond;            // while somebody has not answered
constexpr uint32_t kAnnounceAttemptsMax = 7;
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
  announce_anew_ = true;
  announce_ports(now);
}

// MRC 4.6 [P]: every peer is told until it answers, at most 7 times, and again from time to time while a port
// is down or somebody has not answered: a peer that has missed that a port is back would never use it again.
void Engine::announce_ports(Nanoseconds now) {
  if (announce_anew_) {
    announce_anew_ = false;
    peers_.for_each([](Peer& peer) {
      peer.ports_told = false;
      peer.ports_attempts = 0;
    });
  }
  const PlaneMask up = services_.ports_up;
  bool pending = false;
  bool missed = false;
  peers_.for_each([&](Peer& peer) {
    if (peer.ports_told) return;
    // One queue pair speaks for all that lead to the same peer.
    QueuePair* qp = peer.members.find([](const QueuePair& member) { return member.connected(); });
    if (qp == nullptr) return;
    if (peer.ports_attempts == kAnnounceAttemptsMax) {
      missed = true;
      return;
    }
    ++peer.ports_attempts;
    qp->announce_ports(up, announcement_, services_, now);
    pending = true;
  });
  const bool degraded = __builtin_popcount(up) < static_cast<int>(transmitter_.plane_count());
  announce_at_ = kNever;
  if (pending) {
    announce_at_ = now + kAnnounceInterval;
  } else if (degraded || missed) {
    announce_at_ = now + (degraded ? kAnnounceAgainInterval : kAnnounceMissedInterval);
    announce_anew_ = true;
  }
}

}  // namespace mrc
