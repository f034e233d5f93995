// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/verbs/cq.h"

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <new>
#include <span>

#include "providers/mrc/presence/limits.h"
#include "providers/mrc/verbs/context.h"
#include "providers/mrc/verbs/fork_guard.h"
#include "providers/mrc/verbs/operations.h"

namespace mrc::provider {
namespace {

// A program that always finds completions must still receive: every so many polls drive the device anyway.
constexpr unsigned kPollsPerDrive = 8;

uint32_t ring_entries(int64_t wanted) {
  return static_cast<uint32_t>(std::max<int64_t>(wanted, limits::kCompletionsLeast));
}

bool wakes(const Completion& completion, Arm arm) {
  return arm == Arm::kAny || completion.solicited || completion.status != CompletionStatus::kSuccess;
}

[[gnu::hot]] void fill(const Completion& from, ibv_wc* to) {
  *to = ibv_wc{};
  to->wr_id = from.work_id;
  to->status = to_verbs(from.status);
  to->opcode = to_verbs(from.kind);
  to->vendor_err = static_cast<uint32_t>(from.status);
  to->byte_len = from.byte_count;
  to->imm_data = from.immediate;
  to->qp_num = from.qpn.value();
  to->src_qp = from.source_qpn.value();
  to->wc_flags = flags_of(from);
  to->sl = service_level_of(from);
}

}  // namespace

ibv_wc_status to_verbs(CompletionStatus status) {
  switch (status) {
    case CompletionStatus::kSuccess:
      return IBV_WC_SUCCESS;
    case CompletionStatus::kLocalLengthError:
      return IBV_WC_LOC_LEN_ERR;
    case CompletionStatus::kLocalProtectionError:
      return IBV_WC_LOC_PROT_ERR;
    case CompletionStatus::kLocalQpOperationError:
      return IBV_WC_LOC_QP_OP_ERR;
    case CompletionStatus::kFlushed:
      return IBV_WC_WR_FLUSH_ERR;
    case CompletionStatus::kRemoteInvalidRequest:
      return IBV_WC_REM_INV_REQ_ERR;
    case CompletionStatus::kRemoteAccessError:
      return IBV_WC_REM_ACCESS_ERR;
    case CompletionStatus::kRemoteOperationError:
      return IBV_WC_REM_OP_ERR;
    case CompletionStatus::kRetryExceeded:
      return IBV_WC_RETRY_EXC_ERR;
    case CompletionStatus::kRnrRetryExceeded:
      return IBV_WC_RNR_RETRY_EXC_ERR;
    case CompletionStatus::kWindowBindError:
      return IBV_WC_MW_BIND_ERR;
    case CompletionStatus::kGeneralError:
      break;
  }
  return IBV_WC_GENERAL_ERR;
}

// IBV_WC_FLUSH, which older headers do not know.
constexpr auto kFlushCompletion = static_cast<ibv_wc_opcode>(8);

ibv_wc_opcode to_verbs(CompletionKind kind) {
  switch (kind) {
    case CompletionKind::kSend:
      return IBV_WC_SEND;
    case CompletionKind::kRdmaWrite:
      return IBV_WC_RDMA_WRITE;
    case CompletionKind::kRdmaRead:
      return IBV_WC_RDMA_READ;
    case CompletionKind::kCompareSwap:
      return IBV_WC_COMP_SWAP;
    case CompletionKind::kFetchAdd:
      return IBV_WC_FETCH_ADD;
    case CompletionKind::kAtomicWrite:
      return IBV_WC_ATOMIC_WRITE;
    case CompletionKind::kFlush:
      return kFlushCompletion;
    case CompletionKind::kBindWindow:
      return IBV_WC_BIND_MW;
    case CompletionKind::kLocalInvalidate:
      return IBV_WC_LOCAL_INV;
    case CompletionKind::kReceive:
      return IBV_WC_RECV;
    case CompletionKind::kReceiveRdmaImmediate:
      return IBV_WC_RECV_RDMA_WITH_IMM;
  }
  return IBV_WC_SEND;
}

unsigned flags_of(const Completion& completion) {
  unsigned flags = 0;
  if (completion.has_immediate) flags |= IBV_WC_WITH_IMM;
  if (completion.has_grh) flags |= IBV_WC_GRH;
  if (completion.invalidated) flags |= IBV_WC_WITH_INV;
  return flags;
}

uint8_t service_level_of(const Completion& completion) {
  if (!completion.has_grh) return 0;
  return completion.grh_is_v4 ? 2 : 1;
}

Cq::Cq(Context* context, uint32_t entries_min)
    : context(context),
      ring(entries_min),
      lane(Device::lane_of_this_thread()),
      home(&context->device().first()) {
  ring.owner = this;
}

Cq* Cq::create(Context* context, int64_t entries, ibv_comp_channel* channel, int vector) {
  if (forked_away()) {
    errno = EPERM;
    return nullptr;
  }
  if (entries < 1 || entries > limits::kCompletions || vector < 0 || vector >= limits::kCompletionVectors) {
    errno = EINVAL;
    return nullptr;
  }
  try {
    auto cq = std::make_unique<Cq>(context, ring_entries(entries));
    if (channel != nullptr) cq->channel = context->commands().find_channel(channel->fd);
    if (channel != nullptr && cq->channel == nullptr) {
      errno = EINVAL;
      return nullptr;
    }
    cq->verbs.cq.cqe = static_cast<int>(cq->ring.capacity());
    return cq.release();
  } catch (const std::bad_alloc&) {
    errno = ENOMEM;
    return nullptr;
  }
}

[[gnu::hot]] size_t Cq::poll(std::span<Completion> out, CompletionTime* time_of_first) {
  Shard& shard = *home.load(std::memory_order_acquire);
  Progress& progress = shard.progress();
  const auto take = [&] {
    if (ring.empty()) return size_t{0};
    std::lock_guard lock(poll_lock);
    return ring.poll(out, time_of_first);
  };
  polls.store(polls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  size_t count = take();
  if (count > 0) {
    const unsigned turns = polls_since_drive.load(std::memory_order_relaxed) + 1;
    polls_since_drive.store(turns % kPollsPerDrive, std::memory_order_relaxed);
    if (turns == kPollsPerDrive) {
      progress.drive();
      if (ring.shared()) drive_others(shard);
    }
    Progress::found_something();
    return count;
  }
  const Nanoseconds now = progress.drive();
  if (ring.shared()) drive_others(shard);
  count = take();
  if (count == 0) {
    context->device().help_others(shard, now);
    count = take();
  }
  if (count == 0 && progress.found_nothing(now)) {
    progress.drive();
    count = take();
  }
  if (count > 0) Progress::found_something();
  return count;
}

void Cq::raise() noexcept {
  armed.store(Arm::kNo, std::memory_order_relaxed);
  notified = ring.pushed();
  if (channel != nullptr) channel->owe(owed);
}

void Cq::drive_others(const Shard& own) {
  Device& device = context->device();
  const uint32_t others = shards.load(std::memory_order_relaxed) & ~own.bit();
  for (unsigned i = 0; i < device.shards(); ++i)
    if ((others >> i & 1) != 0) device.shard(i).progress().drive();
}

[[gnu::hot]] void Cq::on_completions(Progress& progress) {
  if (channel == nullptr) return;
  std::unique_lock<SpinLock> several;
  if (ring.shared()) [[unlikely]]
    several = std::unique_lock(event_lock);
  const uint64_t pushed = ring.pushed();
  const uint64_t first = std::max(looked_at, pushed - std::min<uint64_t>(pushed, ring.capacity()));
  looked_at = pushed;
  // Either the armer sees what was pushed, or we see that it is armed.
  full_fence();
  if (armed.load(std::memory_order_relaxed) == Arm::kNo) return;
  if (!several) several = std::unique_lock(event_lock);
  const Arm arm = armed.load(std::memory_order_relaxed);
  if (arm == Arm::kNo) return;
  for (uint64_t n = first; n < pushed; ++n) {
    if (const Completion* completion = ring.peek(n); completion == nullptr || !wakes(*completion, arm))
      continue;
    raise();
    progress.deliver_later(channel);
    return;
  }
}

namespace {

// True: that has raised an event.
bool arm(Cq& cq, Arm wanted) noexcept {
  std::lock_guard poll_guard(cq.poll_lock);  // polled() stands still, and so does what is not polled
  uint64_t first = cq.ring.polled();
  {
    std::lock_guard event_guard(cq.event_lock);
    // An unfulfilled request for any completion is not weakened by one for solicited completions.
    if (cq.armed.load(std::memory_order_relaxed) != Arm::kAny)
      cq.armed.store(wanted, std::memory_order_relaxed);
    first = std::max(first, cq.notified);
  }
  full_fence();
  // Completions that are unpolled and newer than the last event raise one at once, as NICs do. Raising one
  // for any unpolled completion would be spurious; raising none lets programs sleep that check before they
  // arm. There may be very many: the engine does not wait for event_lock meanwhile.
  const uint64_t pushed = cq.ring.pushed();
  const auto wakes_at = [&](uint64_t n) {
    const Completion* completion = cq.ring.peek(n);
    return completion != nullptr && wakes(*completion, wanted);
  };
  while (first < pushed && !wakes_at(first)) ++first;
  if (first == pushed) return false;
  std::lock_guard event_guard(cq.event_lock);
  if (cq.armed.load(std::memory_order_relaxed) == Arm::kNo) return false;  // the engine was faster
  cq.raise();
  return true;
}

}  // namespace

// --- verbs ---

ibv_cq* create_cq(ibv_context* context, int entries, ibv_comp_channel* channel, int vector) {
  Cq* cq = Cq::create(Context::of(context), entries, channel, vector);
  return cq == nullptr ? nullptr : &cq->verbs.cq;
}

[[gnu::hot]] int poll_cq(ibv_cq* queue, int entries, ibv_wc* out) {
  if (forked_away()) return -EPERM;
  Cq* cq = Cq::of(queue);
  Completion completion;
  if (entries < 1 || cq->poll(std::span(&completion, 1)) == 0) return 0;
  int done = 0;
  fill(completion, &out[done++]);
  if (done == entries || cq->ring.empty()) return done;
  std::lock_guard lock(cq->poll_lock);
  while (done < entries && cq->ring.poll(std::span(&completion, 1)) > 0) fill(completion, &out[done++]);
  return done;
}

int req_notify_cq(ibv_cq* queue, int solicited_only) {
  if (forked_away()) return EPERM;
  Cq* cq = Cq::of(queue);
  if (arm(*cq, solicited_only != 0 ? Arm::kSolicited : Arm::kAny) && cq->channel != nullptr)
    cq->channel->deliver();
  // Who arms is about to sleep, and may have posted something just before.
  const Shard& home = *cq->home.load(std::memory_order_acquire);
  Device& device = cq->context->device();
  for (unsigned i = 0; i < device.shards(); ++i)
    if (&device.shard(i) == &home || (cq->shards.load(std::memory_order_relaxed) >> i & 1) != 0) {
      device.shard(i).progress().send_what_waits();
      device.shard(i).progress().stops_polling();
    }
  return 0;
}

// libibverbs has just read an event for the application.
void cq_event(ibv_cq* queue) {
  Cq* cq = Cq::of(queue);
  if (!forked_away() && cq->channel != nullptr) cq->channel->deliver();
}

int resize_cq(ibv_cq* queue, int entries) {
  if (forked_away()) return EPERM;
  if (entries < 1 || entries > limits::kCompletions) return EINVAL;
  Cq* cq = Cq::of(queue);
  try {
    std::lock_guard one_at_a_time(cq->moving);
    CompletionQueue::Resizing resizing(cq->ring, ring_entries(entries));
    for (bool more = true; more;) {
      std::lock_guard poll_guard(cq->poll_lock);
      more = cq->ring.pushed() - cq->ring.polled() <= static_cast<uint64_t>(entries) &&
             resizing.take_some(cq->ring);
    }
    Progress::Control control(cq->home.load()->progress());  // others push under a lock of the ring's
    std::lock_guard poll_guard(cq->poll_lock);
    std::lock_guard event_guard(cq->event_lock);
    // What waits must fit into what was asked for, not only into what is granted.
    if (cq->ring.pushed() - cq->ring.polled() > static_cast<uint64_t>(entries)) return EINVAL;
    if (!cq->ring.finish(resizing)) return EINVAL;
    queue->cqe = static_cast<int>(cq->ring.capacity());
    return 0;
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
}

int destroy_cq(ibv_cq* queue) {
  if (forked_away()) return EPERM;
  Cq* cq = Cq::of(queue);
  if (cq->users.load() != 0) return EBUSY;
  {
    // Nobody is in on_completions() of it, or will be.
    Device& device = cq->context->device();
    for (unsigned i = 0; i < device.shards(); ++i) {
      if ((cq->shards.load() >> i & 1) == 0) continue;
      Progress::Control control(device.shard(i).progress());
      device.shard(i).engine().forget(cq->ring);
    }
    if (cq->channel != nullptr) cq->channel->forget(cq->owed);
    cq->context->forget_async(queue);
  }
  // As the kernel does: wait until the application has acknowledged what it has read. It may acknowledge too
  // much.
  pthread_mutex_lock(&queue->mutex);
  while (static_cast<int32_t>(queue->comp_events_completed - cq->reported.load()) < 0 ||
         static_cast<int32_t>(queue->async_events_completed - cq->async_reported.load()) < 0)
    pthread_cond_wait(&queue->cond, &queue->mutex);
  pthread_mutex_unlock(&queue->mutex);
  delete cq;
  return 0;
}

}  // namespace mrc::provider
