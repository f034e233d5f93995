// SPDX-License-Identifier: BSD-2-Clause
// Completions that come late. Their order stays: who is behind one that waits, waits too.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "libmrc/wire/time.h"
#include "libmrc/work/completion_queue.h"

namespace mrc {

class HeldCompletions {
 public:
  static constexpr size_t kMax = 4096;

  // May throw: not on the data path.
  void make_room() { waiting_.reserve(kMax); }

  bool empty() const { return waiting_.empty(); }
  bool full() const { return waiting_.size() == waiting_.capacity(); }
  Nanoseconds next_due() const { return waiting_.empty() ? kNever : waiting_.front().due; }
  bool holds_of(const CompletionQueue& queue) const {
    return std::any_of(waiting_.begin(), waiting_.end(),
                       [&](const Held& held) { return held.queue == &queue; });
  }

  // There is room for it.
  void hold(CompletionQueue& queue, const Completion& completion, Nanoseconds due) {
    const Nanoseconds last = waiting_.empty() ? 0 : waiting_.back().due;
    waiting_.push_back({&queue, std::max(due, last), completion});
  }
  // Hands over what is due.
  template <typename Go>
  void release(Nanoseconds now, Go&& go) {
    size_t count = 0;
    while (count < waiting_.size() && waiting_[count].due <= now) {
      go(*waiting_[count].queue, waiting_[count].completion);
      ++count;
    }
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<ptrdiff_t>(count));
  }
  // The queue pair is reset or gone.
  void forget(Qpn qpn) {
    std::erase_if(waiting_, [qpn](const Held& held) { return held.completion.qpn == qpn; });
  }

 private:
  struct Held {
    CompletionQueue* queue;
    Nanoseconds due;
    Completion completion;
  };
  std::vector<Held> waiting_;
};

}  // namespace mrc
