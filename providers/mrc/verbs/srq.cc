// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/verbs/srq.h"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <mutex>
#include <new>

#include "providers/mrc/presence/limits.h"
#include "providers/mrc/verbs/context.h"
#include "providers/mrc/verbs/cq.h"
#include "providers/mrc/verbs/fork_guard.h"
#include "providers/mrc/verbs/operations.h"
#include "providers/mrc/verbs/pd.h"
#include "providers/mrc/verbs/refuse.h"
#include "providers/mrc/verbs/xrcd.h"

namespace mrc::provider {

Srq::Srq(Context* context, Pd* pd, uint32_t entries, uint32_t segments)
    : context(context), pd(pd), queue(entries, segments, pd->domain) {
  queue.owner = this;
}

Progress& Srq::progress() {
  Shard* const known = shard.load();
  return known != nullptr ? known->progress() : context->device().progress();
}

namespace {

// Makes it one that peers can name. 0 or an errno.
int give_number(Srq* srq, Xrcd* domain, Cq* cq) {
  // Never used again within the process, as far as 24 bits go.
  static std::atomic<uint32_t> next{1};
  srq->number = next.fetch_add(1) & 0xFFFFFF;
  srq->queue.completions = &cq->ring;
  Device& device = srq->context->device();
  srq->shard.store(&device.first());  // as the queue pairs that peers name it by
  device.settle(*cq, device.first());
  Progress::Control control(srq->progress());
  try {
    domain->shared->queues.add(srq->number, &srq->queue);
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
  srq->domain = domain;
  srq->cq = cq;
  ++domain->users;
  ++cq->users;
  return 0;
}

// False: a message that is just being received has one of its requests.
bool take_number(Srq* srq) {
  Progress::Control control(srq->progress());
  if (srq->queue.held != 0) return false;
  srq->domain->shared->queues.remove(srq->number);
  return true;
}

}  // namespace

// --- verbs ---

ibv_srq* create_srq(ibv_pd* pd, ibv_srq_init_attr* wanted) {
  if (forked_away()) return refuse(EPERM);
  ibv_srq_attr& attributes = wanted->attr;
  if (attributes.max_wr < 1 || attributes.max_wr > limits::kWorkRequests ||
      attributes.max_sge > limits::kSegments)
    return refuse(EINVAL);
  Context* context = Context::of(pd->context);
  if (const int error = context->device().start(); error != 0) return refuse(error);
  try {
    auto srq =
        std::make_unique<Srq>(context, Pd::of(pd), attributes.max_wr, std::max(1u, attributes.max_sge));
    attributes.max_sge = srq->queue.segments_max();
    ++srq->pd->users;
    return &srq.release()->verbs;
  } catch (const std::bad_alloc&) {
    return refuse(ENOMEM);
  }
}

ibv_srq* create_srq_ex(ibv_context* context, ibv_srq_init_attr_ex* wanted) {
  constexpr uint32_t kNamed = IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
  constexpr uint32_t kMasksKnown = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | kNamed;
  const bool basic = (wanted->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) == 0 || wanted->srq_type == IBV_SRQT_BASIC;
  if ((wanted->comp_mask & ~kMasksKnown) != 0 || (!basic && wanted->srq_type != IBV_SRQT_XRC))
    return refuse(EOPNOTSUPP);
  if ((wanted->comp_mask & IBV_SRQ_INIT_ATTR_PD) == 0) return refuse(EINVAL);
  if (!basic && ((wanted->comp_mask & kNamed) != kNamed || wanted->xrcd == nullptr || wanted->cq == nullptr))
    return refuse(EINVAL);
  ibv_srq_init_attr plain{wanted->srq_context, wanted->attr};
  ibv_srq* srq = create_srq(wanted->pd, &plain);
  if (srq == nullptr) return nullptr;
  wanted->attr = plain.attr;
  if (!basic) {
    if (const int error = give_number(Srq::of(srq), Xrcd::of(wanted->xrcd), Cq::of(wanted->cq)); error != 0) {
      --Srq::of(srq)->pd->users;
      delete Srq::of(srq);
      return refuse(error);
    }
  }
  // libibverbs does this for the plain call only.
  srq->context = context;
  srq->srq_context = wanted->srq_context;
  srq->pd = wanted->pd;
  pthread_mutex_init(&srq->mutex, nullptr);
  pthread_cond_init(&srq->cond, nullptr);
  return srq;
}

int modify_srq(ibv_srq* verbs, ibv_srq_attr* wanted, int mask) {
  if (forked_away()) return EPERM;
  if ((mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT)) != 0) return EINVAL;
  const bool resizes = (mask & IBV_SRQ_MAX_WR) != 0;
  if (resizes && (wanted->max_wr < 1 || wanted->max_wr > limits::kWorkRequests)) return EINVAL;
  Srq* srq = Srq::of(verbs);
  Progress::Control control(srq->progress());
  const uint32_t entries = resizes ? wanted->max_wr : srq->queue.queue().capacity();
  const uint32_t limit = (mask & IBV_SRQ_LIMIT) != 0 ? wanted->srq_limit : srq->queue.limit();
  if (limit > entries) return EINVAL;
  if (resizes) {
    try {
      std::lock_guard post_guard(srq->post_lock);
      if (!srq->queue.queue().resize(entries)) return EINVAL;
    } catch (const std::bad_alloc&) {
      return ENOMEM;
    }
  }
  if ((mask & IBV_SRQ_LIMIT) != 0) srq->queue.arm(limit);
  return 0;
}

int query_srq(ibv_srq* verbs, ibv_srq_attr* attributes) {
  if (forked_away()) return EPERM;
  Srq* srq = Srq::of(verbs);
  Progress::Control control(srq->progress());
  *attributes = {srq->queue.queue().capacity(), srq->queue.segments_max(), srq->queue.limit()};
  return 0;
}

int get_srq_num(ibv_srq* verbs, uint32_t* number) {
  const Srq* srq = Srq::of(verbs);
  if (srq->domain == nullptr) return EINVAL;
  *number = srq->number;
  return 0;
}

int destroy_srq(ibv_srq* verbs) {
  if (forked_away()) return EPERM;
  Srq* srq = Srq::of(verbs);
  if (srq->users.load() != 0) return EBUSY;
  if (srq->domain != nullptr) {
    if (!take_number(srq)) return EBUSY;
    --srq->domain->users;
    --srq->cq->users;
    srq->domain = nullptr;
  }
  srq->context->forget_async(verbs);
  // As the kernel does: wait until the application has acknowledged the events that it has read.
  pthread_mutex_lock(&verbs->mutex);
  while (static_cast<int32_t>(verbs->events_completed - srq->async_reported.load()) < 0)
    pthread_cond_wait(&verbs->cond, &verbs->mutex);
  pthread_mutex_unlock(&verbs->mutex);
  --srq->pd->users;
  delete srq;
  return 0;
}

}  // namespace mrc::provider
