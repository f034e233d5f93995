// SPDX-License-Identifier: BSD-2-Clause
// MRC 12.C2, 12.C3, 4.7: the controller's word reaches live queue pairs. What happens to the paths of a peer
// reaches it, and wakes those who wait for them; and one queue pair asks for all when they are back.
#include <algorithm>

#include "libmrc/engine/engine.h"

namespace mrc {

namespace {
// Questions in a row that one asks in vain.
constexpr uint32_t kAskedInVainMax = 32;
// Of those that could ask, so many are looked at for one that hears something.
constexpr size_t kAskersTried = 4;
}  // namespace

void Engine::follow_profiles(Nanoseconds clock) {
  ++services_.profiles_told;
  tell_all(kNewsOfProfiles, advance(clock));
}

// What has become of the paths of this queue pair, whoever it was that changed them.
void Engine::tell_path_news(QueuePair& qp, Nanoseconds now) {
  PeerPaths* const paths = qp.peer_paths();
  if (paths == nullptr) return;
  const uint8_t news = paths->set.take_news();
  if ((news & PathSet::kNewsOfEvents) != 0) tell_path_events(qp, paths->set);
  if ((news & PathSet::kNewsOfProbes) != 0) set_timer(*paths);
  if ((news & PathSet::kNewsOfPlanes) != 0) {
    // Others may wait for a plane, too.
    ++qp.peer()->ports_news;
    peers_.note_news(*qp.peer());
    tell_at_ = std::min(tell_at_, now);
  }
}

// Once for all who share them: it is about the path, and they have the same profile.
void Engine::tell_path_events(const QueuePair& qp, PathSet& paths) {
  for (PathEvent event; paths.take_event(&event);) sink_->path_event(qp, event);
}

// Behind those of queue pairs.
uint32_t Engine::timer_of(const PeerPaths& paths) const {
  return static_cast<uint32_t>(queue_pairs_.size()) + paths.index;
}

void Engine::set_timer(const PeerPaths& paths) {
  if (const Nanoseconds at = paths.set.next_probe(); at != kNever) timers_.set(timer_of(paths), at);
}

// The one that did it last, as long as it gets answers: who hears nothing itself would find every path bad.
QueuePair* Engine::asker_of(PeerPaths& paths) {
  LinkedList<QueuePair>& askers = paths.askers;
  if (askers.empty()) return nullptr;
  const uint32_t unanswered = paths.set.unanswered_probes();
  paths.in_vain = std::min(paths.in_vain, unanswered);
  if (unanswered - paths.in_vain >= kAskedInVainMax) {
    paths.in_vain = unanswered;
    askers.rotate();
  }
  for (size_t tried = 1; tried < kAskersTried && !askers.front().hears(); ++tried) askers.rotate();
  return &askers.front();
}

void Engine::ask_about_paths(PeerPaths& paths, Nanoseconds now) {
  QueuePair* const qp = asker_of(paths);
  if (qp == nullptr) return;
  qp->ask_about_paths(services_, now);
  set_timer(paths);
  after_work(*qp, now);
}

}  // namespace mrc
