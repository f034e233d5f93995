// SPDX-License-Identifier: BSD-2-Clause
// Completions of send requests.
#pragma once

#include "libmrc/work/context.h"
#include "libmrc/work/work_queue.h"

namespace mrc {

// Takes the oldest request out of the send queue and tells the application. Its place is free before that:
// who polls the completion may post at once, in another thread. False: the completion queue overran.
bool tell_oldest(Context& cx, CompletionStatus status);

// The same, but the application is told only if it wants to know or the status is an error.
[[gnu::always_inline]] inline bool complete_oldest(Context& cx, CompletionStatus status) {
  const uint64_t head = cx.send_queue.head();
  if (cx.signal_all || (cx.send_queue.at(head).flags & kSignaled) != 0 ||
      status != CompletionStatus::kSuccess)
    return tell_oldest(cx, status);
  cx.send_queue.release(head + 1);
  return true;
}

// Completes and releases everything in the send queue: the oldest with `first`, the rest as flushed. False:
// the completion queue overran.
bool flush_requests(Context& cx, CompletionStatus first);

}  // namespace mrc
