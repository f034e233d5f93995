// SPDX-License-Identifier: BSD-2-Clause
// The extended posting calls, ibv_wr_*.
#include <endian.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "objects.h"

namespace conformance {
namespace {

constexpr uint64_t kConnectedOperations = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
                                          IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
                                          IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
                                          IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;

// A pair whose sending queue pair is replaced by an extended one.
struct ExtendedPair : Pair {
  Owned<ibv_qp> from;
  ibv_qp_ex* ex = nullptr;

  static PairOptions before_connection(ibv_qp_type type) {
    PairOptions options;
    options.type = type;
    options.until = IBV_QPS_INIT;
    return options;
  }
  explicit ExtendedPair(ibv_qp_type type = IBV_QPT_RC, uint64_t operations = kConnectedOperations)
      : Pair(before_connection(type)) {
    ibv_qp_init_attr_ex wanted{};
    wanted.send_cq = a.send_cq;
    wanted.recv_cq = a.receive_cq;
    wanted.cap = {8, 8, 4, 4, 64};
    wanted.qp_type = type;
    wanted.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    wanted.pd = pd;
    wanted.send_ops_flags = operations;
    from = own(ibv_create_qp_ex(context, &wanted), "ibv_create_qp_ex");
    ex = ibv_qp_to_qp_ex(from);
    CHECK(ex != nullptr);
    bring_to(from, IBV_QPS_RTS, b.qp->qp_num);
    CHECK_OK(move(b.qp, IBV_QPS_RTR, from->qp_num));
    CHECK_OK(move(b.qp, IBV_QPS_RTS, from->qp_num));
  }
  void begin(uint64_t id, unsigned flags = IBV_SEND_SIGNALED) {
    ibv_wr_start(ex);
    next(id, flags);
  }
  void next(uint64_t id, unsigned flags = IBV_SEND_SIGNALED) {
    ex->wr_id = id;
    ex->wr_flags = flags;
  }
  void set_piece(size_t offset, uint32_t bytes) {
    ibv_wr_set_sge(ex, a.memory.mr->lkey, a.memory.address(offset), bytes);
  }
  uint32_t key() const { return b.memory.mr->rkey; }
};

}  // namespace

CASE("wr.write") {
  ExtendedPair pair;
  pair.begin(1);
  ibv_wr_rdma_write(pair.ex, pair.key(), pair.b.memory.address(10));
  pair.set_piece(0, 100);
  CHECK_OK(ibv_wr_complete(pair.ex));
  CHECK_EQ(await(pair.a.send_cq, 1, IBV_WC_SUCCESS).opcode, IBV_WC_RDMA_WRITE);
  CHECK(pair.b.memory.has(kSeedA, 10, 100, 0));
}

CASE("wr.write_with_immediate") {
  ExtendedPair pair;
  CHECK_OK(post_receive(pair.b.qp, 2));
  pair.begin(1);
  ibv_wr_rdma_write_imm(pair.ex, pair.key(), pair.b.memory.address(), htobe32(55));
  pair.set_piece(0, 100);
  CHECK_OK(ibv_wr_complete(pair.ex));
  CHECK_EQ(be32toh(await(pair.b.receive_cq, 2, IBV_WC_SUCCESS).imm_data), 55);
}

CASE("wr.send") {
  need_operation(IBV_WR_SEND);
  ExtendedPair pair;
  CHECK_OK(post_receive(pair.b.qp, 2, {pair.b.memory.piece(0, 128)}));
  pair.begin(1);
  ibv_wr_send(pair.ex);
  pair.set_piece(0, 100);
  CHECK_OK(ibv_wr_complete(pair.ex));
  CHECK_EQ(await(pair.b.receive_cq, 2, IBV_WC_SUCCESS).byte_len, 100);
}

CASE("wr.send_with_immediate") {
  need_operation(IBV_WR_SEND_WITH_IMM);
  ExtendedPair pair;
  CHECK_OK(post_receive(pair.b.qp, 2, {pair.b.memory.piece(0, 128)}));
  pair.begin(1);
  ibv_wr_send_imm(pair.ex, htobe32(66));
  pair.set_piece(0, 100);
  CHECK_OK(ibv_wr_complete(pair.ex));
  CHECK_EQ(be32toh(await(pair.b.receive_cq, 2, IBV_WC_SUCCESS).imm_data), 66);
}

CASE("wr.read") {
  need_operation(IBV_WR_RDMA_READ);
  ExtendedPair pair;
  pair.begin(1);
  ibv_wr_rdma_read(pair.ex, pair.key(), pair.b.memory.address(33));
  pair.set_piece(0, 5000);
  CHECK_OK(ibv_wr_complete(pair.ex));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
  CHECK(pair.a.memory.has(kSeedB, 0, 5000, 33));
}

CASE("wr.fetch_and_add") {
  need_operation(IBV_WR_ATOMIC_FETCH_AND_ADD);
  ExtendedPair pair;
  pair.b.memory.word(0) = 10;
  pair.begin(1);
  ibv_wr_atomic_fetch_add(pair.ex, pair.key(), pair.b.memory.address(), 5);
  pair.set_piece(0, 8);
  CHECK_OK(ibv_wr_complete(pair.ex));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
  CHECK_EQ(pair.a.memory.word(0), 10);
  CHECK_EQ(pair.b.memory.word(0), 15);
}

CASE("wr.compare_and_swap") {
  need_operation(IBV_WR_ATOMIC_CMP_AND_SWP);
  ExtendedPair pair;
  pair.b.memory.word(0) = 10;
  pair.begin(1);
  ibv_wr_atomic_cmp_swp(pair.ex, pair.key(), pair.b.memory.address(), 10, 99);
  pair.set_piece(0, 8);
  CHECK_OK(ibv_wr_complete(pair.ex));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
  CHECK_EQ(pair.b.memory.word(0), 99);
}

CASE("wr.list_of_segments") {
  ExtendedPair pair;
  pair.begin(1);
  ibv_wr_rdma_write(pair.ex, pair.key(), pair.b.memory.address());
  const ibv_sge pieces[] = {pair.a.memory.piece(0, 10), pair.a.memory.piece(100, 20),
                            pair.a.memory.piece(5000, 3000)};
  ibv_wr_set_sge_list(pair.ex, 3, pieces);
  CHECK_OK(ibv_wr_complete(pair.ex));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
  CHECK(pair.b.memory.has(kSeedA, 0, 10, 0) && pair.b.memory.has(kSeedA, 10, 20, 100) &&
        pair.b.memory.has(kSeedA, 30, 3000, 5000));
}

CASE("wr.inline_data") {
  ExtendedPair pair;
  uint64_t word = 0x1122334455667788;
  pair.begin(1);
  ibv_wr_rdma_write(pair.ex, pair.key(), pair.b.memory.address());
  ibv_wr_set_inline_data(pair.ex, &word, sizeof word);
  word = 0;
  CHECK_OK(ibv_wr_complete(pair.ex));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
  CHECK_EQ(pair.b.memory.word(0), 0x1122334455667788);
}

CASE("wr.inline_data_list") {
  ExtendedPair pair;
  char text[] = "abcdef";
  const ibv_data_buf pieces[] = {{text, 2}, {text + 4, 2}};
  pair.begin(1);
  ibv_wr_rdma_write(pair.ex, pair.key(), pair.b.memory.address());
  ibv_wr_set_inline_data_list(pair.ex, 2, pieces);
  CHECK_OK(ibv_wr_complete(pair.ex));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
  CHECK(std::memcmp(pair.b.memory.data(), "abef", 4) == 0);
}

CASE("wr.several_in_one_batch") {
  ExtendedPair pair;
  ibv_wr_start(pair.ex);
  for (uint64_t id = 0; id < 8; ++id) {
    pair.next(id);
    ibv_wr_rdma_write(pair.ex, pair.key(), pair.b.memory.address(id * 100));
    pair.set_piece(id * 100, 100);
  }
  CHECK_OK(ibv_wr_complete(pair.ex));
  for (uint64_t id = 0; id < 8; ++id) await(pair.a.send_cq, id, IBV_WC_SUCCESS);
  CHECK(pair.b.memory.has(kSeedA, 0, 800, 0));
}

CASE("wr.silent") {
  ExtendedPair pair;
  ibv_wr_start(pair.ex);
  for (uint64_t id = 0; id < 2; ++id) {
    pair.next(id, id == 0 ? 0 : IBV_SEND_SIGNALED);
    ibv_wr_rdma_write(pair.ex, pair.key(), pair.b.memory.address());
    pair.set_piece(0, 8);
  }
  CHECK_OK(ibv_wr_complete(pair.ex));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
  expect_quiet(pair.a.send_cq, 10);
}

CASE("wr.aborted_batch_leaves_nothing") {
  ExtendedPair pair;
  pair.begin(1);
  ibv_wr_rdma_write(pair.ex, pair.key(), pair.b.memory.address());
  pair.set_piece(0, 8);
  ibv_wr_abort(pair.ex);
  expect_quiet(pair.a.send_cq);
  pair.begin(2);
  ibv_wr_rdma_write(pair.ex, pair.key(), pair.b.memory.address());
  pair.set_piece(0, 8);
  CHECK_OK(ibv_wr_complete(pair.ex));
  await(pair.a.send_cq, 2, IBV_WC_SUCCESS);
}

CASE("wr.too_many_requests_refuse_the_batch") {
  ExtendedPair pair;
  ibv_qp_attr attributes;
  ibv_qp_init_attr init;
  CHECK_OK(ibv_query_qp(pair.from, &attributes, IBV_QP_CAP, &init));
  ibv_wr_start(pair.ex);
  for (uint64_t id = 0; id <= init.cap.max_send_wr; ++id) {
    pair.next(id);
    ibv_wr_rdma_write(pair.ex, pair.key(), pair.b.memory.address());
    pair.set_piece(0, 8);
  }
  CHECK_ERROR(ibv_wr_complete(pair.ex), ENOMEM);
  expect_quiet(pair.a.send_cq);
}

CASE("wr.too_many_segments_refuse_the_batch") {
  ExtendedPair pair;
  const std::vector<ibv_sge> pieces(static_cast<size_t>(device_attributes().max_sge) + 1,
                                    pair.a.memory.piece(0, 1));
  pair.begin(1);
  ibv_wr_rdma_write(pair.ex, pair.key(), pair.b.memory.address());
  ibv_wr_set_sge_list(pair.ex, pieces.size(), pieces.data());
  CHECK_ERROR(ibv_wr_complete(pair.ex), EINVAL, ENOMEM);
  expect_quiet(pair.a.send_cq);
}

CASE("wr.too_much_inline_data_refuses_the_batch") {
  ExtendedPair pair;
  std::vector<uint8_t> bytes(1 << 20);
  pair.begin(1);
  ibv_wr_rdma_write(pair.ex, pair.key(), pair.b.memory.address());
  ibv_wr_set_inline_data(pair.ex, bytes.data(), bytes.size());
  CHECK_ERROR(ibv_wr_complete(pair.ex), EINVAL, ENOMEM);
  expect_quiet(pair.a.send_cq);
}

CASE("wr.good_after_a_refused_batch") {
  ExtendedPair pair;
  std::vector<uint8_t> bytes(1 << 20);
  pair.begin(1);
  ibv_wr_rdma_write(pair.ex, pair.key(), pair.b.memory.address());
  ibv_wr_set_inline_data(pair.ex, bytes.data(), bytes.size());
  CHECK(ibv_wr_complete(pair.ex) != 0);
  pair.begin(2);
  ibv_wr_rdma_write(pair.ex, pair.key(), pair.b.memory.address());
  pair.set_piece(0, 8);
  CHECK_OK(ibv_wr_complete(pair.ex));
  await(pair.a.send_cq, 2, IBV_WC_SUCCESS);
}

CASE("wr.plain_posting_works_too") {
  ExtendedPair pair;
  CHECK_OK(Request(IBV_WR_RDMA_WRITE, 1).piece(pair.a.memory, 0, 8).remote(pair.b.memory, 0).post(pair.from));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
}

CASE("wr.remote_error") {
  ExtendedPair pair;
  pair.begin(1);
  ibv_wr_rdma_write(pair.ex, 0xBAD00, pair.b.memory.address());
  pair.set_piece(0, 8);
  CHECK_OK(ibv_wr_complete(pair.ex));
  await(pair.a.send_cq, 1, IBV_WC_REM_ACCESS_ERR);
}

CASE("wr.fence_flag") {
  need_operation(IBV_WR_RDMA_READ);
  ExtendedPair pair;
  pair.b.memory.word(0) = 77;
  ibv_wr_start(pair.ex);
  pair.next(1, 0);
  ibv_wr_rdma_read(pair.ex, pair.key(), pair.b.memory.address());
  pair.set_piece(0, 8);
  pair.next(2, IBV_SEND_SIGNALED | IBV_SEND_FENCE);
  ibv_wr_rdma_write(pair.ex, pair.key(), pair.b.memory.address(512));
  pair.set_piece(0, 8);
  CHECK_OK(ibv_wr_complete(pair.ex));
  await(pair.a.send_cq, 2, IBV_WC_SUCCESS);
  CHECK_EQ(pair.b.memory.word(512), 77);
}

CASE("wr.datagram") {
  Pair pair({.type = IBV_QPT_UD});
  ibv_qp_init_attr_ex wanted{};
  wanted.send_cq = wanted.recv_cq = pair.a.send_cq;
  wanted.cap = {8, 8, 4, 4, 64};
  wanted.qp_type = IBV_QPT_UD;
  wanted.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  wanted.pd = pair.pd;
  wanted.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
  Owned<ibv_qp> from = own(ibv_create_qp_ex(device(), &wanted), "ibv_create_qp_ex");
  bring_to(from, IBV_QPS_RTS);
  ibv_qp_ex* ex = ibv_qp_to_qp_ex(from);
  CHECK(ex != nullptr);
  CHECK_OK(post_receive(pair.b.qp, 2, {pair.b.memory.piece(0, 1024)}));
  ibv_wr_start(ex);
  ex->wr_id = 1;
  ex->wr_flags = IBV_SEND_SIGNALED;
  ibv_wr_send_imm(ex, htobe32(8));
  ibv_wr_set_ud_addr(ex, pair.handle, pair.b.qp->qp_num, kQueueKey);
  ibv_wr_set_sge(ex, pair.a.memory.mr->lkey, pair.a.memory.address(), 50);
  CHECK_OK(ibv_wr_complete(ex));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
  const ibv_wc completion = await(pair.b.receive_cq, 2, IBV_WC_SUCCESS);
  CHECK_EQ(completion.byte_len, 90);
  CHECK_EQ(completion.src_qp, from->qp_num);
}

CASE("wr.reads_not_offered_on_unreliable_connections") {
  Pair pair({.type = IBV_QPT_UC, .until = IBV_QPS_RESET});
  ibv_qp_init_attr_ex wanted{};
  wanted.send_cq = wanted.recv_cq = pair.a.send_cq;
  wanted.cap = {8, 8, 4, 4, 64};
  wanted.qp_type = IBV_QPT_UC;
  wanted.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  wanted.pd = pair.pd;
  wanted.send_ops_flags = IBV_QP_EX_WITH_RDMA_READ;
  CHECK_REFUSED(ibv_create_qp_ex(device(), &wanted), EOPNOTSUPP, EINVAL);
}

}  // namespace conformance
