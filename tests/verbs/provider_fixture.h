// SPDX-License-Identifier: BSD-2-Clause
// What the tests of the provider share: mrc0, opened, and queue pairs that are connected within this process.
#pragma once

#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace provider_test {

using namespace std::chrono_literals;

inline constexpr size_t kThere = 512 << 10;  // where in the region things arrive

inline ibv_context* open_device() {
  int count = 0;
  ibv_device** devices = ibv_get_device_list(&count);
  ibv_context* context = nullptr;
  for (int i = 0; i < count; ++i)
    if (std::string(ibv_get_device_name(devices[i])) == "mrc0") context = ibv_open_device(devices[i]);
  if (devices != nullptr) ibv_free_device_list(devices);
  return context;
}

inline ibv_qp_init_attr queue_pair_wanted(ibv_cq* send, ibv_cq* receive) {
  ibv_qp_init_attr wanted{};
  wanted.send_cq = send;
  wanted.recv_cq = receive;
  wanted.qp_type = IBV_QPT_RC;
  wanted.cap = {16, 16, 2, 2, 64};
  return wanted;
}

inline int to_init(ibv_qp* qp, unsigned access = IBV_ACCESS_REMOTE_WRITE) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = 1;
  attributes.qp_access_flags = access;
  return ibv_modify_qp(qp, &attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

constexpr int kReceiveMask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                             IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
constexpr int kSendMask = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                          IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;

inline ibv_qp_attr receive_attributes(ibv_context* context, uint32_t destination) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTR;
  attributes.path_mtu = IBV_MTU_4096;
  attributes.dest_qp_num = destination;
  attributes.rq_psn = 77;
  attributes.max_dest_rd_atomic = 16;
  attributes.min_rnr_timer = 12;
  attributes.ah_attr.is_global = 1;
  attributes.ah_attr.port_num = 1;
  EXPECT_EQ(ibv_query_gid(context, 1, 0, &attributes.ah_attr.grh.dgid), 0);
  return attributes;
}

inline ibv_qp_attr send_attributes() {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTS;
  attributes.timeout = 14;
  attributes.retry_cnt = 7;
  attributes.rnr_retry = 7;
  attributes.sq_psn = 77;
  attributes.max_rd_atomic = 16;
  return attributes;
}

inline void connect(ibv_qp* qp, uint32_t destination, unsigned access = IBV_ACCESS_REMOTE_WRITE) {
  ASSERT_EQ(to_init(qp, access), 0);
  ibv_qp_attr attributes = receive_attributes(qp->context, destination);
  ASSERT_EQ(ibv_modify_qp(qp, &attributes, kReceiveMask), 0);
  attributes = send_attributes();
  ASSERT_EQ(ibv_modify_qp(qp, &attributes, kSendMask), 0);
}

// How many completions came within the time, at most `wanted`.
inline int poll_for(ibv_cq* queue, int wanted, ibv_wc* completions, std::chrono::milliseconds limit = 10s) {
  const auto end = std::chrono::steady_clock::now() + limit;
  int count = 0;
  while (count < wanted && std::chrono::steady_clock::now() < end) {
    const int polled = ibv_poll_cq(queue, wanted - count, completions + count);
    if (polled < 0) return polled;
    count += polled;
  }
  return count;
}

// The one completion that is expected; fails the test if it does not come.
inline ibv_wc poll_one(ibv_cq* queue) {
  ibv_wc done{};
  done.status = IBV_WC_GENERAL_ERR;
  EXPECT_EQ(poll_for(queue, 1, &done), 1);
  return done;
}

// Two queue pairs of one process, each connected to the other, and a region that both may write to.
class LoopTest : public testing::Test {
 protected:
  static constexpr size_t kBytes = 1 << 20;
  static constexpr int kRemoteAccess =
      IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

  void SetUp() override {
    context = open_device();
    ASSERT_NE(context, nullptr);
    domain = ibv_alloc_pd(context);
    ASSERT_NE(domain, nullptr);
    memory.assign(kBytes, 0);
    region = ibv_reg_mr(domain, memory.data(), kBytes, IBV_ACCESS_LOCAL_WRITE | kRemoteAccess);
    ASSERT_NE(region, nullptr);
    channel = ibv_create_comp_channel(context);
    ASSERT_NE(channel, nullptr);
    send_queue = ibv_create_cq(context, 64, nullptr, nullptr, 0);
    receive_queue = ibv_create_cq(context, 64, this, channel, 0);
    ASSERT_NE(send_queue, nullptr);
    ASSERT_NE(receive_queue, nullptr);
    ibv_qp_init_attr wanted = queue_pair_wanted(send_queue, receive_queue);
    for (ibv_qp*& qp : pair) ASSERT_NE(qp = ibv_create_qp(domain, &wanted), nullptr);
    connect(pair[0], pair[1]->qp_num, kRemoteAccess);
    connect(pair[1], pair[0]->qp_num, kRemoteAccess);
  }

  void TearDown() override {
    for (ibv_qp* qp : pair)
      if (qp != nullptr) {
        EXPECT_EQ(ibv_destroy_qp(qp), 0);
      }
    if (send_queue != nullptr) {
      EXPECT_EQ(ibv_destroy_cq(send_queue), 0);
    }
    if (receive_queue != nullptr) {
      EXPECT_EQ(ibv_destroy_cq(receive_queue), 0);
    }
    if (channel != nullptr) {
      EXPECT_EQ(ibv_destroy_comp_channel(channel), 0);
    }
    if (region != nullptr) {
      EXPECT_EQ(ibv_dereg_mr(region), 0);
    }
    if (domain != nullptr) {
      EXPECT_EQ(ibv_dealloc_pd(domain), 0);
    }
    if (context != nullptr) {
      EXPECT_EQ(ibv_close_device(context), 0);
    }
  }

  // Writes from one place of the region to another.
  ibv_sge segment(size_t from, uint32_t bytes) {
    return {reinterpret_cast<uintptr_t>(memory.data()) + from, bytes, region->lkey};
  }
  static ibv_send_wr send_request(ibv_sge* from, uint64_t id) {
    ibv_send_wr request{};
    request.wr_id = id;
    request.sg_list = from;
    request.num_sge = 1;
    request.opcode = IBV_WR_SEND;
    request.send_flags = IBV_SEND_SIGNALED;
    return request;
  }
  ibv_send_wr write_request(ibv_sge* from, size_t to, uint64_t id) {
    ibv_send_wr request = send_request(from, id);
    request.opcode = IBV_WR_RDMA_WRITE;
    request.wr.rdma.remote_addr = reinterpret_cast<uintptr_t>(memory.data()) + to;
    request.wr.rdma.rkey = region->rkey;
    return request;
  }
  int post(ibv_qp* qp, ibv_send_wr request) {
    ibv_send_wr* bad = nullptr;
    return ibv_post_send(qp, &request, &bad);
  }
  void post_receive(ibv_qp* qp, uint64_t id, ibv_sge* to = nullptr) {
    ibv_recv_wr request{};
    request.wr_id = id;
    request.sg_list = to;
    request.num_sge = to != nullptr ? 1 : 0;
    ibv_recv_wr* bad = nullptr;
    ASSERT_EQ(ibv_post_recv(qp, &request, &bad), 0);
  }
  // A message with immediate data from pair[0] to pair[1].
  void send_immediate(uint64_t id) {
    ibv_sge from = segment(0, 8);
    ibv_send_wr request = write_request(&from, kBytes / 2, id);
    request.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    request.imm_data = htobe32(static_cast<uint32_t>(id));
    ASSERT_EQ(post(pair[0], request), 0);
  }
  // Whether an event comes within the time; it is acknowledged.
  bool event_comes(std::chrono::milliseconds limit);

  ibv_context* context = nullptr;
  ibv_pd* domain = nullptr;
  std::vector<uint8_t> memory;
  ibv_mr* region = nullptr;
  ibv_comp_channel* channel = nullptr;
  ibv_cq* send_queue = nullptr;
  ibv_cq* receive_queue = nullptr;
  ibv_qp* pair[2] = {};
};

}  // namespace provider_test
