// SPDX-License-Identifier: BSD-2-Clause
// Completions of send requests.
#pragma once

#include "libmrc/work/context.h"
#include "libmrc/work/work_queue.h"

namespace mrc {

// Takes the oldest request out of the send queue and tells the application, if it wants to know or the status
// is an error. Its place is free before that: who polls the completion may post at once, in another thread.
// False: the completion queue overran.
bool complete_oldest(Context& cx, CompletionStatus status);

// Completes and releases everything in the send queue: the oldest with `first`, the rest as flushed. False:
// the completion queue overran.
bool flush_requests(Context& cx, CompletionStatus first);

}  // namespace mrc
