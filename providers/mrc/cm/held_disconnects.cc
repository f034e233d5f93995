// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/cm/held_disconnects.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "providers/mrc/verbs/clock.h"

namespace mrc::provider {
namespace {

// A program that does not poll at all hears of it all the same.
constexpr Nanoseconds kPatience = 50 * kMillisecond;

using Queues = std::array<const CompletionQueue*, 2>;

// Null: the queue pair is gone, or the program itself has ended it and waits for nothing.
Queues queues_of(Device& device, Qpn qpn) {
  const QueuePair* qp = device.shard_of(qpn).engine().find(qpn);
  if (qp == nullptr || !qp->connected()) return {};
  return {qp->config().send_completions, qp->config().receive_completions};
}

bool unpolled(const CompletionQueue* queue, uint64_t pushed) {
  return queue != nullptr && !queue->empty() && queue->polled() < pushed;
}

}  // namespace

bool HeldDisconnects::behind_another(const cm::Event& event) const {
  return std::any_of(held_.begin(), held_.end(),
                     [&](const Held& held) { return held.event.connection == event.connection; });
}

void HeldDisconnects::take(const cm::Event& event, Qpn qpn, Device& device, Nanoseconds now) {
  if (event.kind == cm::Event::Kind::kDisconnected) {
    Shard& shard = device.shard_of(qpn);
    Progress::Control control(shard.progress());
    // The planes are read one after the other: an older frame may still wait in another one.
    shard.engine().progress(clock_now());
    const Queues queues = queues_of(device, qpn);
    Held held{event, qpn, {}, now + kPatience};
    bool wait = false;
    for (size_t i = 0; i < queues.size(); ++i) {
      if (queues[i] != nullptr) held.pushed[i] = queues[i]->pushed();
      wait = wait || unpolled(queues[i], held.pushed[i]);
    }
    if (wait) return held_.push_back(held);
  }
  if (behind_another(event)) return held_.push_back({event, {}, {}, now + kPatience});
  deliver_(event);
}

void HeldDisconnects::release(Device& device, Nanoseconds now) {
  if (held_.empty()) return;
  std::vector<Held> ready;
  for (Held& held : std::exchange(held_, {})) {
    Progress::Control control(device.shard_of(held.qpn).progress());
    const Queues queues = queues_of(device, held.qpn);
    const bool wait =
        now < held.until && (unpolled(queues[0], held.pushed[0]) || unpolled(queues[1], held.pushed[1]));
    (wait || behind_another(held.event) ? held_ : ready).push_back(std::move(held));
  }
  for (const Held& held : ready) deliver_(held.event);
}

}  // namespace mrc::provider
