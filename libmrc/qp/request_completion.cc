// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/qp/request_completion.h"

namespace mrc {

namespace {
CompletionKind completion_kind(Operation operation) {
  switch (operation) {
    case Operation::kWrite:
    case Operation::kWriteImm:
      return CompletionKind::kRdmaWrite;
    case Operation::kRead:
      return CompletionKind::kRdmaRead;
    case Operation::kCompareSwap:
      return CompletionKind::kCompareSwap;
    case Operation::kFetchAdd:
      return CompletionKind::kFetchAdd;
    case Operation::kBindWindow:
      return CompletionKind::kBindWindow;
    case Operation::kLocalInvalidate:
      return CompletionKind::kLocalInvalidate;
    default:
      return CompletionKind::kSend;
  }
}
}  // namespace

bool complete_request(Context& cx, const SendRequest& request, CompletionStatus status) {
  const bool signaled = cx.signal_all || (request.flags & kSignaled) != 0;
  if (!signaled && status == CompletionStatus::kSuccess) return true;
  Completion completion;
  completion.work_id = request.work_id;
  completion.byte_count = request.bytes;
  completion.qpn = cx.connection.local_qpn;
  completion.status = status;
  completion.kind = completion_kind(request.operation);
  return cx.services.completions.push(cx.send_completions, completion);
}

CompletionStatus carry_out_locally(Context& cx, const SendRequest& request) {
  MemoryTable& memory = cx.services.memory;
  const bool done = request.operation == Operation::kBindWindow
                        ? memory.bind(request.binding(), cx.connection.domain)
                        : memory.invalidate(MemoryKey{request.immediate}, cx.connection.domain);
  return done ? CompletionStatus::kSuccess : CompletionStatus::kWindowBindError;
}

bool flush_requests(Context& cx, CompletionStatus first) {
  bool room = true;
  uint64_t head = cx.send_queue.head();
  const uint64_t tail = cx.send_queue.tail();
  for (CompletionStatus status = first; head != tail; status = CompletionStatus::kFlushed) {
    room &= complete_request(cx, cx.send_queue.at(head), status);
    cx.send_queue.release(++head);
  }
  return room;
}

}  // namespace mrc
