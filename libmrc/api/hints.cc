// SPDX-License-Identifier: BSD-2-Clause
// mrc.h: hints, what a program knows beforehand about its traffic.
#include <cstring>
#include <new>

#include "libmrc/api/objects.h"

namespace mrc::api {
namespace {

constexpr int kHintMasks = MRC_QP_HINT_NUM_QPS_PER_PEER | MRC_QP_HINT_NUM_SEND_PEERS |
                           MRC_QP_HINT_NUM_REMOTE_RECV_PEERS | MRC_QP_HINT_VENDOR_CFG;

bool in_range(const mrc_qp_hint_attr& attributes, int mask) {
  if ((mask & ~kHintMasks) != 0) return false;
  if ((mask & MRC_QP_HINT_NUM_QPS_PER_PEER) != 0 && attributes.num_qps_per_peer < 0) return false;
  if ((mask & MRC_QP_HINT_NUM_SEND_PEERS) != 0 && attributes.num_send_peers < 0) return false;
  return (mask & MRC_QP_HINT_NUM_REMOTE_RECV_PEERS) == 0 || attributes.num_remote_recv_peers >= 0;
}

void copy_hint(const mrc_qp_hint_attr& from, int mask, mrc_qp_hint_attr* to) {
  if ((mask & MRC_QP_HINT_NUM_QPS_PER_PEER) != 0) to->num_qps_per_peer = from.num_qps_per_peer;
  if ((mask & MRC_QP_HINT_NUM_SEND_PEERS) != 0) to->num_send_peers = from.num_send_peers;
  if ((mask & MRC_QP_HINT_NUM_REMOTE_RECV_PEERS) != 0) to->num_remote_recv_peers = from.num_remote_recv_peers;
  if ((mask & MRC_QP_HINT_VENDOR_CFG) != 0)
    std::memcpy(to->vendor_cfg, from.vendor_cfg, sizeof to->vendor_cfg);
}

}  // namespace
}  // namespace mrc::api

using mrc::api::done;

MRC_EXPORTED_API mrc_qp_hint* mrc_create_qp_hint(mrc_context* mrc_ctx, mrc_qp_hint_init_attr* init_attr) {
  if (mrc_ctx == nullptr || init_attr == nullptr ||
      !mrc::api::in_range(init_attr->attr, mrc::api::kHintMasks)) {
    errno = EINVAL;
    return nullptr;
  }
  auto* hint = new (std::nothrow) mrc_qp_hint;
  if (hint == nullptr) {
    errno = ENOMEM;
    return nullptr;
  }
  hint->context = mrc_ctx;
  hint->attributes = init_attr->attr;
  ++mrc_ctx->users;
  return hint;
}

MRC_EXPORTED_API int mrc_destroy_qp_hint(mrc_qp_hint* hint) {
  if (hint == nullptr) return done(EINVAL);
  if (hint->users.load() != 0) return done(EBUSY);
  --hint->context->users;
  delete hint;
  return 0;
}

MRC_EXPORTED_API int mrc_query_qp_hint(mrc_qp_hint* hint, mrc_qp_hint_attr* attr, int attr_mask) {
  if (hint == nullptr || attr == nullptr || (attr_mask & ~mrc::api::kHintMasks) != 0) return done(EINVAL);
  std::lock_guard lock(hint->mutex);
  mrc::api::copy_hint(hint->attributes, attr_mask, attr);
  return 0;
}

// Queue pairs take it when they go to INIT; those that have it already keep what they took.
MRC_EXPORTED_API int mrc_modify_qp_hint(mrc_qp_hint* hint, mrc_qp_hint_attr* attr, int attr_mask) {
  if (hint == nullptr || attr == nullptr || !mrc::api::in_range(*attr, attr_mask)) return done(EINVAL);
  std::lock_guard lock(hint->mutex);
  mrc::api::copy_hint(*attr, attr_mask, &hint->attributes);
  return 0;
}
