// SPDX-License-Identifier: BSD-2-Clause
// A completion channel: events of completion queues on their way to ibv_get_cq_event().
#pragma once

#include <infiniband/verbs.h>

#include <mutex>
#include <vector>

#include "providers/mrc/event_queue.h"

namespace mrc::provider {

class CompletionChannel {
 public:
  EventQueue& events() { return events_; }

  // One event of the queue. If the socket is full the event is owed and goes out after the next read.
  void notify(ibv_cq* queue);
  // The application has read an event: there is room again.
  void on_read();
  // The queue is being destroyed: its unread events disappear, as the kernel's do, and do not count as
  // reported.
  void forget(ibv_cq* queue);

 private:
  bool send(ibv_cq* queue);

  EventQueue events_;
  std::mutex mutex_;
  std::vector<ibv_cq*> owed_;
};

}  // namespace mrc::provider
