// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/qp.h"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <mutex>
#include <new>

#include "providers/mrc/clock.h"
#include "providers/mrc/context.h"
#include "providers/mrc/cq.h"
#include "providers/mrc/fork_guard.h"
#include "providers/mrc/limits.h"
#include "providers/mrc/operations.h"
#include "providers/mrc/pd.h"
#include "providers/mrc/qp_attributes.h"
#include "providers/mrc/srq.h"

namespace mrc::provider {
namespace {

ibv_qp* fail(int error) {
  errno = error;
  return nullptr;
}

// --- creation ---

int check(const ibv_qp_init_attr& wanted) {
  if (wanted.qp_type != IBV_QPT_RC && wanted.qp_type != IBV_QPT_UC && wanted.qp_type != IBV_QPT_UD)
    return EOPNOTSUPP;
  if (wanted.send_cq == nullptr || wanted.recv_cq == nullptr) return EINVAL;
  const ibv_qp_cap& cap = wanted.cap;
  if (cap.max_send_wr > limits::kWorkRequests || cap.max_recv_wr > limits::kWorkRequests) return EINVAL;
  if (cap.max_send_sge > limits::kSegments || cap.max_recv_sge > limits::kSegments) return EINVAL;
  if (cap.max_inline_data > limits::kInlineBytes) return EINVAL;
  return 0;
}

QueuePairConfig config_of(Qp* qp, ibv_qp_type type) {
  QueuePairConfig config;
  // An unreliable connection is one that happens to lose only what cannot be taken: on the wire it is a
  // reliable one.
  config.type = type == IBV_QPT_UD ? QueuePairType::kDatagram : QueuePairType::kReliable;
  config.lossy = type == IBV_QPT_UC;
  config.shared_receives = qp->srq != nullptr ? &qp->srq->queue : nullptr;
  config.domain = qp->pd->domain;
  config.send_completions = &qp->send_cq->ring;
  config.receive_completions = &qp->receive_cq->ring;
  config.send_entries = qp->capacity.max_send_wr;
  config.receive_entries = qp->capacity.max_recv_wr;
  config.send_segments_max = qp->capacity.max_send_sge;
  config.receive_segments_max = qp->capacity.max_recv_sge;
  config.inline_bytes_max = qp->capacity.max_inline_data;
  config.signal_all = qp->signal_all;
  config.owner = qp;
  return config;
}

void fill_verbs(Qp* qp, ibv_pd* pd, const ibv_qp_init_attr& wanted) {
  ibv_qp& verbs = qp->verbs.qp;
  verbs.context = pd->context;
  verbs.qp_context = wanted.qp_context;
  verbs.pd = pd;
  verbs.send_cq = wanted.send_cq;
  verbs.recv_cq = wanted.recv_cq;
  verbs.srq = wanted.srq;
  verbs.qp_num = verbs.handle = qp->transport->qpn().value();
  verbs.state = IBV_QPS_RESET;
  verbs.qp_type = wanted.qp_type;
  pthread_mutex_init(&verbs.mutex, nullptr);
  pthread_cond_init(&verbs.cond, nullptr);
}

// Takes the queue pair's completions away while nobody polls or arms its completion queues, then does the
// rest. Under the device's lock, so the order in which the others are taken does not matter.
template <typename Rest>
void drop_completions(Qp* qp, Rest&& rest) {
  Cq* queues[] = {qp->send_cq, qp->receive_cq};
  std::unique_lock<SpinLock> locks[4];
  for (size_t i = 0; i < (queues[0] == queues[1] ? 1 : 2); ++i) {
    locks[2 * i] = std::unique_lock(queues[i]->poll_lock);
    locks[2 * i + 1] = std::unique_lock(queues[i]->event_lock);
    queues[i]->remove(qp->transport->qpn());
  }
  rest();
}

void set_capacity(const ibv_qp_init_attr& wanted, ibv_qp_cap* capacity) {
  *capacity = wanted.cap;
  capacity->max_send_wr = std::max(1u, wanted.cap.max_send_wr);
  capacity->max_send_sge = std::max(1u, wanted.cap.max_send_sge);
  capacity->max_recv_sge = std::max(1u, wanted.cap.max_recv_sge);
  if (wanted.srq != nullptr) capacity->max_recv_wr = capacity->max_recv_sge = 0;
}

// A connected queue pair stays with its peer.
bool moves_elsewhere(const Qp& qp, const QueuePairAttributes& attributes) {
  const Connection& connection = qp.transport->connection();
  return qp.transport->connected() && attributes.destination &&
         (*attributes.destination != connection.destination || *attributes.source != connection.source);
}

// What an unreliable connection cannot be told: how long to try before the peer counts as gone.
void set_unreliable_defaults(QueuePairAttributes* attributes) {
  attributes->timeout = Nanoseconds{4096} << 14;
  attributes->retry_linear = 7;
  attributes->rnr_retry = 7;
}

}  // namespace

// --- verbs ---

ibv_qp* create_qp(ibv_pd* pd, ibv_qp_init_attr* wanted) {
  if (forked_away()) return fail(EPERM);
  if (const int error = check(*wanted); error != 0) return fail(error);
  Context* context = Context::of(pd->context);
  if (const int error = context->device().start(); error != 0) return fail(error);
  try {
    auto qp = std::make_unique<Qp>();
    qp->context = context;
    qp->pd = Pd::of(pd);
    qp->send_cq = Cq::of(wanted->send_cq);
    qp->receive_cq = Cq::of(wanted->recv_cq);
    qp->srq = wanted->srq != nullptr ? Srq::of(wanted->srq) : nullptr;
    qp->signal_all = wanted->sq_sig_all != 0;
    set_capacity(*wanted, &qp->capacity);
    {
      Progress::Control control(context->device().progress());
      qp->transport = context->device().engine().create(config_of(qp.get(), wanted->qp_type));
    }
    if (qp->transport == nullptr) return fail(ENOMEM);
    fill_verbs(qp.get(), pd, *wanted);
    context->add(qp.get());
    ++qp->pd->users;
    ++qp->send_cq->users;
    ++qp->receive_cq->users;
    if (qp->srq != nullptr) ++qp->srq->users;
    wanted->cap = qp->capacity;
    return &qp.release()->verbs.qp;
  } catch (const std::bad_alloc&) {
    return fail(ENOMEM);
  }
}

int modify_qp(ibv_qp* verbs, ibv_qp_attr* wanted, int mask) {
  if (forked_away()) return EPERM;
  Qp* qp = Qp::of(verbs);
  try {
    QueuePairAttributes attributes;
    if (const int error = to_engine(*wanted, mask, &attributes); error != 0) return error;
    // Who is just posting must not publish his request to a queue that was emptied meanwhile.
    std::unique_lock<SpinLock> posting[2];
    if ((mask & IBV_QP_STATE) != 0 && wanted->qp_state == IBV_QPS_RESET) {
      posting[0] = std::unique_lock(qp->send_lock);
      posting[1] = std::unique_lock(qp->receive_lock);
    }
    Progress::Control control(qp->context->device().progress());
    const ibv_qp_state from = to_verbs(qp->transport->state());
    const ibv_qp_state to = (mask & IBV_QP_STATE) != 0 ? wanted->qp_state : from;
    if ((mask & IBV_QP_CUR_STATE) != 0 && wanted->cur_qp_state != from) return EINVAL;
    if (!transition_allowed(verbs->qp_type, from, to, mask)) return EINVAL;
    if (moves_elsewhere(*qp, attributes)) return EOPNOTSUPP;
    if (verbs->qp_type == IBV_QPT_UC && to == IBV_QPS_RTS) set_unreliable_defaults(&attributes);
    if (!qp->context->device().engine().modify(*qp->transport, attributes, clock_now())) return EINVAL;
    if (to == IBV_QPS_RESET) {
      drop_completions(qp, [] {});
      qp->attributes = {};
    }
    remember(*wanted, mask, &qp->attributes);
    verbs->state = to;
    return 0;
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
}

int query_qp(ibv_qp* verbs, ibv_qp_attr* attributes, int, ibv_qp_init_attr* init_attributes) {
  if (forked_away()) return EPERM;
  Qp* qp = Qp::of(verbs);
  {
    Progress::Control control(qp->context->device().progress());
    *attributes = qp->attributes;
    attributes->qp_state = attributes->cur_qp_state = to_verbs(qp->transport->state());
    attributes->sq_draining = qp->transport->draining() ? 1 : 0;
  }
  attributes->cap = qp->capacity;
  attributes->path_mig_state = IBV_MIG_MIGRATED;
  *init_attributes = {verbs->qp_context, verbs->send_cq, verbs->recv_cq,        verbs->srq,
                      qp->capacity,      verbs->qp_type, qp->signal_all ? 1 : 0};
  return 0;
}

int destroy_qp(ibv_qp* verbs) {
  if (forked_away()) return EPERM;
  Qp* qp = Qp::of(verbs);
  qp->context->remove(qp);
  {
    Progress::Control control(qp->context->device().progress());
    // The peer may still wait for an acknowledgement that was put off to the next burst.
    for (int burst = 0; burst < 2; ++burst) qp->context->device().engine().progress(clock_now());
    drop_completions(qp, [&] { qp->context->device().engine().destroy(qp->transport); });
    qp->context->forget_async(verbs);
  }
  // As the kernel does: wait until the application has acknowledged the events that it has read.
  pthread_mutex_lock(&verbs->mutex);
  while (static_cast<int32_t>(verbs->events_completed - qp->async_reported.load()) < 0)
    pthread_cond_wait(&verbs->cond, &verbs->mutex);
  pthread_mutex_unlock(&verbs->mutex);
  --qp->pd->users;
  --qp->send_cq->users;
  --qp->receive_cq->users;
  if (qp->srq != nullptr) --qp->srq->users;
  delete qp;
  return 0;
}

// Enhanced connection establishment is for what NICs of one vendor agree on among themselves; there is
// nothing.
int query_ece(ibv_qp*, ibv_ece* ece) {
  *ece = {};
  return 0;
}

int set_ece(ibv_qp*, ibv_ece* ece) {
  return ece->vendor_id == 0 && ece->options == 0 && ece->comp_mask == 0 ? 0 : EOPNOTSUPP;
}

}  // namespace mrc::provider
