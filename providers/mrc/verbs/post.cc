// SPDX-License-Identifier: BSD-2-Clause
// Posting: work requests are written straight into the slots of the engine's queues, then the engine is told.
#include <algorithm>
#include <cerrno>
#include <mutex>

#include "libmrc/work/work_queue.h"
#include "providers/mrc/verbs/fork_guard.h"
#include "providers/mrc/verbs/operations.h"
#include "providers/mrc/verbs/qp.h"
#include "providers/mrc/verbs/send_request.h"
#include "providers/mrc/verbs/srq.h"

namespace mrc::provider {
namespace {

// Writes receive requests until one is wrong or does not fit; `*requests` is then that one. 0 or an errno.
int post_receives(ReceiveQueue& queue, uint32_t segments_max, ibv_recv_wr** requests, uint32_t* count) {
  for (ibv_recv_wr*& request = *requests; request != nullptr; request = request->next) {
    if (request->num_sge < 0 || static_cast<uint32_t>(request->num_sge) > segments_max) return EINVAL;
    ReceiveRequest* slot = queue.reserve(*count);
    if (slot == nullptr) return ENOMEM;
    slot->work_id = request->wr_id;
    slot->segment_count = static_cast<uint32_t>(request->num_sge);
    const uint64_t bytes = copy_segments(request->sg_list, slot->segment_count, slot->segments());
    slot->bytes = static_cast<uint32_t>(std::min<uint64_t>(bytes, UINT32_MAX));
    ++*count;
  }
  return 0;
}

}  // namespace

[[gnu::hot]] int post_send(ibv_qp* verbs, ibv_send_wr* requests, ibv_send_wr** bad) {
  Qp* qp = Qp::of(verbs);
  int error = 0;
  uint32_t count = 0;
  if (forked_away()) {  // before the lock, which a thread that is not in this process may hold
    error = EPERM;
  } else {
    std::lock_guard lock(qp->send_lock);
    SendQueue& queue = qp->transport->send_queue();
    if (!may_send(qp->transport->state())) error = EINVAL;
    for (; error == 0 && requests != nullptr; requests = requests->next) {
      SendRequest* slot = queue.reserve(count);
      error = slot == nullptr ? ENOMEM : write_request(*qp, *requests, slot);
      if (error != 0) break;
      ++count;
    }
    if (count > 0) queue.publish(count);
  }
  if (error != 0) *bad = requests;
  if (count > 0) start_work(qp);
  return error;
}

int post_recv(ibv_qp* verbs, ibv_recv_wr* requests, ibv_recv_wr** bad) {
  Qp* qp = Qp::of(verbs);
  int error = 0;
  uint32_t count = 0;
  if (forked_away()) {
    error = EPERM;
  } else {
    std::lock_guard lock(qp->receive_lock);
    ReceiveQueue& queue = qp->transport->receive_queue();
    if (qp->transport->state() == QueuePairState::kReset || verbs->srq != nullptr)
      error = EINVAL;
    else
      error = post_receives(queue, qp->capacity.max_recv_sge, &requests, &count);
    if (count > 0) queue.publish(count);
  }
  if (error != 0) *bad = requests;
  // Only a queue pair in error has something to do about it: to hand the requests back.
  if (count > 0 && qp->transport->state() == QueuePairState::kError) start_work(qp);
  return error;
}

int post_srq_recv(ibv_srq* verbs, ibv_recv_wr* requests, ibv_recv_wr** bad) {
  Srq* srq = Srq::of(verbs);
  int error = EPERM;
  uint32_t count = 0;
  if (!forked_away()) {
    std::lock_guard lock(srq->post_lock);
    error = post_receives(srq->queue.queue(), srq->queue.segments_max(), &requests, &count);
    if (count > 0) srq->queue.queue().publish(count);
  }
  if (error != 0) *bad = requests;
  return error;
}

}  // namespace mrc::provider
