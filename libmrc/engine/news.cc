// SPDX-License-Identifier: BSD-2-Clause
// What changes for many queue pairs, a port, a peer's, a profile or a fault, reaches them a few in each turn:
// however many there are, nobody who sends or receives waits for longer than a burst.
#include "libmrc/engine/engine.h"

namespace mrc {

namespace {
constexpr size_t kToldAtOnce = 16;
// Who follows a profile looks at all its paths: with more than so many it counts for several.
constexpr size_t kPathsToldAtOnce = 4096;
constexpr Nanoseconds kTellInterval = kMicrosecond;
}  // namespace

// The first are told at once. Who has heard before, of this or of something earlier, finds nothing new. News
// that come one after the other begin where the last ones are, so that all hear some.
void Engine::tell_all(uint8_t news, Nanoseconds now) {
  news_ |= news;
  ++news_number_;
  tell_more(now);
}

void Engine::tell_more(Nanoseconds now) {
  bool more = true;
  size_t paths = 0;
  for (size_t told = 0; more && told < kToldAtOnce && paths < kPathsToldAtOnce; ++told) {
    const bool profiles = (news_ & kNewsOfProfiles) != 0;
    more = tell_next(now);
    if (more && profiles) paths += alive_.back().paths().size();
    more |= tell_next_member(now);
  }
  tell_at_ = more ? now + kTellInterval : kNever;
}

// False: everybody has heard.
bool Engine::tell_next(Nanoseconds now) {
  if (news_ == 0) return false;
  if (alive_.empty() || alive_.front().news_heard_ == news_number_) {
    news_ = 0;
    return false;
  }
  QueuePair& qp = alive_.front();
  qp.news_heard_ = news_number_;
  alive_.rotate();
  tell(qp, now);
  return true;
}

void Engine::tell(QueuePair& qp, Nanoseconds now) {
  if ((news_ & kNewsOfPorts) != 0) qp.follow_ports(services_, now);
  if ((news_ & kNewsOfProfiles) != 0) qp.follow_profile(services_, now);
  if ((news_ & kNewsOfOrder) != 0) qp.on_timer(services_, now);
  schedule(qp);  // it may have had no path until now
  if ((news_ & (kNewsOfProfiles | kNewsOfOrder)) != 0) after_work(qp, now);
}

// What a peer said of its ports concerns nobody but those who are connected to it.
bool Engine::tell_next_member(Nanoseconds now) {
  for (LinkedList<Peer>& peers = peers_.with_news(); !peers.empty(); peers.pop_front()) {
    LinkedList<QueuePair>& members = peers.front().members;
    if (members.empty() || members.front().has_heard_of_remote_ports()) continue;
    QueuePair& qp = members.front();
    members.rotate();
    qp.follow_remote_ports(now);
    schedule(qp);
    return true;
  }
  return false;
}

}  // namespace mrc
