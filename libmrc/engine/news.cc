// SPDX-License-Identifier: BSD-2-Clause
// What changes for many queue pairs, a port, a peer's or a profile, reaches them a few in each turn: however
// many there are, nobody who sends or receives waits for longer than a burst.
#include <algorithm>

#include "libmrc/engine/engine.h"

namespace mrc {

namespace {
constexpr size_t kToldAtOnce = 16;
constexpr Nanoseconds kTellInterval = kMicrosecond;
}  // namespace

// The first are told at once. Who has heard before, of this or of something earlier, finds nothing new. News
// that come one after the other begin where the last ones are, so that all hear some.
void Engine::tell_all(uint8_t news, Nanoseconds now) {
  news_ |= news;
  untold_ = live_.size();
  tell_more(now);
}

void Engine::tell_more(Nanoseconds now) {
  for (size_t i = 0; i < kToldAtOnce && untold_ > 0; ++i, --untold_) {
    if (told_ >= live_.size()) told_ = 0;
    tell(*live_[told_++], now);
  }
  tell_at_ = untold_ > 0 ? now + kTellInterval : kNever;
  if (untold_ == 0) news_ = 0;
}

void Engine::tell(QueuePair& qp, Nanoseconds now) {
  if ((news_ & kNewsOfPorts) != 0) qp.follow_ports(services_, now);
  if ((news_ & kNewsOfPeers) != 0) qp.follow_remote_ports(now);
  if ((news_ & kNewsOfProfiles) != 0) qp.follow_profile(services_, now);
  schedule(qp);  // it may have had no path until now
  if ((news_ & kNewsOfProfiles) != 0) after_work(qp, now);
}

void Engine::forget(const QueuePair& qp) {
  const auto place = std::find(live_.begin(), live_.end(), &qp);
  if (static_cast<size_t>(place - live_.begin()) < told_) --told_;
  live_.erase(place);
  untold_ = std::min(untold_, live_.size());
}

}  // namespace mrc
