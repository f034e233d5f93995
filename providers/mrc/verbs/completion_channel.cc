// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/verbs/completion_channel.h"

#include <rdma/ib_user_verbs.h>

#include "providers/mrc/verbs/cq.h"

namespace mrc::provider {
namespace {

uint64_t handle_of(const ibv_cq* queue) {
  return reinterpret_cast<uintptr_t>(queue);
}

}  // namespace

bool CompletionChannel::send(ibv_cq* queue) {
  const ib_uverbs_comp_event_desc event{handle_of(queue)};
  const EventQueue::Delivery delivery = events_.send(&event, sizeof event);
  if (delivery == EventQueue::Delivery::kSent) Cq::of(queue)->reported.fetch_add(1);
  return delivery != EventQueue::Delivery::kFull;
}

void CompletionChannel::owe(ibv_cq* queue) {
  std::lock_guard lock(owed_lock_);
  owed_.push_back(queue);
}

void CompletionChannel::deliver() {
  std::lock_guard sending(socket_mutex_);
  for (;;) {
    ibv_cq* queue = nullptr;
    {
      std::lock_guard lock(owed_lock_);
      if (owed_.empty()) return;
      queue = owed_.front();
    }
    if (!send(queue)) return;
    std::lock_guard lock(owed_lock_);
    owed_.erase(owed_.begin());
  }
}

void CompletionChannel::forget(ibv_cq* queue) {
  std::lock_guard sending(socket_mutex_);
  {
    std::lock_guard lock(owed_lock_);
    std::erase(owed_, queue);
  }
  const uint32_t unread = events_.remove(sizeof(ib_uverbs_comp_event_desc), [queue](const void* event) {
    return static_cast<const ib_uverbs_comp_event_desc*>(event)->cq_handle == handle_of(queue);
  });
  Cq::of(queue)->reported.fetch_sub(unread);
}

}  // namespace mrc::provider
