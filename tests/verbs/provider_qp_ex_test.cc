// SPDX-License-Identifier: BSD-2-Clause
// Extended queue pairs: work requests built call by call.
#include <endian.h>
#include <errno.h>

#include "tests/verbs/provider_fixture.h"

namespace provider_test {
namespace {

constexpr uint64_t kAllOperations = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
                                    IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
                                    IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
                                    IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_SEND_WITH_INV;

class ExtendedTest : public LoopTest {
 protected:
  void SetUp() override {
    LoopTest::SetUp();
    if (HasFatalFailure()) return;
    ibv_qp_init_attr_ex attributes = wanted(kAllOperations);
    ASSERT_NE(base = ibv_create_qp_ex(context, &attributes), nullptr);
    ASSERT_NE(qp = ibv_qp_to_qp_ex(base), nullptr);
    ibv_qp_init_attr plain = queue_pair_wanted(send_queue, receive_queue);
    ASSERT_NE(peer = ibv_create_qp(domain, &plain), nullptr);
    EXPECT_EQ(ibv_qp_to_qp_ex(peer), nullptr);
    connect(base, peer->qp_num, kRemoteAccess);
    connect(peer, base->qp_num, kRemoteAccess);
  }
  void TearDown() override {
    for (ibv_qp* one : {base, peer})
      if (one != nullptr) {
        EXPECT_EQ(ibv_destroy_qp(one), 0);
      }
    LoopTest::TearDown();
  }
  ibv_qp_init_attr_ex wanted(uint64_t operations) {
    ibv_qp_init_attr_ex attributes{};
    attributes.send_cq = send_queue;
    attributes.recv_cq = receive_queue;
    attributes.cap = {16, 16, 2, 2, 64};
    attributes.qp_type = IBV_QPT_RC;
    attributes.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    attributes.pd = domain;
    attributes.send_ops_flags = operations;
    return attributes;
  }
  void begin(uint64_t id) {
    qp->wr_id = id;
    qp->wr_flags = IBV_SEND_SIGNALED;
  }
  uint64_t address(size_t at) { return reinterpret_cast<uintptr_t>(memory.data()) + at; }

  ibv_qp* base = nullptr;
  ibv_qp_ex* qp = nullptr;
  ibv_qp* peer = nullptr;
};

TEST_F(ExtendedTest, ABatchOfEveryOperation) {
  for (uint64_t id = 0; id < 3; ++id) {
    ibv_sge to = segment(kThere + 1024 + id * 64, 64);
    post_receive(peer, id, &to);
  }
  const uint64_t before = 40;
  std::memcpy(memory.data() + kThere, &before, sizeof before);
  char text[] = "in line";
  ibv_wr_start(qp);
  begin(1);
  ibv_wr_rdma_write(qp, region->rkey, address(kThere + 64));
  ibv_wr_set_inline_data(qp, text, sizeof text);
  begin(2);
  ibv_wr_atomic_fetch_add(qp, region->rkey, address(kThere), 2);
  ibv_wr_set_sge(qp, region->lkey, address(0), 8);
  begin(3);
  ibv_wr_atomic_cmp_swp(qp, region->rkey, address(kThere), 42, 43);
  ibv_wr_set_sge(qp, region->lkey, address(8), 8);
  begin(4);
  ibv_wr_rdma_read(qp, region->rkey, address(kThere + 64));
  ibv_sge pieces[2] = {segment(128, 2), segment(256, sizeof text - 2)};
  ibv_wr_set_sge_list(qp, 2, pieces);
  begin(5);
  ibv_wr_send(qp);
  ibv_wr_set_sge(qp, region->lkey, address(kThere + 64), 8);
  begin(6);
  ibv_wr_send_imm(qp, htobe32(66));
  ibv_data_buf buffers[2] = {{text, 3}, {text + 3, 5}};
  ibv_wr_set_inline_data_list(qp, 2, buffers);
  begin(7);
  ibv_wr_rdma_write_imm(qp, region->rkey, address(kThere + 512), htobe32(77));
  ibv_wr_set_sge(qp, region->lkey, address(0), 8);
  ASSERT_EQ(ibv_wr_complete(qp), 0);
  const ibv_wc_opcode opcodes[] = {IBV_WC_RDMA_WRITE, IBV_WC_FETCH_ADD, IBV_WC_COMP_SWAP, IBV_WC_RDMA_READ,
                                   IBV_WC_SEND,       IBV_WC_SEND,      IBV_WC_RDMA_WRITE};
  for (uint64_t id = 1; id <= 7; ++id) {
    const ibv_wc done = poll_one(send_queue);
    EXPECT_EQ(done.status, IBV_WC_SUCCESS);
    EXPECT_EQ(done.wr_id, id);
    EXPECT_EQ(done.opcode, opcodes[id - 1]);
  }
  uint64_t words[3];
  std::memcpy(words, memory.data(), 16);
  std::memcpy(words + 2, memory.data() + kThere, 8);
  EXPECT_EQ(words[0], 40u);
  EXPECT_EQ(words[1], 42u);
  EXPECT_EQ(words[2], 43u);
  EXPECT_STREQ(reinterpret_cast<char*>(memory.data()) + kThere + 64, text);
  EXPECT_STREQ(reinterpret_cast<char*>(memory.data()) + 256, text + 2);
  ibv_wc received = poll_one(receive_queue);
  EXPECT_EQ(received.byte_len, 8u);
  received = poll_one(receive_queue);
  EXPECT_EQ(be32toh(received.imm_data), 66u);
  EXPECT_STREQ(reinterpret_cast<char*>(memory.data()) + kThere + 1024 + 64, text);
  received = poll_one(receive_queue);
  EXPECT_EQ(received.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
  EXPECT_EQ(be32toh(received.imm_data), 77u);
}

TEST_F(ExtendedTest, ABadRequestTakesItsBatchWithIt) {
  char large[65] = {};
  ibv_wr_start(qp);
  begin(1);
  ibv_wr_rdma_write(qp, region->rkey, address(kThere));
  ibv_wr_set_sge(qp, region->lkey, address(0), 8);
  begin(2);
  ibv_wr_rdma_write(qp, region->rkey, address(kThere));
  ibv_wr_set_inline_data(qp, large, sizeof large);
  EXPECT_EQ(ibv_wr_complete(qp), EINVAL);
  ibv_wr_start(qp);
  for (int i = 0; i < 40; ++i) {
    begin(3);
    ibv_wr_rdma_write(qp, region->rkey, address(kThere));
    ibv_wr_set_sge(qp, region->lkey, address(0), 8);
  }
  EXPECT_EQ(ibv_wr_complete(qp), ENOMEM);
  ibv_wr_start(qp);
  begin(4);
  ibv_wr_rdma_write(qp, region->rkey, address(kThere));
  ibv_wr_set_sge(qp, region->lkey, address(0), 8);
  ibv_wr_abort(qp);
  ibv_wc done{};
  EXPECT_EQ(poll_for(send_queue, 1, &done, 20ms), 0);
  ibv_wr_start(qp);
  begin(5);
  ibv_wr_rdma_write(qp, region->rkey, address(kThere));
  ibv_wr_set_sge(qp, region->lkey, address(0), 8);
  EXPECT_EQ(ibv_wr_complete(qp), 0);
  EXPECT_EQ(poll_one(send_queue).wr_id, 5u);
}

TEST_F(ExtendedTest, WhatItsTypeCannotDoIsRefused) {
  ibv_qp_init_attr_ex attributes = wanted(IBV_QP_EX_WITH_TSO);
  EXPECT_EQ(ibv_create_qp_ex(context, &attributes), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  attributes = wanted(IBV_QP_EX_WITH_RDMA_READ);
  attributes.qp_type = IBV_QPT_UD;
  EXPECT_EQ(ibv_create_qp_ex(context, &attributes), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  attributes = wanted(kAllOperations);
  attributes.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
  attributes.create_flags = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB;
  EXPECT_EQ(ibv_create_qp_ex(context, &attributes), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  attributes = wanted(kAllOperations);
  attributes.comp_mask &= ~static_cast<uint32_t>(IBV_QP_INIT_ATTR_PD);
  EXPECT_EQ(ibv_create_qp_ex(context, &attributes), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

}  // namespace
}  // namespace provider_test
