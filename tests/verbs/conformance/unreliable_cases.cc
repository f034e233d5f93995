// SPDX-License-Identifier: BSD-2-Clause
// Unreliable connections: what the peer cannot take is lost, and nobody is told.
#include <endian.h>

#include "objects.h"

namespace conformance {

CASE("uc.bad_key_hurts_nobody") {
  Pair pair({.type = IBV_QPT_UC});
  CHECK_OK(Request(IBV_WR_RDMA_WRITE).piece(pair.a.memory, 0, 8).remote(0, 0xBAD00).post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
  CHECK_EQ(queried_state(pair.a.qp), IBV_QPS_RTS);
}

CASE("uc.no_receive_is_a_lost_message") {
  Pair pair({.type = IBV_QPT_UC});
  CHECK_OK(Request(IBV_WR_SEND, 1).piece(pair.a.memory, 0, 8).post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
  expect_quiet(pair.b.receive_cq, 20);
  CHECK_OK(post_receive(pair.b.qp, 2, {pair.b.memory.piece(0, 64)}));
  CHECK_OK(Request(IBV_WR_SEND, 3).piece(pair.a.memory, 0, 16).post(pair.a.qp));
  CHECK_EQ(await(pair.b.receive_cq, 2, IBV_WC_SUCCESS).byte_len, 16);
}

CASE("uc.bad_key_with_immediate_leaves_the_receive") {
  Pair pair({.type = IBV_QPT_UC});
  CHECK_OK(post_receive(pair.b.qp, 2));
  CHECK_OK(Request(IBV_WR_RDMA_WRITE_WITH_IMM, 1)
               .piece(pair.a.memory, 0, 8)
               .remote(0, 0xBAD00)
               .immediate(7)
               .post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
  CHECK_OK(Request(IBV_WR_RDMA_WRITE_WITH_IMM, 3)
               .piece(pair.a.memory, 0, 8)
               .remote(pair.b.memory, 0)
               .immediate(8)
               .post(pair.a.qp));
  const ibv_wc completion = await(pair.b.receive_cq, 2, IBV_WC_SUCCESS);
  CHECK_EQ(be32toh(completion.imm_data), 8);
  CHECK(pair.b.memory.has(kSeedA, 0, 8, 0));
}

}  // namespace conformance
