// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/qp.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>

#include "providers/mrc/clock.h"
#include "providers/mrc/context.h"
#include "providers/mrc/cq.h"
#include "providers/mrc/fork_guard.h"
#include "providers/mrc/gid_table.h"
#include "providers/mrc/limits.h"
#include "providers/mrc/operations.h"
#include "providers/mrc/pd.h"

namespace mrc::provider {
namespace {

ibv_qp* fail(int error) {
  errno = error;
  return nullptr;
}

// --- creation ---

int check(const ibv_qp_init_attr& wanted) {
  if (wanted.qp_type != IBV_QPT_RC || wanted.srq != nullptr) return EOPNOTSUPP;
  if (wanted.send_cq == nullptr || wanted.recv_cq == nullptr) return EINVAL;
  const ibv_qp_cap& cap = wanted.cap;
  if (cap.max_send_wr > limits::kWorkRequests || cap.max_recv_wr > limits::kWorkRequests) return EINVAL;
  if (cap.max_send_sge > limits::kSegments || cap.max_recv_sge > limits::kSegments) return EINVAL;
  if (cap.max_inline_data > limits::kInlineBytes) return EINVAL;
  return 0;
}

QueuePairConfig config_of(Qp* qp) {
  QueuePairConfig config;
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
  verbs.qp_num = verbs.handle = qp->transport->qpn().value();
  verbs.state = IBV_QPS_RESET;
  verbs.qp_type = wanted.qp_type;
  pthread_mutex_init(&verbs.mutex, nullptr);
  pthread_cond_init(&verbs.cond, nullptr);
}

// --- attributes ---

QueuePairState to_engine(ibv_qp_state state) {
  switch (state) {
    case IBV_QPS_RESET:
      return QueuePairState::kReset;
    case IBV_QPS_INIT:
      return QueuePairState::kInit;
    case IBV_QPS_RTR:
      return QueuePairState::kReadyToReceive;
    case IBV_QPS_RTS:
      return QueuePairState::kReadyToSend;
    case IBV_QPS_SQD:
      return QueuePairState::kDraining;
    default:
      return QueuePairState::kError;
  }
}

ibv_qp_state to_verbs(QueuePairState state) {
  switch (state) {
    case QueuePairState::kReset:
      return IBV_QPS_RESET;
    case QueuePairState::kInit:
      return IBV_QPS_INIT;
    case QueuePairState::kReadyToReceive:
      return IBV_QPS_RTR;
    case QueuePairState::kReadyToSend:
      return IBV_QPS_RTS;
    case QueuePairState::kDraining:
      return IBV_QPS_SQD;
    case QueuePairState::kError:
      break;
  }
  return IBV_QPS_ERR;
}

// What a transition of a reliable connection needs and what it may bring besides (InfiniBand 11.2.5.2).
struct Transition {
  ibv_qp_state from;
  ibv_qp_state to;
  int needed;
  int allowed;
};
constexpr int kAlways = IBV_QP_STATE | IBV_QP_CUR_STATE;
constexpr int kPathBits = IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE | IBV_QP_RATE_LIMIT;
constexpr Transition kTransitions[] = {
    {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, 0},
    {IBV_QPS_INIT, IBV_QPS_INIT, 0, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS},
    {IBV_QPS_INIT, IBV_QPS_RTR,
     IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
         IBV_QP_MIN_RNR_TIMER,
     kPathBits | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX},
    {IBV_QPS_RTR, IBV_QPS_RTS,
     IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
     kPathBits | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER},
    {IBV_QPS_RTS, IBV_QPS_RTS, 0, kPathBits | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER},
    {IBV_QPS_RTS, IBV_QPS_SQD, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
    {IBV_QPS_SQD, IBV_QPS_RTS, 0, kPathBits | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER},
};

bool allowed(ibv_qp_state from, ibv_qp_state to, int mask) {
  if (to == IBV_QPS_RESET || to == IBV_QPS_ERR) return (mask & ~kAlways) == 0;
  for (const Transition& transition : kTransitions) {
    if (transition.from != from || transition.to != to) continue;
    return (mask & transition.needed) == transition.needed &&
           (mask & ~(kAlways | transition.needed | transition.allowed)) == 0;
  }
  return false;
}

uint8_t remote_rights(unsigned access) {
  uint8_t rights = 0;
  if ((access & IBV_ACCESS_REMOTE_WRITE) != 0) rights |= kRemoteWrite;
  if ((access & IBV_ACCESS_REMOTE_READ) != 0) rights |= kRemoteRead;
  if ((access & IBV_ACCESS_REMOTE_ATOMIC) != 0) rights |= kRemoteAtomic;
  return rights;
}

// False: the address names no path of this device.
bool set_path(const ibv_ah_attr& address, QueuePairAttributes* out) {
  if (address.is_global == 0) return false;  // RoCE has no other addresses than GIDs
  const GidTable gids = read_gid_table();
  if (address.grh.sgid_index >= gids.entries.size()) return false;
  out->source = gids.entries[address.grh.sgid_index].gid;
  IpAddress destination;
  std::memcpy(destination.bytes.data(), address.grh.dgid.raw, destination.bytes.size());
  out->destination = destination;
  return true;
}

// False: an attribute is out of range.
bool to_engine(const ibv_qp_attr& from, int mask, QueuePairAttributes* to) {
  if ((mask & IBV_QP_STATE) != 0) to->state = to_engine(from.qp_state);
  if ((mask & IBV_QP_PORT) != 0 && from.port_num != limits::kPort) return false;
  if ((mask & IBV_QP_PKEY_INDEX) != 0 && from.pkey_index != 0) return false;
  if ((mask & IBV_QP_ACCESS_FLAGS) != 0) to->remote_access = remote_rights(from.qp_access_flags);
  if ((mask & IBV_QP_AV) != 0 && !set_path(from.ah_attr, to)) return false;
  if ((mask & IBV_QP_PATH_MTU) != 0) {
    if (from.path_mtu < IBV_MTU_256 || from.path_mtu > IBV_MTU_4096) return false;
    to->mtu = 128u << from.path_mtu;
  }
  if ((mask & IBV_QP_DEST_QPN) != 0) {
    if (from.dest_qp_num > Qpn::kMask) return false;
    to->destination_qpn = Qpn{from.dest_qp_num};
  }
  if ((mask & IBV_QP_RQ_PSN) != 0) to->receive_psn = Psn{from.rq_psn};
  if ((mask & IBV_QP_SQ_PSN) != 0) to->send_psn = Psn{from.sq_psn};
  if ((mask & IBV_QP_TIMEOUT) != 0) {
    if (from.timeout > 31) return false;
    // InfiniBand 9.7.6.1.3: 4.096 us * 2^timeout, 0 = for ever.
    to->timeout = from.timeout == 0 ? 0 : Nanoseconds{4096} << from.timeout;
  }
  if ((mask & IBV_QP_RETRY_CNT) != 0) {
    if (from.retry_cnt > 7) return false;
    to->retry_linear = from.retry_cnt;
  }
  if ((mask & IBV_QP_RNR_RETRY) != 0) {
    if (from.rnr_retry > 7) return false;
    to->rnr_retry = from.rnr_retry;
  }
  if ((mask & IBV_QP_MIN_RNR_TIMER) != 0) {
    if (from.min_rnr_timer > 31) return false;
    to->rnr_timer = from.min_rnr_timer;
  }
  return true;
}

void remember(const ibv_qp_attr& from, int mask, ibv_qp_attr* to) {
  if ((mask & IBV_QP_PKEY_INDEX) != 0) to->pkey_index = from.pkey_index;
  if ((mask & IBV_QP_PORT) != 0) to->port_num = from.port_num;
  if ((mask & IBV_QP_ACCESS_FLAGS) != 0) to->qp_access_flags = from.qp_access_flags;
  if ((mask & IBV_QP_AV) != 0) to->ah_attr = from.ah_attr;
  if ((mask & IBV_QP_PATH_MTU) != 0) to->path_mtu = from.path_mtu;
  if ((mask & IBV_QP_DEST_QPN) != 0) to->dest_qp_num = from.dest_qp_num;
  if ((mask & IBV_QP_RQ_PSN) != 0) to->rq_psn = from.rq_psn & Psn::kMask;
  if ((mask & IBV_QP_SQ_PSN) != 0) to->sq_psn = from.sq_psn & Psn::kMask;
  if ((mask & IBV_QP_MAX_DEST_RD_ATOMIC) != 0) to->max_dest_rd_atomic = from.max_dest_rd_atomic;
  if ((mask & IBV_QP_MAX_QP_RD_ATOMIC) != 0) to->max_rd_atomic = from.max_rd_atomic;
  if ((mask & IBV_QP_MIN_RNR_TIMER) != 0) to->min_rnr_timer = from.min_rnr_timer;
  if ((mask & IBV_QP_TIMEOUT) != 0) to->timeout = from.timeout;
  if ((mask & IBV_QP_RETRY_CNT) != 0) to->retry_cnt = from.retry_cnt;
  if ((mask & IBV_QP_RNR_RETRY) != 0) to->rnr_retry = from.rnr_retry;
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
    qp->signal_all = wanted->sq_sig_all != 0;
    qp->capacity = wanted->cap;
    qp->capacity.max_send_wr = std::max(1u, wanted->cap.max_send_wr);
    qp->capacity.max_send_sge = std::max(1u, wanted->cap.max_send_sge);
    qp->capacity.max_recv_sge = std::max(1u, wanted->cap.max_recv_sge);
    {
      Progress::Control control(context->device().progress());
      qp->transport = context->device().engine().create(config_of(qp.get()));
    }
    if (qp->transport == nullptr) return fail(ENOMEM);
    fill_verbs(qp.get(), pd, *wanted);
    context->add(qp.get());
    ++qp->pd->users;
    ++qp->send_cq->users;
    ++qp->receive_cq->users;
    wanted->cap = qp->capacity;
    return &qp.release()->verbs.qp;
  } catch (const std::bad_alloc&) {
    return fail(ENOMEM);
  }
}

ibv_qp* create_qp_ex(ibv_context*, ibv_qp_init_attr_ex* wanted) {
  if (wanted->comp_mask != IBV_QP_INIT_ATTR_PD) return fail(EOPNOTSUPP);
  ibv_qp_init_attr plain{wanted->qp_context, wanted->send_cq, wanted->recv_cq,   wanted->srq,
                         wanted->cap,        wanted->qp_type, wanted->sq_sig_all};
  ibv_qp* qp = create_qp(wanted->pd, &plain);
  if (qp != nullptr) wanted->cap = plain.cap;
  return qp;
}

int modify_qp(ibv_qp* verbs, ibv_qp_attr* wanted, int mask) {
  if (forked_away()) return EPERM;
  Qp* qp = Qp::of(verbs);
  try {
    QueuePairAttributes attributes;
    if (!to_engine(*wanted, mask, &attributes)) return EINVAL;
    Progress::Control control(qp->context->device().progress());
    const ibv_qp_state from = to_verbs(qp->transport->state());
    const ibv_qp_state to = (mask & IBV_QP_STATE) != 0 ? wanted->qp_state : from;
    if ((mask & IBV_QP_CUR_STATE) != 0 && wanted->cur_qp_state != from) return EINVAL;
    if (!allowed(from, to, mask)) return EINVAL;
    if (!qp->context->device().engine().modify(*qp->transport, attributes, clock_now())) return EINVAL;
    if (to == IBV_QPS_RESET) drop_completions(qp, [] {});
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
  }
  attributes->qp_state = attributes->cur_qp_state = to_verbs(qp->transport->state());
  attributes->cap = qp->capacity;
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
  delete qp;
  return 0;
}

}  // namespace mrc::provider
