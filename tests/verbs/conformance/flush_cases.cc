// SPDX-License-Identifier: BSD-2-Clause
// FLUSH, where the headers know it (rdma-core 45 and newer).
#include <cerrno>
#include <cstdint>

#include "objects.h"

#ifdef MRC_HAS_FLUSH

namespace conformance {
namespace {

constexpr unsigned kFlushes = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_FLUSH_GLOBAL;

// A connection whose target may be flushed, and whose sender has the call.
struct FlushPair {
  explicit FlushPair(int region_access = static_cast<int>(kFlushes) | IBV_ACCESS_LOCAL_WRITE,
                     unsigned access = kFlushes) {
    for (Side* side : {&a, &b}) {
      side->send_cq = make_cq();
      side->receive_cq = make_cq();
      side->memory = Memory(pd, 8192, region_access);
      ibv_qp_init_attr_ex wanted{};
      wanted.send_cq = side->send_cq;
      wanted.recv_cq = side->receive_cq;
      wanted.cap = {16, 16, 1, 1, 64};
      wanted.qp_type = IBV_QPT_RC;
      wanted.sq_sig_all = 1;
      wanted.pd = pd;
      wanted.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
      wanted.send_ops_flags = IBV_QP_EX_WITH_FLUSH | IBV_QP_EX_WITH_RDMA_WRITE;
      side->qp = own(ibv_create_qp_ex(device(), &wanted), "ibv_create_qp_ex");
    }
    Path path;
    path.access = access;
    bring_to(a.qp, IBV_QPS_RTS, b.qp->qp_num, path);
    bring_to(b.qp, IBV_QPS_RTS, a.qp->qp_num, path);
    if (!is_strict()) return;
    CHECK_OK(flush(8));
    await(a.send_cq, 5, IBV_WC_LOC_QP_OP_ERR);
    throw NotApplicable("FLUSH is none of MRC 1.0");
  }
  int flush(size_t bytes, uint8_t placement = IBV_FLUSH_GLOBAL, uint8_t selectivity = IBV_FLUSH_RANGE) {
    ibv_qp_ex* calls = ibv_qp_to_qp_ex(a.qp);
    ibv_wr_start(calls);
    calls->wr_id = 5;
    calls->wr_flags = IBV_SEND_SIGNALED;
    ibv_wr_flush(calls, b.memory.mr->rkey, b.memory.address(), bytes, placement, selectivity);
    return ibv_wr_complete(calls);
  }

  Owned<ibv_pd> pd = make_pd();
  Side a;
  Side b;
};

}  // namespace

CASE("flush.device_offers_global") {
  ibv_device_attr_ex attributes{};
  CHECK_OK(ibv_query_device_ex(device(), nullptr, &attributes));
  CHECK((attributes.device_cap_flags_ex >> 38 & 1) != 0);
  CHECK((attributes.device_cap_flags_ex >> 39 & 1) == 0);
}

CASE("flush.after_a_write") {
  FlushPair pair;
  pair.a.memory.fill(kSeedA);
  ibv_qp_ex* calls = ibv_qp_to_qp_ex(pair.a.qp);
  ibv_wr_start(calls);
  calls->wr_id = 4;
  ibv_wr_rdma_write(calls, pair.b.memory.mr->rkey, pair.b.memory.address());
  ibv_wr_set_sge(calls, pair.a.memory.mr->lkey, pair.a.memory.address(), 4096);
  calls->wr_id = 5;
  ibv_wr_flush(calls, pair.b.memory.mr->rkey, pair.b.memory.address(), 4096, IBV_FLUSH_GLOBAL,
               IBV_FLUSH_RANGE);
  CHECK_OK(ibv_wr_complete(calls));
  await(pair.a.send_cq, 4, IBV_WC_SUCCESS);
  CHECK_EQ(await(pair.a.send_cq, 5, IBV_WC_SUCCESS).opcode, IBV_WC_FLUSH);
  CHECK(pair.b.memory.has(kSeedA, 0, 4096, 0));
}

CASE("flush.of_the_region") {
  FlushPair pair;
  CHECK_OK(pair.flush(0, IBV_FLUSH_GLOBAL, IBV_FLUSH_MR));
  await(pair.a.send_cq, 5, IBV_WC_SUCCESS);
}

CASE("flush.beyond_the_region") {
  FlushPair pair;
  CHECK_OK(pair.flush(8193));
  await(pair.a.send_cq, 5, IBV_WC_REM_ACCESS_ERR);
}

CASE("flush.without_the_right_of_the_region") {
  FlushPair pair(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  CHECK_OK(pair.flush(100));
  await(pair.a.send_cq, 5, IBV_WC_REM_ACCESS_ERR);
}

CASE("flush.without_the_right_of_the_queue_pair") {
  FlushPair pair(static_cast<int>(kFlushes) | IBV_ACCESS_LOCAL_WRITE, IBV_ACCESS_REMOTE_WRITE);
  CHECK_OK(pair.flush(100));
  await(pair.a.send_cq, 5, IBV_WC_REM_ACCESS_ERR);
}

CASE("flush.of_an_unknown_kind") {
  FlushPair pair;
  CHECK_ERROR(pair.flush(100, 0), EINVAL);
  CHECK_ERROR(pair.flush(100, IBV_FLUSH_GLOBAL, 2), EINVAL);
}

CASE("flush.no_memory_is_persistent") {
  Owned<ibv_pd> pd = make_pd();
  uint8_t bytes[64];
  CHECK_REFUSED(ibv_reg_mr(pd, bytes, sizeof bytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_FLUSH_PERSISTENT),
                EOPNOTSUPP, EINVAL);
}

}  // namespace conformance

#endif
