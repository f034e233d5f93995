// SPDX-License-Identifier: BSD-2-Clause
// What a queue pair that is destroyed or reset has left in its completion queues. However much that is,
// nobody who polls or drives waits for longer than a burst.
#pragma once

#include <array>
#include <mutex>
#include <utility>

#include "providers/mrc/verbs/cq.h"
#include "providers/mrc/verbs/progress.h"
#include "providers/mrc/verbs/qp.h"
#include "providers/mrc/verbs/shard.h"

namespace mrc::provider {

class LeftCompletions {
 public:
  // Under no lock. As long as this lives nobody resizes the queues.
  explicit LeftCompletions(const Qp& qp) : progress_(qp.shard->progress()), qpn_(qp.transport->qpn()) {
    if (qp.send_cq == nullptr) return;  // what came by it belongs to the queues that were named
    parts_[0].queue = qp.send_cq;
    if (qp.receive_cq != qp.send_cq) parts_[1].queue = qp.receive_cq;
    // Two queue pairs may have the same two.
    if (parts_[1].queue != nullptr && parts_[1].queue < parts_[0].queue) std::swap(parts_[0], parts_[1]);
    for (Part& part : parts_)
      if (part.queue != nullptr) part.moving = std::unique_lock(part.queue->moving);
  }

  // Nothing comes from it any more. Under the shard's lock.
  void begin() {
    for (Part& part : parts_) {
      if (part.queue == nullptr) continue;
      std::lock_guard poll_guard(part.queue->poll_lock);
      std::lock_guard event_guard(part.queue->event_lock);
      part.queue->ring.begin_removal(qpn_);
      part.more = part.queue->remove_some();
    }
  }
  // Under no lock.
  void take_rest() {
    for (Part& part : parts_)
      while (part.more) {
        Progress::Control control(progress_);
        std::lock_guard poll_guard(part.queue->poll_lock);
        std::lock_guard event_guard(part.queue->event_lock);
        part.more = part.queue->remove_some();
      }
  }

 private:
  struct Part {
    Cq* queue = nullptr;
    std::unique_lock<std::mutex> moving;
    bool more = false;
  };

  Progress& progress_;
  const Qpn qpn_;
  std::array<Part, 2> parts_;
};

}  // namespace mrc::provider
