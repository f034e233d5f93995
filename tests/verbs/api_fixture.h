// SPDX-License-Identifier: BSD-2-Clause
// What the tests of OCP's interface share: mrc0 with an mrc_context, and MRC queue pairs that are connected
// within this process.
#pragma once

#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "include/mrc/mrc_ctl.h"
#include "include/mrc/mrcdv.h"

namespace api_test {

using namespace std::chrono_literals;

inline ibv_context* open_mrc0() {
  int count = 0;
  ibv_device** devices = ibv_get_device_list(&count);
  ibv_context* context = nullptr;
  for (int i = 0; i < count; ++i)
    if (std::string(ibv_get_device_name(devices[i])) == "mrc0") context = ibv_open_device(devices[i]);
  if (devices != nullptr) ibv_free_device_list(devices);
  return context;
}

constexpr int kInitMask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS;
constexpr int kRtrMask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
constexpr int kRtsMask = IBV_QP_STATE | IBV_QP_SQ_PSN;

class ApiTest : public testing::Test {
 protected:
  static constexpr size_t kBytes = 1 << 20;

  void SetUp() override {
    verbs = open_mrc0();
    ASSERT_NE(verbs, nullptr);
    context = mrc_create_context(verbs, nullptr);
    ASSERT_NE(context, nullptr);
    domain = ibv_alloc_pd(verbs);
    memory.assign(kBytes, 0);
    region = ibv_reg_mr(domain, memory.data(), kBytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    ASSERT_NE(region, nullptr);
    sends = mrc_create_cq(context, 256, &sends, nullptr, 0);
    receives = mrc_create_cq(context, 256, &receives, nullptr, 0);
    ASSERT_NE(sends, nullptr);
    ASSERT_NE(receives, nullptr);
  }

  void TearDown() override {
    for (mrc_qp* qp : made) EXPECT_EQ(mrc_destroy_qp(qp), 0);
    EXPECT_EQ(mrc_destroy_cq(sends), 0);
    EXPECT_EQ(mrc_destroy_cq(receives), 0);
    EXPECT_EQ(ibv_dereg_mr(region), 0);
    EXPECT_EQ(ibv_dealloc_pd(domain), 0);
    EXPECT_EQ(mrc_destroy_context(context), 0);
    EXPECT_EQ(ibv_close_device(verbs), 0);
  }

  mrc_qp_init_attr wanted() {
    mrc_qp_init_attr attributes{};
    attributes.qp_context = this;
    attributes.send_cq = sends;
    attributes.recv_cq = receives;
    attributes.cap = {128, 128, 2, 2, 64};
    attributes.sq_sig_all = 1;
    attributes.pd = domain;
    return attributes;
  }
  mrc_qp* make() {
    mrc_qp_init_attr attributes = wanted();
    mrc_qp* qp = mrc_create_qp(context, &attributes);
    EXPECT_NE(qp, nullptr);
    if (qp != nullptr) made.push_back(qp);
    return qp;
  }
  void destroy(mrc_qp* qp) {
    std::erase(made, qp);
    EXPECT_EQ(mrc_destroy_qp(qp), 0);
  }
  static uint32_t number_of(mrc_qp* qp) {
    uint32_t number = 0;
    EXPECT_EQ(mrc_get_qpn(qp, &number), 0);
    return number;
  }

  int to_init(mrc_qp* qp, mrc_qp_attr* more = nullptr, int mask = 0) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    return mrc_modify_qp(qp, &attributes, kInitMask, more, mask);
  }
  ibv_qp_attr receive_attributes(uint32_t destination) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RTR;
    attributes.path_mtu = IBV_MTU_4096;
    attributes.dest_qp_num = destination;
    attributes.rq_psn = 77;
    attributes.ah_attr.is_global = 1;
    attributes.ah_attr.port_num = 1;
    EXPECT_EQ(ibv_query_gid(verbs, 1, 0, &attributes.ah_attr.grh.dgid), 0);
    return attributes;
  }
  int to_rtr(mrc_qp* qp, uint32_t destination, mrc_qp_attr* more = nullptr, int mask = 0) {
    ibv_qp_attr attributes = receive_attributes(destination);
    return mrc_modify_qp(qp, &attributes, kRtrMask, more, mask);
  }
  int to_rts(mrc_qp* qp, mrc_qp_attr* more = nullptr, int mask = 0) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RTS;
    attributes.sq_psn = 77;
    return mrc_modify_qp(qp, &attributes, kRtsMask, more, mask);
  }
  void connect(mrc_qp* one, mrc_qp* other, mrc_qp_attr* at_init = nullptr, int mask = 0) {
    for (mrc_qp* qp : {one, other}) ASSERT_EQ(to_init(qp, at_init, mask), 0);
    ASSERT_EQ(to_rtr(one, number_of(other)), 0);
    ASSERT_EQ(to_rtr(other, number_of(one)), 0);
    for (mrc_qp* qp : {one, other}) ASSERT_EQ(to_rts(qp), 0);
  }

  ibv_send_wr write_of(ibv_sge* piece, ibv_wr_opcode opcode = IBV_WR_RDMA_WRITE) {
    ibv_send_wr request{};
    request.wr_id = 5;
    request.sg_list = piece;
    request.num_sge = piece->length > 0 ? 1 : 0;
    request.opcode = opcode;
    request.imm_data = 0x01020304;
    request.wr.rdma.remote_addr = reinterpret_cast<uintptr_t>(memory.data()) + kBytes / 2;
    request.wr.rdma.rkey = region->rkey;
    return request;
  }
  ibv_sge piece_of(uint32_t bytes) {
    return {reinterpret_cast<uintptr_t>(memory.data()), bytes, region->lkey};
  }
  int post(mrc_qp* qp, uint32_t bytes, ibv_wr_opcode opcode = IBV_WR_RDMA_WRITE) {
    ibv_sge piece = piece_of(bytes);
    ibv_send_wr request = write_of(&piece, opcode);
    ibv_send_wr* bad = nullptr;
    return mrc_post_send(qp, &request, &bad);
  }
  static int post_receive(mrc_qp* qp, uint64_t id = 9) {
    ibv_recv_wr request{};
    request.wr_id = id;
    ibv_recv_wr* bad = nullptr;
    return mrc_post_recv(qp, &request, &bad);
  }
  static ibv_wc poll_one(mrc_cq* queue, std::chrono::milliseconds limit = 20s) {
    ibv_wc done{};
    done.status = IBV_WC_GENERAL_ERR;
    const auto end = std::chrono::steady_clock::now() + limit;
    int polled = 0;
    while (polled == 0 && std::chrono::steady_clock::now() < end) polled = mrc_poll_cq(queue, 1, &done);
    EXPECT_EQ(polled, 1);
    return done;
  }

  ibv_context* verbs = nullptr;
  mrc_context* context = nullptr;
  ibv_pd* domain = nullptr;
  ibv_mr* region = nullptr;
  mrc_cq* sends = nullptr;
  mrc_cq* receives = nullptr;
  std::vector<uint8_t> memory;
  std::vector<mrc_qp*> made;
};

// -1 and errno, as most of the interface says it.
#define EXPECT_REFUSED(call, error) \
  do {                              \
    errno = 0;                      \
    EXPECT_EQ(call, -1);            \
    EXPECT_EQ(errno, error);        \
  } while (false)

}  // namespace api_test
