// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/work/request_completion.h"

#include <cstdint>

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
    case Operation::kAtomicWrite:
      return CompletionKind::kAtomicWrite;
    case Operation::kFlush:
      return CompletionKind::kFlush;
    case Operation::kBindWindow:
      return CompletionKind::kBindWindow;
    case Operation::kLocalInvalidate:
      return CompletionKind::kLocalInvalidate;
    default:
      return CompletionKind::kSend;
  }
}
}  // namespace

[[gnu::hot]] bool complete_oldest(Context& cx, CompletionStatus status) {
  const uint64_t head = cx.send_queue.head();
  const SendRequest& request = cx.send_queue.at(head);
  const bool told = cx.signal_all || (request.flags & kSignaled) != 0 || status != CompletionStatus::kSuccess;
  Completion completion;
  completion.work_id = request.work_id;
  completion.byte_count = request.bytes;
  completion.qpn = cx.connection.local_qpn;
  completion.status = status;
  completion.kind = completion_kind(request.operation);
  cx.send_queue.release(head + 1);  // the request is the application's again
  return !told || cx.services.completions.push(cx.send_completions, completion);
}

bool flush_requests(Context& cx, CompletionStatus first) {
  bool room = true;
  const uint64_t tail = cx.send_queue.tail();
  for (CompletionStatus status = first; cx.send_queue.head() != tail; status = CompletionStatus::kFlushed)
    room &= complete_oldest(cx, status);
  return room;
}

}  // namespace mrc
