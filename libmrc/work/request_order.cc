// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/work/request_order.h"

namespace mrc {

namespace {
CompletionStatus carry_out(Context& cx, const SendRequest& request) {
  MemoryTable& memory = cx.services.memory;
  const bool done = request.operation == Operation::kBindWindow
                        ? memory.bind(request.binding(), cx.connection.domain)
                        : memory.invalidate(MemoryKey{request.immediate}, cx.connection.domain);
  return done ? CompletionStatus::kSuccess : CompletionStatus::kWindowBindError;
}
}  // namespace

bool RequestOrder::pass_local_operations(Context& cx) {
  while (has_next(cx) && is_local(next_request(cx).operation)) {
    if (!all_done(cx)) return false;
    const CompletionStatus status = carry_out(cx, next_request(cx));
    if (status != CompletionStatus::kSuccess) {
      fail_next(cx, status);
      return false;
    }
    start();
    complete_oldest(cx);
  }
  return !failure_;
}

void RequestOrder::flush(Context& cx, CompletionStatus first) {
  if (!flush_requests(cx, first)) failure_ = CompletionStatus::kGeneralError;
  next_ = cx.send_queue.head();
  next_error_.reset();
}

}  // namespace mrc
