// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/verbs/completion_channel.h"

#include <rdma/ib_user_verbs.h>

#include "providers/mrc/verbs/cq.h"

namespace mrc::provider {
bool CompletionChannel::send(ibv_cq* queue) {
  const ib_uverbs_comp_event_desc event{handle_of(queue)};
  const EventQueue::Delivery delivery = events_.send(&event, sizeof event);
  if (delivery == EventQueue::Delivery::kSent) Cq::of(queue)->reported.fetch_add(1);
  return delivery != EventQueue::Delivery::kFull;
}

void CompletionChannel::owe(Owed& queue) noexcept {
  std::lock_guard lock(owed_lock_);
  ++queue.events;
  owed_.push_back(queue.node);
}

// In turn: a queue that is owed several waits for the others after each.
void CompletionChannel::deliver() noexcept {
  std::lock_guard sending(socket_mutex_);
  for (;;) {
    Owed* first = nullptr;
    {
      std::lock_guard lock(owed_lock_);
      if (owed_.empty()) return;
      first = &owed_.front();
    }
    if (!send(first->queue)) return;
    std::lock_guard lock(owed_lock_);
    owed_.remove(first->node);
    if (--first->events > 0) owed_.push_back(first->node);
  }
}

void CompletionChannel::forget(Owed& queue) {
  std::lock_guard sending(socket_mutex_);
  {
    std::lock_guard lock(owed_lock_);
    owed_.remove(queue.node);
    queue.events = 0;
  }
  const uint32_t unread = events_.remove(sizeof(ib_uverbs_comp_event_desc), [&queue](const void* event) {
    return static_cast<const ib_uverbs_comp_event_desc*>(event)->cq_handle == handle_of(queue.queue);
  });
  Cq::of(queue.queue)->reported.fetch_sub(unread);
}

}  // namespace mrc::provider
