// SPDX-License-Identifier: BSD-2-Clause
// A completion channel: events of completion queues on their way to ibv_get_cq_event().
#pragma once

#include <infiniband/verbs.h>

#include <mutex>
#include <vector>

#include "providers/mrc/verbs/event_queue.h"
#include "providers/mrc/verbs/spin_lock.h"

namespace mrc::provider {

class CompletionChannel {
 public:
  EventQueue& events() { return events_; }

  // One event of the queue is owed. On the data path, so without a system call: who does this sees to it that
  // deliver() is called when no lock of the device is held any more.
  void owe(ibv_cq* queue);
  // Sends what is owed. If the socket is full the rest goes out after the next read.
  void deliver();
  // The queue is being destroyed: its unread events disappear, as the kernel's do, and do not count as
  // reported.
  void forget(ibv_cq* queue);

 private:
  bool send(ibv_cq* queue);

  std::mutex socket_mutex_;  // whoever uses the socket or takes something from owed_
  EventQueue events_;
  SpinLock owed_lock_;  // after socket_mutex_
  std::vector<ibv_cq*> owed_;
};

}  // namespace mrc::provider
