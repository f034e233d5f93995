// SPDX-License-Identifier: BSD-2-Clause
// Posting: work requests are written straight into the slots of the engine's queues, then the engine is told.
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>

#include "libmrc/qp/work_queue.h"
#include "providers/mrc/address.h"
#include "providers/mrc/context.h"
#include "providers/mrc/fork_guard.h"
#include "providers/mrc/limits.h"
#include "providers/mrc/operations.h"
#include "providers/mrc/qp.h"

namespace mrc::provider {
namespace {

// 0 or an errno.
int set_operation(const ibv_send_wr& from, SendRequest* to) {
  switch (from.opcode) {
    case IBV_WR_RDMA_WRITE:
      to->operation = Operation::kWrite;
      break;
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      to->operation = Operation::kWriteImm;
      break;
    default:
      return EOPNOTSUPP;
  }
  to->remote_address = from.wr.rdma.remote_addr;
  to->remote_key = MemoryKey{from.wr.rdma.rkey};
  to->immediate = from.imm_data;
  return 0;
}

int copy_inline(const ibv_send_wr& from, uint32_t bytes_max, SendRequest* to) {
  uint32_t bytes = 0;
  for (int i = 0; i < from.num_sge; ++i) {
    const ibv_sge& piece = from.sg_list[i];
    if (piece.length > bytes_max - bytes) return EINVAL;
    std::memcpy(to->inline_data() + bytes, pointer_at(piece.addr), piece.length);
    bytes += piece.length;
  }
  to->bytes = bytes;
  to->segment_count = 0;
  return 0;
}

// The sum of the pieces, or more than a message may have.
uint64_t copy_segments(const ibv_sge* from, int count, Segment* to) {
  uint64_t bytes = 0;
  for (int i = 0; i < count; ++i) {
    to[i] = {from[i].addr, from[i].length, MemoryKey{from[i].lkey}};
    bytes += from[i].length;
  }
  return bytes;
}

int write_request(const Qp& qp, const ibv_send_wr& from, SendRequest* to) {
  if (from.num_sge < 0 || static_cast<uint32_t>(from.num_sge) > qp.capacity.max_send_sge) return EINVAL;
  if (const int error = set_operation(from, to); error != 0) return error;
  to->work_id = from.wr_id;
  to->flags = 0;
  if (qp.signal_all || (from.send_flags & IBV_SEND_SIGNALED) != 0) to->flags |= kSignaled;
  if ((from.send_flags & IBV_SEND_SOLICITED) != 0) to->flags |= kSolicited;
  if ((from.send_flags & IBV_SEND_FENCE) != 0) to->flags |= kFence;
  if ((from.send_flags & IBV_SEND_INLINE) != 0) {
    to->flags |= kInline;
    return copy_inline(from, qp.capacity.max_inline_data, to);
  }
  const uint64_t bytes = copy_segments(from.sg_list, from.num_sge, to->segments());
  if (bytes > limits::kMessageBytes) return EINVAL;
  to->bytes = static_cast<uint32_t>(bytes);
  to->segment_count = static_cast<uint8_t>(from.num_sge);
  return 0;
}

bool may_send(QueuePairState state) {
  // In error the requests are taken, and come back flushed.
  return state == QueuePairState::kReadyToSend || state == QueuePairState::kDraining ||
         state == QueuePairState::kError;
}

// Tells the engine, and lets it work at once if nobody else does.
void start_work(Qp* qp) {
  Device& device = qp->context->device();
  device.engine().ring_doorbell(*qp->transport);
  full_fence();  // pairs with the one in Progress::turn()
  device.progress().drive();
}

}  // namespace

int post_send(ibv_qp* verbs, ibv_send_wr* requests, ibv_send_wr** bad) {
  Qp* qp = Qp::of(verbs);
  int error = 0;
  uint32_t count = 0;
  {
    std::lock_guard lock(qp->send_lock);
    SendQueue& queue = qp->transport->send_queue();
    if (forked_away())
      error = EPERM;
    else if (!may_send(qp->transport->state()))
      error = EINVAL;
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
  {
    std::lock_guard lock(qp->receive_lock);
    ReceiveQueue& queue = qp->transport->receive_queue();
    if (forked_away())
      error = EPERM;
    else if (qp->transport->state() == QueuePairState::kReset)
      error = EINVAL;
    for (; error == 0 && requests != nullptr; requests = requests->next) {
      const bool fits =
          requests->num_sge >= 0 && static_cast<uint32_t>(requests->num_sge) <= qp->capacity.max_recv_sge;
      ReceiveRequest* slot = fits ? queue.reserve(count) : nullptr;
      if (slot == nullptr) {
        error = fits ? ENOMEM : EINVAL;
        break;
      }
      slot->work_id = requests->wr_id;
      slot->segment_count = static_cast<uint32_t>(requests->num_sge);
      const uint64_t bytes = copy_segments(requests->sg_list, requests->num_sge, slot->segments());
      slot->bytes = bytes > UINT32_MAX ? UINT32_MAX : static_cast<uint32_t>(bytes);
      ++count;
    }
    if (count > 0) queue.publish(count);
  }
  if (error != 0) *bad = requests;
  // Only a queue pair in error has something to do about it: to hand the requests back.
  if (count > 0 && qp->transport->state() == QueuePairState::kError) start_work(qp);
  return error;
}

}  // namespace mrc::provider
