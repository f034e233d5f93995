// SPDX-License-Identifier: BSD-2-Clause
// mrc.h: completion channels and completion queues, which are libibverbs' own, and asynchronous events.
#include <new>

#include "libmrc/api/objects.h"

using mrc::api::done;
using mrc::api::told;

// --- channels ---

MRC_EXPORTED_API int mrc_create_comp_channel(mrc_context* mrc_ctx, mrc_comp_channel** channel) {
  if (mrc_ctx == nullptr || channel == nullptr) return told(EINVAL);
  auto* made = new (std::nothrow) mrc_comp_channel;
  if (made == nullptr) return told(ENOMEM);
  made->context = mrc_ctx;
  made->verbs = ibv_create_comp_channel(mrc_ctx->verbs);
  if (made->verbs == nullptr) {
    const int error = errno;
    delete made;
    return told(error);
  }
  ++mrc_ctx->users;
  *channel = made;
  return 0;
}

MRC_EXPORTED_API int mrc_get_comp_channel_fd(mrc_comp_channel* channel, int* fd) {
  if (channel == nullptr || fd == nullptr) return done(EINVAL);
  *fd = channel->verbs->fd;
  return 0;
}

MRC_EXPORTED_API int mrc_destroy_comp_channel(mrc_comp_channel* channel) {
  if (channel == nullptr) return told(EINVAL);
  if (const int error = ibv_destroy_comp_channel(channel->verbs); error != 0) return told(error);
  --channel->context->users;
  delete channel;
  return 0;
}

// --- queues ---

MRC_EXPORTED_API mrc_cq* mrc_create_cq(mrc_context* mrc_ctx, int cqe, void* cq_context,
                                       mrc_comp_channel* channel, int comp_vector) {
  if (mrc_ctx == nullptr || (channel != nullptr && channel->context->verbs != mrc_ctx->verbs)) {
    errno = EINVAL;
    return nullptr;
  }
  auto* cq = new (std::nothrow) mrc_cq;
  if (cq == nullptr) {
    errno = ENOMEM;
    return nullptr;
  }
  cq->context = mrc_ctx;
  cq->cq_context = cq_context;
  cq->verbs =
      ibv_create_cq(mrc_ctx->verbs, cqe, cq, channel != nullptr ? channel->verbs : nullptr, comp_vector);
  if (cq->verbs == nullptr) {
    const int error = errno;
    delete cq;
    errno = error;
    return nullptr;
  }
  try {
    mrc::api::add(cq);
  } catch (const std::bad_alloc&) {
    ibv_destroy_cq(cq->verbs);
    delete cq;
    errno = ENOMEM;
    return nullptr;
  }
  ++mrc_ctx->users;
  return cq;
}

MRC_EXPORTED_API int mrc_poll_cq(mrc_cq* cq, int n, ibv_wc* wc) {
  if (cq == nullptr || cq->events != nullptr || n < 0 || (wc == nullptr && n > 0)) return done(EINVAL);
  const int polled = ibv_poll_cq(cq->verbs, n, wc);
  return polled >= 0 ? polled : done(-polled);
}

MRC_EXPORTED_API int mrc_destroy_cq(mrc_cq* cq) {
  if (cq == nullptr) return told(EINVAL);
  // Not before nobody raises events of it any more.
  delete cq->events;
  cq->events = nullptr;
  // Events that come while it is waited for those that were read must still find it.
  if (const int error = ibv_destroy_cq(cq->verbs); error != 0) return told(error);
  mrc::api::remove(cq);
  --cq->context->users;
  delete cq;
  return 0;
}

MRC_EXPORTED_API int mrc_req_notify_cq(mrc_cq* cq, int solicited_only) {
  if (cq == nullptr) return told(EINVAL);
  if (cq->events != nullptr) return told(cq->events->arm());
  return told(ibv_req_notify_cq(cq->verbs, solicited_only));
}

MRC_EXPORTED_API int mrc_get_cq_event(mrc_comp_channel* channel, mrc_cq** cq, void** cq_context) {
  if (channel == nullptr || cq == nullptr || cq_context == nullptr) return done(EINVAL);
  ibv_cq* verbs = nullptr;
  void* made_with = nullptr;
  if (ibv_get_cq_event(channel->verbs, &verbs, &made_with) != 0) return -1;
  *cq = static_cast<mrc_cq*>(made_with);  // all queues of the channel are ours
  *cq_context = (*cq)->cq_context;
  return 0;
}

MRC_EXPORTED_API void mrc_ack_cq_events(mrc_cq* cq, unsigned int nevents) {
  if (cq != nullptr) ibv_ack_cq_events(cq->verbs, nevents);
}

// --- asynchronous events ---

namespace mrc::api {
namespace {

enum class About { kQueuePair, kCompletionQueue, kSharedReceives, kOther };

About subject_of(ibv_event_type type) {
  switch (type) {
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
      return About::kQueuePair;
    case IBV_EVENT_CQ_ERR:
      return About::kCompletionQueue;
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
      return About::kSharedReceives;
    default:
      return About::kOther;
  }
}

// False: it is about an object that was not made by this interface.
bool translate(const ibv_async_event& from, mrc_async_event* to) {
  to->event_type = from.event_type;
  switch (subject_of(from.event_type)) {
    case About::kQueuePair:
      to->element.qp = find(from.element.qp);
      return to->element.qp != nullptr;
    case About::kCompletionQueue:
      to->element.cq = find(from.element.cq);
      return to->element.cq != nullptr;
    case About::kSharedReceives:
      return false;
    case About::kOther:
      to->element.port_num = from.element.port_num;
      return true;
  }
  return false;
}

}  // namespace
}  // namespace mrc::api

MRC_EXPORTED_API int mrc_get_async_event(mrc_context* mrc_ctx, mrc_async_event* event) {
  if (mrc_ctx == nullptr || event == nullptr) return done(EINVAL);
  for (;;) {
    ibv_async_event read;
    if (ibv_get_async_event(mrc_ctx->verbs, &read) != 0) return -1;
    *event = {};
    if (mrc::api::translate(read, event)) return 0;
    ibv_ack_async_event(&read);  // nobody else can, and its object could not be destroyed
  }
}

MRC_EXPORTED_API void mrc_ack_async_event(mrc_async_event* event) {
  if (event == nullptr) return;
  ibv_async_event read{};
  read.event_type = event->event_type;
  switch (mrc::api::subject_of(event->event_type)) {
    case mrc::api::About::kQueuePair:
      read.element.qp = event->element.qp->verbs;
      break;
    case mrc::api::About::kCompletionQueue:
      read.element.cq = event->element.cq->verbs;
      break;
    default:
      read.element.port_num = event->element.port_num;
      break;
  }
  ibv_ack_async_event(&read);
}
