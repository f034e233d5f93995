// SPDX-License-Identifier: BSD-2-Clause
// [P] Who hears nothing sends nothing: a window that closes waits for a SACK, and what a SACK has shown to be
// missing is taken for lost if none shows it again. A peer speaks when enough has come, or when it is asked
// (MRC 3.1). A small window may be too little for the one, and may have closed since it was used, by what
// was heard, too late for the other. Then a probe asks, when all that is under way should be there.
#include <algorithm>

#include "libmrc/mrc/requester.h"

namespace mrc {

bool Requester::answer_under_way() const {
  return sent_.contains(asked_) && sent_.at(asked_).state == PacketState::kInFlight;
}

// The window is closed, and what is under way must open it. If that is much, the peer speaks by itself.
void Requester::ask_when_all_may_be_there(const Context& cx) {
  const bool enough = sent_.in_flight_nominal() > config_->sack_threshold_bytes;
  if (sent_.in_flight() == 0 || enough || !rtt_.known() || answer_under_way()) return;
  ask_at_the_latest(std::max(cx.now, sent_.at(sent_.next() - 1).sent_at + rtt_.smoothed()));
}

void Requester::ask_early(Context& cx) {
  ask_at_ = kNever;
  if (sent_.in_flight() == 0 || answer_under_way()) return;
  const PathId path = cx.turns.next_in_use(cx.paths, cx.connection.resolved);
  if (path == kNoPath) return;
  send_probe(cx, path);
  asked_ = sent_.next() - 1;
}

}  // namespace mrc
