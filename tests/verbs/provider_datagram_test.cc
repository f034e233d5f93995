// SPDX-License-Identifier: BSD-2-Clause
// Datagrams, address handles and unreliable connections, between queue pairs of one process.
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>

#include "tests/verbs/provider_fixture.h"

namespace provider_test {
namespace {

constexpr uint32_t kQueueKey = 0x1234;
constexpr size_t kGrh = 40;

class DatagramTest : public LoopTest {
 protected:
  void SetUp() override {
    LoopTest::SetUp();
    if (HasFatalFailure()) return;
    ibv_qp_init_attr wanted = queue_pair_wanted(send_queue, receive_queue);
    wanted.qp_type = IBV_QPT_UD;
    for (ibv_qp*& qp : datagram) {
      ASSERT_NE(qp = ibv_create_qp(domain, &wanted), nullptr);
      start(qp);
    }
    handle = ibv_create_ah(domain, &(address = to_myself()));
    ASSERT_NE(handle, nullptr);
  }
  void TearDown() override {
    if (handle != nullptr) {
      EXPECT_EQ(ibv_destroy_ah(handle), 0);
    }
    for (ibv_qp* qp : datagram)
      if (qp != nullptr) {
        EXPECT_EQ(ibv_destroy_qp(qp), 0);
      }
    LoopTest::TearDown();
  }
  static void start(ibv_qp* qp) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.port_num = 1;
    attributes.qkey = kQueueKey;
    ASSERT_EQ(ibv_modify_qp(qp, &attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY),
              0);
    attributes.qp_state = IBV_QPS_RTR;
    ASSERT_EQ(ibv_modify_qp(qp, &attributes, IBV_QP_STATE), 0);
    attributes.qp_state = IBV_QPS_RTS;
    ASSERT_EQ(ibv_modify_qp(qp, &attributes, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
  }
  ibv_ah_attr to_myself() {
    ibv_ah_attr result{};
    result.is_global = 1;
    result.port_num = 1;
    EXPECT_EQ(ibv_query_gid(context, 1, 0, &result.grh.dgid), 0);
    return result;
  }
  ibv_send_wr datagram_request(ibv_sge* from, uint32_t key = kQueueKey) {
    ibv_send_wr request = send_request(from, 6);
    request.wr.ud.ah = handle;
    request.wr.ud.remote_qpn = datagram[1]->qp_num;
    request.wr.ud.remote_qkey = key;
    return request;
  }

  ibv_qp* datagram[2] = {};
  ibv_ah_attr address{};
  ibv_ah* handle = nullptr;
};

TEST_F(DatagramTest, ArriveBehindAGrhThatLeadsBack) {
  ibv_sge to = segment(kThere, 4096);
  post_receive(datagram[1], 5, &to);
  std::memcpy(memory.data(), "a datagram", 11);
  ibv_sge from = segment(0, 11);
  ibv_send_wr request = datagram_request(&from);
  request.opcode = IBV_WR_SEND_WITH_IMM;
  request.imm_data = htobe32(99);
  ASSERT_EQ(post(datagram[0], request), 0);
  EXPECT_EQ(poll_one(send_queue).status, IBV_WC_SUCCESS);
  ibv_wc received = poll_one(receive_queue);
  EXPECT_EQ(received.status, IBV_WC_SUCCESS);
  EXPECT_EQ(received.opcode, IBV_WC_RECV);
  EXPECT_EQ(received.wc_flags, static_cast<unsigned>(IBV_WC_GRH | IBV_WC_WITH_IMM));
  EXPECT_EQ(received.byte_len, kGrh + 11);
  EXPECT_EQ(received.src_qp, datagram[0]->qp_num);
  EXPECT_EQ(received.sl & 7, 2) << "an IPv4 header";
  EXPECT_EQ(be32toh(received.imm_data), 99u);
  EXPECT_STREQ(reinterpret_cast<char*>(memory.data()) + kThere + kGrh, "a datagram");
  const uint8_t* header = memory.data() + kThere + 20;
  EXPECT_EQ(header[0], 0x45);
  uint32_t sum = 0;
  for (int i = 0; i < 20; i += 2) sum += static_cast<uint32_t>(header[i] << 8 | header[i + 1]);
  sum = (sum & 0xFFFF) + (sum >> 16);
  EXPECT_EQ((sum & 0xFFFF) + (sum >> 16), 0xFFFFu) << "its checksum";

  ibv_ah_attr back{};
  auto* grh = reinterpret_cast<ibv_grh*>(memory.data() + kThere);
  ASSERT_EQ(ibv_init_ah_from_wc(context, 1, &received, grh, &back), 0);
  EXPECT_EQ(back.is_global, 1);
  EXPECT_EQ(std::memcmp(&back.grh.dgid, &address.grh.dgid, sizeof(ibv_gid)), 0);
  ibv_ah* answer = ibv_create_ah_from_wc(domain, &received, grh, 1);
  ASSERT_NE(answer, nullptr);
  EXPECT_EQ(ibv_destroy_ah(answer), 0);
}

TEST_F(DatagramTest, TheWrongQueueKeyIsDropped) {
  ibv_sge to = segment(kThere, 4096);
  post_receive(datagram[1], 5, &to);
  ibv_sge from = segment(0, 4);
  ASSERT_EQ(post(datagram[0], datagram_request(&from, kQueueKey + 1)), 0);
  EXPECT_EQ(poll_one(send_queue).status, IBV_WC_SUCCESS);
  ibv_wc done{};
  EXPECT_EQ(poll_for(receive_queue, 1, &done, 50ms), 0);
  ASSERT_EQ(post(datagram[0], datagram_request(&from, 0x80000000)), 0) << "means the sender's own";
  EXPECT_EQ(poll_one(receive_queue).byte_len, kGrh + 4);
}

TEST_F(DatagramTest, OnlySendsThatFitIntoAPacket) {
  ibv_sge from = segment(0, 8);
  ibv_send_wr request = datagram_request(&from);
  for (const ibv_wr_opcode opcode :
       {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_SEND_WITH_INV}) {
    request.opcode = opcode;
    EXPECT_EQ(post(datagram[0], request), EINVAL);
  }
  request = datagram_request(&from);
  request.wr.ud.ah = nullptr;
  EXPECT_EQ(post(datagram[0], request), EINVAL);
  ibv_sge long_one = segment(0, 4097);
  ASSERT_EQ(post(datagram[0], datagram_request(&long_one)), 0);
  EXPECT_EQ(poll_one(send_queue).status, IBV_WC_LOC_LEN_ERR);
}

TEST_F(DatagramTest, HandlesAreChecked) {
  ibv_ah_attr wrong = address;
  wrong.is_global = 0;
  EXPECT_EQ(ibv_create_ah(domain, &wrong), nullptr);
  EXPECT_EQ(errno, EINVAL);
  wrong = address;
  wrong.port_num = 2;
  EXPECT_EQ(ibv_create_ah(domain, &wrong), nullptr);
  wrong = address;
  wrong.grh.sgid_index = 200;
  EXPECT_EQ(ibv_create_ah(domain, &wrong), nullptr);
}

TEST_F(DatagramTest, AttributesAreThoseOfItsType) {
  ibv_qp_attr now{};
  ibv_qp_init_attr made{};
  ASSERT_EQ(ibv_query_qp(datagram[0], &now, IBV_QP_QKEY | IBV_QP_STATE, &made), 0);
  EXPECT_EQ(now.qkey, kQueueKey);
  EXPECT_EQ(now.qp_state, IBV_QPS_RTS);
  EXPECT_EQ(made.qp_type, IBV_QPT_UD);
  ibv_qp_attr attributes{};
  EXPECT_EQ(ibv_modify_qp(datagram[0], &attributes, IBV_QP_ACCESS_FLAGS), EINVAL);
  attributes.qkey = 7;
  EXPECT_EQ(ibv_modify_qp(datagram[0], &attributes, IBV_QP_QKEY), 0);
}

TEST_F(LoopTest, UnreliableConnectionsSendAndWriteButDoNotRead) {
  ibv_qp_init_attr wanted = queue_pair_wanted(send_queue, receive_queue);
  wanted.qp_type = IBV_QPT_UC;
  ibv_qp* unreliable[2] = {};
  for (ibv_qp*& qp : unreliable) ASSERT_NE(qp = ibv_create_qp(domain, &wanted), nullptr);
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(to_init(unreliable[i]), 0);
    ibv_qp_attr attributes = receive_attributes(context, unreliable[1 - i]->qp_num);
    EXPECT_EQ(ibv_modify_qp(unreliable[i], &attributes, kReceiveMask), EINVAL) << "too much for its type";
    ASSERT_EQ(ibv_modify_qp(unreliable[i], &attributes,
                            IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN),
              0);
    attributes = send_attributes();
    ASSERT_EQ(ibv_modify_qp(unreliable[i], &attributes, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
  }
  std::memcpy(memory.data(), "unreliable", 11);
  ibv_sge to = segment(kThere, 64);
  post_receive(unreliable[1], 1, &to);
  ibv_sge from = segment(0, 11);
  ASSERT_EQ(post(unreliable[0], send_request(&from, 2)), 0);
  EXPECT_EQ(poll_one(send_queue).status, IBV_WC_SUCCESS);
  EXPECT_EQ(poll_one(receive_queue).byte_len, 11u);
  EXPECT_STREQ(reinterpret_cast<char*>(memory.data()) + kThere, "unreliable");
  ASSERT_EQ(post(unreliable[0], write_request(&from, kThere + 64, 3)), 0);
  EXPECT_EQ(poll_one(send_queue).opcode, IBV_WC_RDMA_WRITE);
  ibv_send_wr read = write_request(&from, kThere, 4);
  read.opcode = IBV_WR_RDMA_READ;
  EXPECT_EQ(post(unreliable[0], read), EINVAL);
  for (ibv_qp* qp : unreliable) EXPECT_EQ(ibv_destroy_qp(qp), 0);
}

}  // namespace
}  // namespace provider_test
