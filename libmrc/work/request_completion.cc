// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/work/request_completion.h"

#include <cstddef>
#include <iterator>

namespace mrc {

namespace {
// By operation.
constexpr CompletionKind kKinds[] = {
    CompletionKind::kRdmaWrite,    // kWrite
    CompletionKind::kRdmaWrite,    // kWriteImm
    CompletionKind::kSend,         // kSend
    CompletionKind::kSend,         // kSendImm
    CompletionKind::kSend,         // kSendInvalidate
    CompletionKind::kRdmaRead,     // kRead
    CompletionKind::kCompareSwap,  // kCompareSwap
    CompletionKind::kFetchAdd,     // kFetchAdd
    CompletionKind::kAtomicWrite,  // kAtomicWrite
    CompletionKind::kFlush,        // kFlush
    CompletionKind::kBindWindow,   // kBindWindow
    CompletionKind::kLocalInvalidate,
};
static_assert(std::size(kKinds) == static_cast<size_t>(Operation::kLocalInvalidate) + 1);

CompletionKind completion_kind(Operation operation) {
  return kKinds[static_cast<size_t>(operation)];
}
}  // namespace

[[gnu::hot]] bool tell_oldest(Context& cx, CompletionStatus status) {
  const uint64_t head = cx.send_queue.head();
  const SendRequest& request = cx.send_queue.at(head);
  Completion completion;
  completion.work_id = request.work_id;
  completion.byte_count = request.bytes;
  completion.qpn = cx.connection.local_qpn;
  completion.status = status;
  completion.kind = completion_kind(request.operation);
  cx.send_queue.release(head + 1);  // the request is the application's again
  return cx.services.completions.push(cx.send_completions, completion);
}

bool flush_requests(Context& cx, CompletionStatus first) {
  bool room = true;
  const uint64_t tail = cx.send_queue.tail();
  for (CompletionStatus status = first; cx.send_queue.head() != tail; status = CompletionStatus::kFlushed)
    room &= complete_oldest(cx, status);
  return room;
}

}  // namespace mrc
