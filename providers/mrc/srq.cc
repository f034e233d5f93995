// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/srq.h"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <new>

#include "providers/mrc/context.h"
#include "providers/mrc/fork_guard.h"
#include "providers/mrc/limits.h"
#include "providers/mrc/operations.h"
#include "providers/mrc/pd.h"

namespace mrc::provider {
namespace {

ibv_srq* fail(int error) {
  errno = error;
  return nullptr;
}

}  // namespace

Srq::Srq(Context* context, Pd* pd, uint32_t entries, uint32_t segments)
    : context(context), pd(pd), queue(entries, segments, pd->domain) {
  queue.owner = this;
}

// --- verbs ---

ibv_srq* create_srq(ibv_pd* pd, ibv_srq_init_attr* wanted) {
  if (forked_away()) return fail(EPERM);
  ibv_srq_attr& attributes = wanted->attr;
  if (attributes.max_wr < 1 || attributes.max_wr > limits::kWorkRequests ||
      attributes.max_sge > limits::kSegments)
    return fail(EINVAL);
  Context* context = Context::of(pd->context);
  if (const int error = context->device().start(); error != 0) return fail(error);
  try {
    auto srq =
        std::make_unique<Srq>(context, Pd::of(pd), attributes.max_wr, std::max(1u, attributes.max_sge));
    attributes.max_sge = srq->queue.segments_max();
    ++srq->pd->users;
    return &srq.release()->verbs;
  } catch (const std::bad_alloc&) {
    return fail(ENOMEM);
  }
}

ibv_srq* create_srq_ex(ibv_context* context, ibv_srq_init_attr_ex* wanted) {
  constexpr uint32_t kMasksKnown = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
  const bool basic = (wanted->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) == 0 || wanted->srq_type == IBV_SRQT_BASIC;
  if ((wanted->comp_mask & ~kMasksKnown) != 0 || !basic) return fail(EOPNOTSUPP);
  if ((wanted->comp_mask & IBV_SRQ_INIT_ATTR_PD) == 0) return fail(EINVAL);
  ibv_srq_init_attr plain{wanted->srq_context, wanted->attr};
  ibv_srq* srq = create_srq(wanted->pd, &plain);
  if (srq == nullptr) return nullptr;
  wanted->attr = plain.attr;
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
  if ((mask & IBV_SRQ_MAX_WR) != 0) return EOPNOTSUPP;  // nor is IBV_DEVICE_SRQ_RESIZE promised
  Srq* srq = Srq::of(verbs);
  if ((mask & IBV_SRQ_LIMIT) == 0) return 0;
  if (wanted->srq_limit > srq->queue.queue().capacity()) return EINVAL;
  Progress::Control control(srq->context->device().progress());
  srq->queue.arm(wanted->srq_limit);
  return 0;
}

int query_srq(ibv_srq* verbs, ibv_srq_attr* attributes) {
  if (forked_away()) return EPERM;
  Srq* srq = Srq::of(verbs);
  Progress::Control control(srq->context->device().progress());
  *attributes = {srq->queue.queue().capacity(), srq->queue.segments_max(), srq->queue.limit()};
  return 0;
}

int destroy_srq(ibv_srq* verbs) {
  if (forked_away()) return EPERM;
  Srq* srq = Srq::of(verbs);
  if (srq->users.load() != 0) return EBUSY;
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
