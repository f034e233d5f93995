// SPDX-License-Identifier: BSD-2-Clause
// Where completions of one burst go, and which queues have to be told of them at its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "libmrc/containers/linked_list.h"
#include "libmrc/work/completion_faults.h"
#include "libmrc/work/completion_queue.h"

namespace mrc {

// Collects which completion queues were pushed to, so that the owner is told once per burst.
class CompletionSink {
 public:
  // `engine`: which one of those that may share a queue.
  explicit CompletionSink(uint32_t engine = 0) : engine_(engine) {}

  // Who is asked about every completion before it is pushed; null: nobody is.
  void set_faults(CompletionFaults* faults) { faults_ = faults; }
  CompletionFaults* faults() const { return faults_; }

  // False: the queue has overrun.
  [[gnu::hot]] bool push(CompletionQueue* queue, const Completion& completion) {
    if (faults_ != nullptr) [[unlikely]] {
      const CompletionFaults::Fate fate = faults_->on_completion(*queue, completion);
      if (fate == CompletionFaults::Fate::kTaken) return true;
      if (fate == CompletionFaults::Fate::kPassBehindKept) faults_->give_back(*this);
      if (fate == CompletionFaults::Fate::kOverrun) overrun(queue);
    }
    return push_now(queue, completion);
  }
  // The same for one that has been asked about.
  bool push_now(CompletionQueue* queue, const Completion& completion) {
    ++pushed_;
    const bool before = queue->overrun();
    const bool fits = queue->push(completion);
    if (queue->shared()) [[unlikely]]
      return push_shared(queue, fits, before);
    if (fits) {
      touched_.push_back(queue->pushed_to);
      return true;
    }
    if (!before) overrun_.push_back(queue->overran);  // it is told once
    return false;
  }
  template <typename Pushed, typename Overrun>
  void drain(Pushed&& pushed, Overrun&& overrun) {
    while (!touched_.empty()) pushed(touched_.pop_front());
    while (!overrun_.empty()) overrun(overrun_.pop_front());
    if (shared_.empty()) [[likely]]
      return;
    while (!shared_.empty()) {
      CompletionQueue::Place& place = shared_.pop_front();
      if (std::exchange(place.pushed, false)) pushed(*place.queue);
      if (std::exchange(place.overrun, false)) overrun(*place.queue);
    }
  }
  size_t pushed() const { return pushed_; }
  // A shared queue that is being destroyed; nobody pushes into it any more.
  void forget(CompletionQueue* queue) {
    if (queue->shared()) shared_.remove(queue->place_of(engine_).node);
  }

 private:
  // Other engines push into the queue, too: its own list nodes are not ours.
  bool push_shared(CompletionQueue* queue, bool fits, bool overrun_before) {
    CompletionQueue::Place& place = queue->place_of(engine_);
    place.pushed |= fits;
    place.overrun |= !fits && !overrun_before;
    shared_.push_back(place.node);
    return fits;
  }

  // As if it had been full.
  void overrun(CompletionQueue* queue) {
    if (queue->overrun()) return;
    queue->set_overrun();
    if (queue->shared())
      push_shared(queue, false, false);
    else
      overrun_.push_back(queue->overran);
  }

  LinkedList<CompletionQueue> touched_;
  LinkedList<CompletionQueue> overrun_;
  LinkedList<CompletionQueue::Place> shared_;
  const uint32_t engine_;
  size_t pushed_ = 0;
  CompletionFaults* faults_ = nullptr;
};

}  // namespace mrc
