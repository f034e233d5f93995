// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/verbs/qp_attributes.h"

#include <cerrno>

#include "providers/mrc/presence/limits.h"
#include "providers/mrc/verbs/ah.h"

namespace mrc::provider {
namespace {

// What a transition needs and what it may bring besides, per type of queue pair (InfiniBand 11.2.5.2).
struct Masks {
  int needed;
  int allowed;
};
struct Transition {
  ibv_qp_state from;
  ibv_qp_state to;
  Masks datagram;
  Masks unreliable;
  Masks reliable;
};
constexpr int kStart = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
constexpr int kStartDatagram = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
constexpr int kConnect = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
constexpr int kConnectReliably = kConnect | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
constexpr int kConnectOptions = IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX;
constexpr int kSend = IBV_QP_SQ_PSN;
constexpr int kSendReliably =
    kSend | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
constexpr int kRunDatagram = IBV_QP_CUR_STATE | IBV_QP_QKEY;
constexpr int kRun = IBV_QP_CUR_STATE | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PATH_MIG_STATE;
constexpr int kRunReliably = kRun | IBV_QP_MIN_RNR_TIMER;
constexpr int kDrain = IBV_QP_EN_SQD_ASYNC_NOTIFY;
constexpr int kDrained =
    IBV_QP_AV | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PATH_MIG_STATE;
constexpr int kDrainedReliably = kDrained | IBV_QP_PORT | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                                 IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC |
                                 IBV_QP_MIN_RNR_TIMER;

constexpr Transition kTransitions[] = {
    {IBV_QPS_RESET, IBV_QPS_INIT, {kStartDatagram, 0}, {kStart, 0}, {kStart, 0}},
    {IBV_QPS_INIT, IBV_QPS_INIT, {0, kStartDatagram}, {0, kStart}, {0, kStart}},
    {IBV_QPS_INIT,
     IBV_QPS_RTR,
     {0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY},
     {kConnect, kConnectOptions},
     {kConnectReliably, kConnectOptions}},
    {IBV_QPS_RTR, IBV_QPS_RTS, {kSend, kRunDatagram}, {kSend, kRun}, {kSendReliably, kRunReliably}},
    {IBV_QPS_RTS, IBV_QPS_RTS, {0, kRunDatagram}, {0, kRun}, {0, kRunReliably}},
    {IBV_QPS_RTS, IBV_QPS_SQD, {0, kDrain}, {0, kDrain}, {0, kDrain}},
    {IBV_QPS_SQD, IBV_QPS_RTS, {0, kRunDatagram}, {0, kRun}, {0, kRunReliably}},
    {IBV_QPS_SQD, IBV_QPS_SQD, {0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY}, {0, kDrained}, {0, kDrainedReliably}},
};

// Half of an extended connection needs less: one half only sends, the other only answers.
Masks masks_of_half(const Transition& transition, ibv_qp_type type) {
  constexpr int kOfAnswers = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  constexpr int kOfRequests = IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  const Masks& whole = transition.reliable;
  const int spared = whole.needed & (type == IBV_QPT_XRC_SEND ? kOfAnswers : kOfRequests);
  return {whole.needed & ~spared, whole.allowed | spared};
}

// Raw packets have no peer and no numbers: a port is all they need.
Masks masks_of_raw(const Transition& transition) {
  return {transition.from == IBV_QPS_RESET ? IBV_QP_PORT : 0, 0};
}

Masks masks_of(const Transition& transition, ibv_qp_type type) {
  if (type == IBV_QPT_RAW_PACKET) return masks_of_raw(transition);
  if (type == IBV_QPT_XRC_SEND || type == IBV_QPT_XRC_RECV) return masks_of_half(transition, type);
  if (type == IBV_QPT_UD) return transition.datagram;
  return type == IBV_QPT_UC ? transition.unreliable : transition.reliable;
}

constexpr unsigned kFlushGlobal = 1 << 8;  // IBV_ACCESS_FLUSH_GLOBAL, which older headers do not know

uint8_t remote_rights(unsigned access) {
  uint8_t rights = 0;
  if ((access & IBV_ACCESS_REMOTE_WRITE) != 0) rights |= kRemoteWrite;
  if ((access & IBV_ACCESS_REMOTE_READ) != 0) rights |= kRemoteRead;
  if ((access & IBV_ACCESS_REMOTE_ATOMIC) != 0) rights |= kRemoteAtomic;
  if ((access & kFlushGlobal) != 0) rights |= kRemoteFlush;
  return rights;
}

bool in_range(const DeviceConfig& device, const ibv_qp_attr& from, int mask) {
  if ((mask & IBV_QP_PORT) != 0 && from.port_num != limits::kPort) return false;
  if ((mask & IBV_QP_AV) != 0 && from.ah_attr.port_num != limits::kPort) return false;
  if ((mask & IBV_QP_PKEY_INDEX) != 0 && from.pkey_index != 0) return false;
  // No more than query_port() promises: longer packets would not fit through the ports' interfaces.
  if ((mask & IBV_QP_PATH_MTU) != 0 && (from.path_mtu < IBV_MTU_256 || 128u << from.path_mtu > device.mtu))
    return false;
  if ((mask & IBV_QP_DEST_QPN) != 0 && from.dest_qp_num > Qpn::kMask) return false;
  if ((mask & IBV_QP_TIMEOUT) != 0 && from.timeout > 31) return false;
  if ((mask & IBV_QP_RETRY_CNT) != 0 && from.retry_cnt > 7) return false;
  if ((mask & IBV_QP_RNR_RETRY) != 0 && from.rnr_retry > 7) return false;
  if ((mask & IBV_QP_MIN_RNR_TIMER) != 0 && from.min_rnr_timer > 31) return false;
  if ((mask & IBV_QP_MAX_QP_RD_ATOMIC) != 0 && from.max_rd_atomic > limits::kReads) return false;
  if ((mask & IBV_QP_MAX_DEST_RD_ATOMIC) != 0 && from.max_dest_rd_atomic > limits::kReads) return false;
  // There is no second path, so there is nothing to migrate to.
  if ((mask & IBV_QP_ALT_PATH) != 0) return false;
  return (mask & IBV_QP_PATH_MIG_STATE) == 0 || from.path_mig_state == IBV_MIG_MIGRATED;
}

}  // namespace

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

bool transition_allowed(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to, int mask) {
  if (to == IBV_QPS_RESET || to == IBV_QPS_ERR)
    return (mask & ~IBV_QP_STATE) == 0 && !(from == IBV_QPS_RESET && to == IBV_QPS_ERR);
  for (const Transition& transition : kTransitions) {
    if (transition.from != from || transition.to != to) continue;
    const Masks masks = masks_of(transition, type);
    return (mask & masks.needed) == masks.needed &&
           (mask & ~(IBV_QP_STATE | masks.needed | masks.allowed)) == 0;
  }
  return false;
}

int to_engine(const DeviceConfig& device, const ibv_qp_attr& from, int mask, QueuePairAttributes* to) {
  if (!in_range(device, from, mask)) return EINVAL;
  if ((mask & IBV_QP_STATE) != 0) to->state = to_engine(from.qp_state);
  if ((mask & IBV_QP_QKEY) != 0) to->queue_key = from.qkey;
  if ((mask & IBV_QP_ACCESS_FLAGS) != 0) to->remote_access = remote_rights(from.qp_access_flags);
  if ((mask & IBV_QP_AV) != 0) {
    IpAddress source;
    IpAddress destination;
    if (!resolve_address(device, from.ah_attr, &source, &destination)) return EINVAL;
    to->source = source;
    to->destination = destination;
    to->dscp = from.ah_attr.grh.traffic_class >> 2;
  }
  if ((mask & IBV_QP_PATH_MTU) != 0) to->mtu = 128u << from.path_mtu;
  if ((mask & IBV_QP_DEST_QPN) != 0) to->destination_qpn = Qpn{from.dest_qp_num};
  if ((mask & IBV_QP_RQ_PSN) != 0) to->receive_psn = Psn{from.rq_psn};
  if ((mask & IBV_QP_SQ_PSN) != 0) to->send_psn = Psn{from.sq_psn};
  // InfiniBand 9.7.6.1.3: 4.096 us * 2^timeout, 0 = for ever.
  if ((mask & IBV_QP_TIMEOUT) != 0) to->timeout = from.timeout == 0 ? 0 : Nanoseconds{4096} << from.timeout;
  if ((mask & IBV_QP_RETRY_CNT) != 0) to->retry_linear = from.retry_cnt;
  if ((mask & IBV_QP_RNR_RETRY) != 0) to->rnr_retry = from.rnr_retry;
  if ((mask & IBV_QP_MIN_RNR_TIMER) != 0) to->rnr_timer = from.min_rnr_timer;
  if ((mask & IBV_QP_MAX_QP_RD_ATOMIC) != 0) to->reads_max = from.max_rd_atomic;
  if ((mask & IBV_QP_MAX_DEST_RD_ATOMIC) != 0) to->answers_max = from.max_dest_rd_atomic;
  return 0;
}

void remember(const ibv_qp_attr& from, int mask, ibv_qp_attr* to) {
  if ((mask & IBV_QP_PKEY_INDEX) != 0) to->pkey_index = from.pkey_index;
  if ((mask & IBV_QP_PORT) != 0) to->port_num = from.port_num;
  if ((mask & IBV_QP_QKEY) != 0) to->qkey = from.qkey;
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
  if ((mask & IBV_QP_EN_SQD_ASYNC_NOTIFY) != 0) to->en_sqd_async_notify = from.en_sqd_async_notify;
}

}  // namespace mrc::provider
