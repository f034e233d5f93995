// SPDX-License-Identifier: BSD-2-Clause
// Receive requests that several queue pairs draw from. The application posts under a lock of its own; queue
// pairs take under the engine's lock.
#pragma once

#include <atomic>
#include <cstdint>

#include "libmrc/work/completion_queue.h"
#include "libmrc/work/work_queue.h"

namespace mrc {

class SharedReceiveQueue {
 public:
  SharedReceiveQueue(uint32_t entries, uint32_t segments_max, ProtectionDomain domain)
      : queue_(entries, segments_max * static_cast<uint32_t>(sizeof(Segment))),
        segments_max_(segments_max),
        domain_(domain) {}

  ReceiveQueue& queue() { return queue_; }
  uint32_t segments_max() const { return segments_max_; }
  ProtectionDomain domain() const { return domain_; }

  uint64_t available() const { return queue_.tail() - queue_.head(); }
  // The next request, to be copied by the caller before anything else is taken; nullptr if there is none.
  ReceiveRequest* take() {
    if (queue_.empty()) return nullptr;
    ReceiveRequest* request = &queue_.at(queue_.head());
    queue_.release(queue_.head() + 1);
    if (limit_ != 0 && queue_.tail() - queue_.head() < limit_) {
      limit_ = 0;
      limit_reached_ = true;
    }
    return request;
  }

  // An event is due when fewer than this many requests are left; 0 = no event. Under the engine's lock.
  void arm(uint32_t limit) { limit_ = limit; }
  uint32_t limit() const { return limit_; }
  bool take_limit_event() {
    const bool reached = limit_reached_;
    limit_reached_ = false;
    return reached;
  }

  // Of a queue that peers name (XrcDomain): where its receives are told, and how many messages under way have
  // one of its requests.
  CompletionQueue* completions = nullptr;
  uint32_t held = 0;

  void* owner = nullptr;  // the caller's object for this queue; handed back in events

 private:
  ReceiveQueue queue_;
  uint32_t segments_max_;
  ProtectionDomain domain_;
  uint32_t limit_ = 0;
  bool limit_reached_ = false;
};

}  // namespace mrc
