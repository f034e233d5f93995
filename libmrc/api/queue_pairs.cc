// SPDX-License-Identifier: BSD-2-Clause
// mrc.h: queue pairs, which are libibverbs' own with MRC and nothing else on the wire.
#include <algorithm>
#include <cstring>
#include <new>

#include "include/mrc/mrcdv.h"
#include "libmrc/api/objects.h"

namespace mrc::api {
namespace {

constexpr uint32_t kPacketsPerUnit = 128;
constexpr uint8_t kTimeoutMax = 24;
constexpr uint8_t kLinearMax = 7;
constexpr uint8_t kExponentialMax = 25;
// Of queue pairs that are told nothing: 67 ms, and eight tries.
constexpr uint8_t kTimeoutUsual = 16;
constexpr uint8_t kLinearUsual = 7;

// What libibverbs has and MRC does not: ignored, whatever it says.
constexpr int kNotMrc = IBV_QP_PORT | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                        IBV_QP_MIN_RNR_TIMER | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC |
                        IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE;
constexpr int kBeforeRtr = MRC_QP_HINT | MRC_QP_EV_PROFILE_ID | MRC_QP_CC_PROFILE_ID | MRC_QP_MAX_WIMM_DEST |
                           MRC_QP_MPR_DEST | MRC_QP_CAP;
constexpr int kAnyTime = MRC_QP_MAX_WIMM | MRC_QP_MPR | MRC_QP_TIMEOUT | MRC_QP_RETRY_CNT | MRC_QP_VENDOR_CFG;
constexpr uint32_t kQpCaps =
    MRC_QP_CAP_TRIM_NACK_DEST_UNSUPPORTED | MRC_QP_CAP_DYNAMIC_MPR | MRC_QP_CAP_SVC_TIME_DEST_UNSUPPORTED;
constexpr uint64_t kSendOperations = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;

int refused(int error) {
  errno = error;
  return error;
}

bool acceptable(const mrc_qp_attr& wanted, int mask, ibv_qp_state from) {
  if ((mask & ~(kBeforeRtr | kAnyTime)) != 0) return false;
  if ((mask & kBeforeRtr) != 0 && from != IBV_QPS_RESET && from != IBV_QPS_INIT) return false;
  if ((mask & MRC_QP_TIMEOUT) != 0 && wanted.timeout > kTimeoutMax) return false;
  if ((mask & MRC_QP_RETRY_CNT) != 0 &&
      (wanted.retry.linear_cnt > kLinearMax || wanted.retry.exp_cnt > kExponentialMax))
    return false;
  return (mask & MRC_QP_CAP) == 0 || (wanted.cap & ~kQpCaps) == 0;
}

uint32_t to_dv(const mrc_qp_attr& from, int mask, mrcdv_qp_attr* to) {
  uint32_t dv = 0;
  const auto take = [&](int bit, uint32_t dv_bit, auto&& copy) {
    if ((mask & bit) == 0) return;
    copy();
    dv |= dv_bit;
  };
  take(MRC_QP_TIMEOUT, MRCDV_QP_TIMEOUT, [&] { to->timeout_ns = uint64_t{1024} << from.timeout; });
  take(MRC_QP_RETRY_CNT, MRCDV_QP_RETRY, [&] {
    to->retry_linear = from.retry.linear_cnt;
    to->retry_exponential = from.retry.exp_cnt;
  });
  take(MRC_QP_MAX_WIMM, MRCDV_QP_MAX_WIMM, [&] { to->max_wimm = from.wimm.max_wimm; });
  take(MRC_QP_MAX_WIMM_DEST, MRCDV_QP_MAX_WIMM_DEST, [&] { to->max_wimm_dest = from.wimm.max_wimm_dest; });
  take(MRC_QP_MPR, MRCDV_QP_MPR, [&] { to->mpr = from.mpr.mpr * kPacketsPerUnit; });
  take(MRC_QP_MPR_DEST, MRCDV_QP_MPR_DEST, [&] { to->mpr_dest = from.mpr.mpr_dest * kPacketsPerUnit; });
  take(MRC_QP_CAP, MRCDV_QP_DYNAMIC_MPR,
       [&] { to->dynamic_mpr = (from.cap & MRC_QP_CAP_DYNAMIC_MPR) != 0 ? 1 : 0; });
  take(MRC_QP_EV_PROFILE_ID, MRCDV_QP_EV_PROFILE, [&] { to->ev_profile_id = from.profile.ev_profile_id; });
  take(MRC_QP_CC_PROFILE_ID, MRCDV_QP_CC_PROFILE, [&] { to->cc_profile_id = from.profile.cc_profile_id; });
  return dv;
}

void remember_attributes(const mrc_qp_attr& from, int mask, mrc_qp_attr* to) {
  if ((mask & MRC_QP_TIMEOUT) != 0) to->timeout = from.timeout;
  if ((mask & MRC_QP_RETRY_CNT) != 0) to->retry = from.retry;
  if ((mask & MRC_QP_MAX_WIMM) != 0) to->wimm.max_wimm = from.wimm.max_wimm;
  if ((mask & MRC_QP_MAX_WIMM_DEST) != 0) to->wimm.max_wimm_dest = from.wimm.max_wimm_dest;
  if ((mask & MRC_QP_MPR) != 0) to->mpr.mpr = from.mpr.mpr;
  if ((mask & MRC_QP_MPR_DEST) != 0) to->mpr.mpr_dest = from.mpr.mpr_dest;
  if ((mask & MRC_QP_CAP) != 0) to->cap = from.cap;
  if ((mask & MRC_QP_EV_PROFILE_ID) != 0) to->profile.ev_profile_id = from.profile.ev_profile_id;
  if ((mask & MRC_QP_CC_PROFILE_ID) != 0) to->profile.cc_profile_id = from.profile.cc_profile_id;
  if ((mask & MRC_QP_HINT) != 0) to->qp_hint = from.qp_hint;
  if ((mask & MRC_QP_VENDOR_CFG) != 0) std::memcpy(to->vendor_cfg, from.vendor_cfg, sizeof to->vendor_cfg);
}

// What libibverbs asks for in this step although MRC does not have it.
int complete(ibv_qp_state from, ibv_qp_attr* attributes, int mask) {
  mask &= ~kNotMrc;
  if ((mask & IBV_QP_STATE) == 0) return mask;
  if (from == IBV_QPS_RESET && attributes->qp_state == IBV_QPS_INIT) {
    attributes->port_num = 1;
    return mask | IBV_QP_PORT;
  }
  if (from == IBV_QPS_INIT && attributes->qp_state == IBV_QPS_RTR) {
    attributes->max_dest_rd_atomic = 0;
    attributes->min_rnr_timer = 12;
    return mask | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  }
  if (from == IBV_QPS_RTR && attributes->qp_state == IBV_QPS_RTS) {
    attributes->timeout = 14;
    attributes->retry_cnt = attributes->rnr_retry = 7;
    attributes->max_rd_atomic = 0;
    return mask | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  }
  return mask;
}

mrc_qp_attr usual_attributes(ibv_qp* verbs) {
  mrc_qp_attr attributes{};
  mrcdv_qp_attr dv{};
  if (mrcdv_query_qp(verbs, &dv) == 0) {
    attributes.wimm = {dv.max_wimm, dv.max_wimm_dest};
    attributes.mpr.mpr = static_cast<uint8_t>(std::min(dv.mpr / kPacketsPerUnit, 255u));
    attributes.mpr.mpr_dest = static_cast<uint8_t>(std::min(dv.mpr_dest / kPacketsPerUnit, 255u));
    if (dv.dynamic_mpr != 0) attributes.cap = MRC_QP_CAP_DYNAMIC_MPR;
  }
  attributes.timeout = kTimeoutUsual;
  attributes.retry.linear_cnt = kLinearUsual;
  return attributes;
}

// Both hold their mutex.
void swap_hint(mrc_qp* qp, mrc_qp_hint* hint) {
  if (hint != nullptr) ++hint->users;
  if (qp->hint != nullptr) --qp->hint->users;
  qp->hint = hint;
}

int modify(mrc_qp* qp, const ibv_qp_attr* ibv_attr, int ibv_mask, const mrc_qp_attr* mrc_attr, int mrc_mask) {
  if ((ibv_mask != 0 && ibv_attr == nullptr) || (mrc_mask != 0 && mrc_attr == nullptr)) return EINVAL;
  std::lock_guard lock(qp->mutex);
  ibv_qp_attr now{};
  ibv_qp_init_attr ignored{};
  if (const int error = ibv_query_qp(qp->verbs, &now, IBV_QP_STATE, &ignored); error != 0) return error;
  if (mrc_mask != 0 && !acceptable(*mrc_attr, mrc_mask, now.qp_state)) return EINVAL;
  ibv_qp_attr wanted = ibv_attr != nullptr ? *ibv_attr : ibv_qp_attr{};
  const int mask = complete(now.qp_state, &wanted, ibv_mask);
  const bool starts_sending =
      (mask & IBV_QP_STATE) != 0 && now.qp_state == IBV_QPS_RTR && wanted.qp_state == IBV_QPS_RTS;

  mrcdv_qp_attr dv{};
  uint32_t dv_mask = mrc_mask != 0 ? to_dv(*mrc_attr, mrc_mask, &dv) : 0;
  if (starts_sending) {  // instead of what complete() has put in
    mrc_qp_attr all = qp->attributes;
    if (mrc_mask != 0) remember_attributes(*mrc_attr, mrc_mask, &all);
    dv_mask |= to_dv(all, MRC_QP_TIMEOUT | MRC_QP_RETRY_CNT, &dv);
  }
  if ((mrc_mask & MRC_QP_HINT) != 0) {
    dv_mask |= MRCDV_QP_EXPECTED_SENDERS;
    if (mrc_attr->qp_hint != nullptr) {
      std::lock_guard hint_lock(mrc_attr->qp_hint->mutex);
      dv.expected_senders = static_cast<uint32_t>(mrc_attr->qp_hint->attributes.num_remote_recv_peers);
    }
  }
  if (const int error = mrcdv_modify_qp(qp->verbs, &wanted, mask, &dv, dv_mask); error != 0) return error;
  if ((mask & IBV_QP_STATE) != 0 && wanted.qp_state == IBV_QPS_RESET) {
    swap_hint(qp, nullptr);
    qp->attributes = usual_attributes(qp->verbs);
  }
  if ((mrc_mask & MRC_QP_HINT) != 0) swap_hint(qp, mrc_attr->qp_hint);
  if (mrc_mask != 0) remember_attributes(*mrc_attr, mrc_mask, &qp->attributes);
  return 0;
}

}  // namespace
}  // namespace mrc::api

using mrc::api::done;
using mrc::api::told;

MRC_EXPORTED_API mrc_qp* mrc_create_qp(mrc_context* mrc_ctx, mrc_qp_init_attr* init_attr) {
  const auto fail = [](int error) -> mrc_qp* {
    errno = error;
    return nullptr;
  };
  if (mrc_ctx == nullptr || init_attr == nullptr || init_attr->pd == nullptr ||
      init_attr->pd->context != mrc_ctx->verbs || init_attr->send_cq == nullptr ||
      init_attr->recv_cq == nullptr)
    return fail(EINVAL);
  if (init_attr->send_cq->events != nullptr || init_attr->recv_cq->events != nullptr) return fail(EINVAL);
  if (init_attr->protocol_version != MRC_PROTOCOL_VERSION_0 &&
      init_attr->protocol_version != MRC_PROTOCOL_VERSION_1)
    return fail(EINVAL);
  if ((init_attr->send_ops_flags & ~mrc::api::kSendOperations) != 0) return fail(EOPNOTSUPP);
  auto* qp = new (std::nothrow) mrc_qp;
  if (qp == nullptr) return fail(ENOMEM);
  ibv_qp_init_attr verbs{};
  verbs.qp_context = qp;
  verbs.send_cq = init_attr->send_cq->verbs;
  verbs.recv_cq = init_attr->recv_cq->verbs;
  verbs.cap = init_attr->cap;
  verbs.sq_sig_all = init_attr->sq_sig_all;
  verbs.qp_type = IBV_QPT_RC;
  qp->verbs = mrcdv_create_qp(init_attr->pd, &verbs, MRCDV_TRANSPORT_MRC_STRICT);
  if (qp->verbs == nullptr) {
    const int error = errno;
    delete qp;
    return fail(error);
  }
  qp->context = mrc_ctx;
  qp->qp_context = init_attr->qp_context;
  qp->send_cq = init_attr->send_cq;
  qp->recv_cq = init_attr->recv_cq;
  qp->send_ops_flags = init_attr->send_ops_flags;
  qp->protocol_version = init_attr->protocol_version;
  qp->attributes = mrc::api::usual_attributes(qp->verbs);
  try {
    mrc::api::add(qp);
  } catch (const std::bad_alloc&) {
    ibv_destroy_qp(qp->verbs);
    delete qp;
    return fail(ENOMEM);
  }
  init_attr->cap = verbs.cap;
  ++mrc_ctx->users;
  return qp;
}

MRC_EXPORTED_API int mrc_destroy_qp(mrc_qp* qp) {
  if (qp == nullptr) return told(EINVAL);
  if (const int error = ibv_destroy_qp(qp->verbs); error != 0) return told(error);
  mrc::api::remove(qp);
  mrc::api::swap_hint(qp, nullptr);
  --qp->context->users;
  delete qp;
  return 0;
}

MRC_EXPORTED_API int mrc_query_qp(mrc_qp* qp, ibv_qp_attr* ibv_attr, int ibv_attr_mask, mrc_qp_attr* mrc_attr,
                                  int mrc_attr_mask, mrc_qp_init_attr* init_attr) {
  using namespace mrc::api;
  if (qp == nullptr || (mrc_attr_mask & ~(kBeforeRtr | kAnyTime)) != 0) return told(EINVAL);
  if ((ibv_attr_mask != 0 && ibv_attr == nullptr) || (mrc_attr_mask != 0 && mrc_attr == nullptr))
    return told(EINVAL);
  ibv_qp_attr attributes{};
  ibv_qp_init_attr made_with{};
  if (const int error = ibv_query_qp(qp->verbs, &attributes, ibv_attr_mask, &made_with); error != 0)
    return told(error);
  if (ibv_attr != nullptr) *ibv_attr = attributes;
  std::lock_guard lock(qp->mutex);
  if (mrc_attr != nullptr) remember_attributes(qp->attributes, mrc_attr_mask, mrc_attr);
  if (init_attr != nullptr)
    *init_attr = {qp->qp_context,       qp->send_cq,   qp->recv_cq,        made_with.cap,
                  made_with.sq_sig_all, qp->verbs->pd, qp->send_ops_flags, qp->protocol_version};
  return 0;
}

MRC_EXPORTED_API int mrc_modify_qp(mrc_qp* qp, ibv_qp_attr* ibv_attr, int ibv_attr_mask,
                                   mrc_qp_attr* mrc_attr, int mrc_attr_mask) {
  if (qp == nullptr) return told(EINVAL);
  return told(mrc::api::modify(qp, ibv_attr, ibv_attr_mask, mrc_attr, mrc_attr_mask));
}

MRC_EXPORTED_API int mrc_get_qpn(mrc_qp* qp, uint32_t* qpn) {
  if (qp == nullptr || qpn == nullptr) return done(EINVAL);
  *qpn = qp->verbs->qp_num;
  return 0;
}

MRC_EXPORTED_API int mrc_post_recv(mrc_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) {
  if (qp == nullptr) return mrc::api::refused(EINVAL);
  return told(ibv_post_recv(qp->verbs, wr, bad_wr));
}

MRC_EXPORTED_API int mrc_post_send(mrc_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad_wr) {
  if (qp == nullptr) return mrc::api::refused(EINVAL);
  ibv_send_wr* last = nullptr;
  for (ibv_send_wr* one = wr; one != nullptr; last = one, one = one->next) {
    if (one->opcode == IBV_WR_RDMA_WRITE || one->opcode == IBV_WR_RDMA_WRITE_WITH_IMM) continue;
    // As with every bad request: those before it are posted.
    if (last != nullptr) {
      last->next = nullptr;
      const int error = ibv_post_send(qp->verbs, wr, bad_wr);
      last->next = one;
      if (error != 0) return told(error);
    }
    if (bad_wr != nullptr) *bad_wr = one;
    return told(EINVAL);
  }
  return told(ibv_post_send(qp->verbs, wr, bad_wr));
}
