// SPDX-License-Identifier: BSD-2-Clause
// The operations of a reliable connection, as their completions and memory show them.
#include <endian.h>
#include <errno.h>

#include "tests/verbs/provider_fixture.h"

namespace provider_test {
namespace {

class OperationsTest : public LoopTest {
 protected:
  void fill(size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) memory[i] = static_cast<uint8_t>(i * 13 + i / 241 + 1);
  }
  uint64_t word(size_t at) const {
    uint64_t value;
    std::memcpy(&value, memory.data() + at, sizeof value);
    return value;
  }
  void set_word(size_t at, uint64_t value) { std::memcpy(memory.data() + at, &value, sizeof value); }
  ibv_send_wr atomic_request(ibv_sge* result, size_t at, ibv_wr_opcode opcode, uint64_t compare_add,
                             uint64_t swap) {
    ibv_send_wr request = send_request(result, 1);
    request.opcode = opcode;
    request.wr.atomic.remote_addr = reinterpret_cast<uintptr_t>(memory.data()) + at;
    request.wr.atomic.rkey = region->rkey;
    request.wr.atomic.compare_add = compare_add;
    request.wr.atomic.swap = swap;
    return request;
  }
};

TEST_F(OperationsTest, SendsOfManySizesArrive) {
  fill(kThere);
  for (const uint32_t bytes : {0u, 1u, 7u, 4096u, 4097u, 100'001u, 500'000u}) {
    ibv_sge to = segment(kThere, 500'000);
    post_receive(pair[1], bytes, &to);
    ibv_sge from = segment(0, bytes);
    ASSERT_EQ(post(pair[0], send_request(&from, 3)), 0);
    const ibv_wc sent = poll_one(send_queue);
    EXPECT_EQ(sent.status, IBV_WC_SUCCESS);
    EXPECT_EQ(sent.opcode, IBV_WC_SEND);
    const ibv_wc received = poll_one(receive_queue);
    EXPECT_EQ(received.status, IBV_WC_SUCCESS);
    EXPECT_EQ(received.opcode, IBV_WC_RECV);
    EXPECT_EQ(received.wr_id, bytes);
    EXPECT_EQ(received.byte_len, bytes);
    EXPECT_EQ(received.wc_flags, 0u);
    EXPECT_EQ(received.qp_num, pair[1]->qp_num);
    EXPECT_EQ(std::memcmp(memory.data(), memory.data() + kThere, bytes), 0);
  }
}

TEST_F(OperationsTest, ASendCarriesItsImmediateAndInlineData) {
  ibv_sge to = segment(kThere, 64);
  post_receive(pair[1], 1, &to);
  char text[] = "inline words";
  ibv_sge pieces[2] = {{reinterpret_cast<uintptr_t>(text), 6, 0},
                       {reinterpret_cast<uintptr_t>(text) + 6, sizeof text - 6, 0}};
  ibv_send_wr request = send_request(pieces, 2);
  request.num_sge = 2;
  request.opcode = IBV_WR_SEND_WITH_IMM;
  request.send_flags |= IBV_SEND_INLINE | IBV_SEND_SOLICITED;
  request.imm_data = htobe32(0xCAFE0001);
  ASSERT_EQ(post(pair[0], request), 0);
  const ibv_wc received = poll_one(receive_queue);
  EXPECT_EQ(received.opcode, IBV_WC_RECV);
  EXPECT_EQ(received.wc_flags, static_cast<unsigned>(IBV_WC_WITH_IMM));
  EXPECT_EQ(be32toh(received.imm_data), 0xCAFE0001u);
  EXPECT_EQ(received.byte_len, sizeof text);
  EXPECT_STREQ(reinterpret_cast<char*>(memory.data()) + kThere, text);
  EXPECT_EQ(poll_one(send_queue).status, IBV_WC_SUCCESS);
}

TEST_F(OperationsTest, AReadFetches) {
  fill(300'000);
  ibv_sge pieces[2] = {segment(kThere, 100'000), segment(kThere + 100'000, 200'000)};
  ibv_send_wr request = write_request(pieces, 0, 4);
  request.opcode = IBV_WR_RDMA_READ;
  request.num_sge = 2;
  ASSERT_EQ(post(pair[0], request), 0);
  const ibv_wc done = poll_one(send_queue);
  EXPECT_EQ(done.status, IBV_WC_SUCCESS);
  EXPECT_EQ(done.opcode, IBV_WC_RDMA_READ);
  EXPECT_EQ(done.byte_len, 300'000u);
  EXPECT_EQ(std::memcmp(memory.data(), memory.data() + kThere, 300'000), 0);
}

TEST_F(OperationsTest, AtomicsReturnWhatWasThere) {
  set_word(kThere, 1000);
  ibv_sge result = segment(0, 8);
  ASSERT_EQ(post(pair[0], atomic_request(&result, kThere, IBV_WR_ATOMIC_FETCH_AND_ADD, 34, 0)), 0);
  ibv_wc done = poll_one(send_queue);
  EXPECT_EQ(done.status, IBV_WC_SUCCESS);
  EXPECT_EQ(done.opcode, IBV_WC_FETCH_ADD);
  EXPECT_EQ(done.byte_len, 8u);
  EXPECT_EQ(word(0), 1000u);
  EXPECT_EQ(word(kThere), 1034u);
  ASSERT_EQ(post(pair[0], atomic_request(&result, kThere, IBV_WR_ATOMIC_CMP_AND_SWP, 1034, 5)), 0);
  done = poll_one(send_queue);
  EXPECT_EQ(done.opcode, IBV_WC_COMP_SWAP);
  EXPECT_EQ(word(0), 1034u);
  EXPECT_EQ(word(kThere), 5u);
  ASSERT_EQ(post(pair[0], atomic_request(&result, kThere, IBV_WR_ATOMIC_CMP_AND_SWP, 1034, 6)), 0);
  done = poll_one(send_queue);
  EXPECT_EQ(word(0), 5u);
  EXPECT_EQ(word(kThere), 5u) << "nothing is swapped when the comparison fails";

  ibv_sge short_result = segment(0, 4);
  EXPECT_EQ(post(pair[0], atomic_request(&short_result, kThere, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 0)), EINVAL);
  ibv_send_wr in_line = atomic_request(&result, kThere, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 0);
  in_line.send_flags |= IBV_SEND_INLINE;
  EXPECT_EQ(post(pair[0], in_line), EINVAL);
}

TEST_F(OperationsTest, AFenceWaitsForTheReadBeforeIt) {
  set_word(kThere, 77);
  ibv_sge here = segment(0, 8);
  ibv_send_wr read = write_request(&here, kThere, 1);
  read.opcode = IBV_WR_RDMA_READ;
  ibv_send_wr write = write_request(&here, kThere + 64, 2);
  write.send_flags |= IBV_SEND_FENCE;
  read.next = &write;
  ASSERT_EQ(post(pair[0], read), 0);
  EXPECT_EQ(poll_one(send_queue).wr_id, 1u);
  EXPECT_EQ(poll_one(send_queue).wr_id, 2u);
  EXPECT_EQ(word(kThere + 64), 77u) << "the write carries what the read fetched";
}

TEST_F(OperationsTest, UnsignalledRequestsCompleteSilently) {
  ibv_sge from = segment(0, 8);
  for (uint64_t id = 0; id < 100; ++id) {
    ibv_send_wr request = write_request(&from, kThere, id);
    if (id % 10 != 9) request.send_flags = 0;
    int result;
    while ((result = post(pair[0], request)) == ENOMEM) {
      ibv_wc done{};
      if (ibv_poll_cq(send_queue, 1, &done) == 1) {
        EXPECT_EQ(done.wr_id % 10, 9u);
      }
    }
    ASSERT_EQ(result, 0);
  }
  ibv_wc done[10];
  EXPECT_LE(poll_for(send_queue, 11, done, 300ms), 10);
}

TEST_F(OperationsTest, ASendWaitsForItsReceive) {
  fill(64);
  ibv_sge from = segment(0, 64);
  ASSERT_EQ(post(pair[0], send_request(&from, 1)), 0);
  ibv_wc done{};
  EXPECT_EQ(poll_for(send_queue, 1, &done, 20ms), 0) << "rnr_retry 7: for ever";
  ibv_sge to = segment(kThere, 64);
  post_receive(pair[1], 2, &to);
  EXPECT_EQ(poll_one(receive_queue).byte_len, 64u);
  EXPECT_EQ(poll_one(send_queue).status, IBV_WC_SUCCESS);
  EXPECT_EQ(std::memcmp(memory.data(), memory.data() + kThere, 64), 0);
}

TEST_F(OperationsTest, AMessageTooLongForItsReceiveIsAnErrorOnBothSides) {
  ibv_sge from = segment(0, 65);
  ibv_sge to = segment(kThere, 64);
  post_receive(pair[1], 2, &to);
  ASSERT_EQ(post(pair[0], send_request(&from, 1)), 0);
  EXPECT_EQ(poll_one(send_queue).status, IBV_WC_REM_INV_REQ_ERR);
  EXPECT_EQ(poll_one(receive_queue).status, IBV_WC_LOC_LEN_ERR);
}

TEST_F(OperationsTest, ReadsNeedTheRight) {
  ibv_qp_attr attributes{};
  attributes.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
  ASSERT_EQ(ibv_modify_qp(pair[1], &attributes, IBV_QP_ACCESS_FLAGS), 0);
  ibv_sge here = segment(0, 8);
  ibv_send_wr read = write_request(&here, kThere, 1);
  read.opcode = IBV_WR_RDMA_READ;
  ASSERT_EQ(post(pair[0], read), 0);
  EXPECT_EQ(poll_one(send_queue).status, IBV_WC_REM_ACCESS_ERR);
}

TEST_F(OperationsTest, DrainingHoldsBackWhatComesAfter) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_SQD;
  attributes.en_sqd_async_notify = 1;
  ASSERT_EQ(ibv_modify_qp(pair[0], &attributes, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
  ibv_async_event event{};
  ASSERT_EQ(ibv_get_async_event(context, &event), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_SQ_DRAINED);
  EXPECT_EQ(event.element.qp, pair[0]);
  ibv_ack_async_event(&event);
  ibv_sge from = segment(0, 8);
  ASSERT_EQ(post(pair[0], write_request(&from, kThere, 1)), 0);
  ibv_wc done{};
  EXPECT_EQ(poll_for(send_queue, 1, &done, 20ms), 0);
  attributes.qp_state = IBV_QPS_RTS;
  ASSERT_EQ(ibv_modify_qp(pair[0], &attributes, IBV_QP_STATE), 0);
  EXPECT_EQ(poll_one(send_queue).status, IBV_WC_SUCCESS);
}

}  // namespace
}  // namespace provider_test
