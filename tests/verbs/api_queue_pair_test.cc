// SPDX-License-Identifier: BSD-2-Clause
// OCP's mrc.h: queue pairs, their states and attributes, and what they move.
#include "tests/verbs/api_fixture.h"

namespace api_test {
namespace {

TEST_F(ApiTest, QueuePairsAreStrictMrc) {
  mrc_qp* qp = make();
  ibv_qp* first_member = *reinterpret_cast<ibv_qp**>(qp);
  EXPECT_EQ(first_member->qp_num, number_of(qp));
  EXPECT_EQ(first_member->qp_type, IBV_QPT_RC);
  mrcdv_qp_attr dv{};
  ASSERT_EQ(mrcdv_query_qp(first_member, &dv), 0);
  EXPECT_EQ(dv.transport, MRCDV_TRANSPORT_MRC_STRICT);
}

TEST_F(ApiTest, CreationIsChecked) {
  const auto refused = [&](auto&& spoil, int error) {
    mrc_qp_init_attr attributes = wanted();
    spoil(attributes);
    errno = 0;
    EXPECT_EQ(mrc_create_qp(context, &attributes), nullptr);
    EXPECT_EQ(errno, error);
  };
  refused([](mrc_qp_init_attr& a) { a.pd = nullptr; }, EINVAL);
  refused([](mrc_qp_init_attr& a) { a.send_cq = nullptr; }, EINVAL);
  refused([](mrc_qp_init_attr& a) { a.recv_cq = nullptr; }, EINVAL);
  refused([](mrc_qp_init_attr& a) { a.cap.max_send_wr = 1 << 30; }, EINVAL);
  refused([](mrc_qp_init_attr& a) { a.protocol_version = static_cast<mrc_protocol_version>(2); }, EINVAL);
  refused([](mrc_qp_init_attr& a) { a.send_ops_flags = IBV_QP_EX_WITH_RDMA_READ; }, EOPNOTSUPP);
  EXPECT_EQ(mrc_create_qp(context, nullptr), nullptr);
  EXPECT_EQ(mrc_create_qp(nullptr, nullptr), nullptr);
  EXPECT_EQ(mrc_destroy_qp(nullptr), EINVAL);
  uint32_t number = 0;
  EXPECT_REFUSED(mrc_get_qpn(nullptr, &number), EINVAL);
}

TEST_F(ApiTest, DefaultsAreToldAndWork) {
  mrc_device_attr device{};
  int supported = 0;
  ASSERT_EQ(mrc_query_device(verbs, &device, &supported), 0);
  mrc_qp* qp = make();
  mrc_qp_attr attributes{};
  constexpr int kAll = MRC_QP_MAX_WIMM | MRC_QP_MAX_WIMM_DEST | MRC_QP_MPR | MRC_QP_MPR_DEST |
                       MRC_QP_TIMEOUT | MRC_QP_EV_PROFILE_ID | MRC_QP_CC_PROFILE_ID | MRC_QP_HINT |
                       MRC_QP_RETRY_CNT | MRC_QP_CAP | MRC_QP_VENDOR_CFG;
  mrc_qp_init_attr init{};
  ibv_qp_attr state{};
  ASSERT_EQ(mrc_query_qp(qp, &state, IBV_QP_STATE, &attributes, kAll, &init), 0);
  EXPECT_EQ(state.qp_state, IBV_QPS_RESET);
  EXPECT_EQ(attributes.wimm.max_wimm, device.wimm_attr.max_wimm);
  EXPECT_EQ(attributes.wimm.max_wimm_dest, device.wimm_attr.max_wimm_dest);
  EXPECT_EQ(attributes.mpr.mpr, device.mpr_attr.max_mpr);
  EXPECT_EQ(attributes.mpr.mpr_dest, device.mpr_attr.max_mpr);
  EXPECT_EQ(attributes.timeout, 16);
  EXPECT_EQ(attributes.retry.linear_cnt, 7);
  EXPECT_EQ(attributes.profile.ev_profile_id, 0u);
  EXPECT_EQ(attributes.qp_hint, nullptr);
  EXPECT_EQ(init.qp_context, this);
  EXPECT_EQ(init.send_cq, sends);
  EXPECT_EQ(init.pd, domain);
  EXPECT_EQ(init.sq_sig_all, 1);
  EXPECT_GE(init.cap.max_send_wr, 128u);
  EXPECT_EQ(mrc_query_qp(nullptr, &state, 1, nullptr, 0, nullptr), EINVAL);
  EXPECT_EQ(mrc_query_qp(qp, nullptr, 0, &attributes, 1 << 20, nullptr), EINVAL);
  EXPECT_EQ(mrc_query_qp(qp, nullptr, IBV_QP_STATE, nullptr, 0, nullptr), EINVAL);
}

TEST_F(ApiTest, AttributesHaveTheirSteps) {
  mrc_qp* qp = make();
  mrc_qp* other = make();
  mrc_qp_attr more{};
  more.wimm = {8, 16};
  more.mpr.mpr = 1;
  more.mpr.mpr_dest = 2;
  more.timeout = 20;
  more.retry.linear_cnt = 3;
  more.retry.exp_cnt = 25;
  more.cap = MRC_QP_CAP_DYNAMIC_MPR | MRC_QP_CAP_TRIM_NACK_DEST_UNSUPPORTED;
  more.vendor_cfg[0] = 42;
  ASSERT_EQ(to_init(qp), 0);
  ASSERT_EQ(to_rtr(qp, number_of(other), &more, MRC_QP_MAX_WIMM_DEST | MRC_QP_MPR_DEST | MRC_QP_CAP), 0);
  ASSERT_EQ(
      to_rts(qp, &more, MRC_QP_MAX_WIMM | MRC_QP_MPR | MRC_QP_RETRY_CNT | MRC_QP_TIMEOUT | MRC_QP_VENDOR_CFG),
      0);
  mrc_qp_attr got{};
  ASSERT_EQ(mrc_query_qp(qp, nullptr, 0, &got, 0x21F | MRC_QP_RETRY_CNT | MRC_QP_VENDOR_CFG, nullptr), 0);
  EXPECT_EQ(got.wimm.max_wimm, 8);
  EXPECT_EQ(got.wimm.max_wimm_dest, 16);
  EXPECT_EQ(got.mpr.mpr, 1);
  EXPECT_EQ(got.mpr.mpr_dest, 2);
  EXPECT_EQ(got.timeout, 20);
  EXPECT_EQ(got.retry.exp_cnt, 25);
  EXPECT_EQ(got.cap, more.cap);
  EXPECT_EQ(got.vendor_cfg[0], 42);
  mrcdv_qp_attr dv{};
  ASSERT_EQ(mrcdv_query_qp(*reinterpret_cast<ibv_qp**>(qp), &dv), 0);
  EXPECT_EQ(dv.timeout_ns, uint64_t{1024} << 20);
  EXPECT_EQ(dv.mpr, 128u);
  EXPECT_EQ(dv.mpr_dest, 256u);
  EXPECT_EQ(dv.max_wimm, 8);
  EXPECT_EQ(dv.dynamic_mpr, 1);
  // Too late for these.
  for (const int mask : {MRC_QP_HINT, MRC_QP_EV_PROFILE_ID, MRC_QP_CC_PROFILE_ID, MRC_QP_MAX_WIMM_DEST,
                         MRC_QP_MPR_DEST, MRC_QP_CAP})
    EXPECT_EQ(mrc_modify_qp(qp, nullptr, 0, &more, mask), EINVAL) << mask;
}

TEST_F(ApiTest, AttributesOutOfRangeChangeNothing) {
  mrc_qp* qp = make();
  const auto refused = [&](int mask, auto&& spoil) {
    mrc_qp_attr more{};
    spoil(more);
    EXPECT_EQ(to_init(qp, &more, mask), EINVAL) << mask;
    ibv_qp_attr state{};
    ASSERT_EQ(mrc_query_qp(qp, &state, IBV_QP_STATE, nullptr, 0, nullptr), 0);
    EXPECT_EQ(state.qp_state, IBV_QPS_RESET);
  };
  refused(MRC_QP_TIMEOUT, [](mrc_qp_attr& a) { a.timeout = 25; });
  refused(MRC_QP_RETRY_CNT, [](mrc_qp_attr& a) { a.retry.linear_cnt = 8; });
  refused(MRC_QP_RETRY_CNT, [](mrc_qp_attr& a) { a.retry.exp_cnt = 26; });
  refused(MRC_QP_MAX_WIMM, [](mrc_qp_attr& a) { a.wimm.max_wimm = 0; });
  refused(MRC_QP_MAX_WIMM, [](mrc_qp_attr& a) { a.wimm.max_wimm = 65535; });
  refused(MRC_QP_MAX_WIMM_DEST, [](mrc_qp_attr& a) { a.wimm.max_wimm_dest = 65535; });
  refused(MRC_QP_MPR, [](mrc_qp_attr& a) { a.mpr.mpr = 0; });
  refused(MRC_QP_MPR_DEST, [](mrc_qp_attr& a) { a.mpr.mpr_dest = 255; });
  refused(MRC_QP_CAP, [](mrc_qp_attr& a) { a.cap = 1 << 9; });
  refused(MRC_QP_EV_PROFILE_ID, [](mrc_qp_attr& a) { a.profile.ev_profile_id = 0xDEAD; });
  refused(MRC_QP_CC_PROFILE_ID, [](mrc_qp_attr& a) { a.profile.cc_profile_id = 0xDEAD; });
  refused(1 << 15, [](mrc_qp_attr&) {});
  EXPECT_EQ(mrc_modify_qp(qp, nullptr, IBV_QP_STATE, nullptr, 0), EINVAL);
  EXPECT_EQ(mrc_modify_qp(qp, nullptr, 0, nullptr, MRC_QP_MPR), EINVAL);
  EXPECT_EQ(mrc_modify_qp(nullptr, nullptr, 0, nullptr, 0), EINVAL);
  EXPECT_EQ(to_rts(qp), EINVAL) << "not from RESET";
}

// What a plug-in for NCCL passes: verbs' own attributes, some of them with values that make no sense.
TEST_F(ApiTest, WhatMrcDoesNotHaveIsIgnored) {
  mrc_qp* one = make();
  mrc_qp* other = make();
  for (mrc_qp* qp : {one, other}) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.port_num = 99;
    attributes.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    ASSERT_EQ(mrc_modify_qp(qp, &attributes, kInitMask | IBV_QP_PORT, nullptr, 0), 0);
  }
  for (mrc_qp* qp : {one, other}) {
    ibv_qp_attr attributes = receive_attributes(number_of(qp == one ? other : one));
    attributes.max_dest_rd_atomic = 255;
    attributes.min_rnr_timer = 200;
    ASSERT_EQ(mrc_modify_qp(qp, &attributes, kRtrMask | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
                            nullptr, 0),
              0);
    attributes = {};
    attributes.qp_state = IBV_QPS_RTS;
    attributes.sq_psn = 77;
    attributes.timeout = 200;
    attributes.retry_cnt = 200;
    attributes.rnr_retry = 200;
    ASSERT_EQ(mrc_modify_qp(qp, &attributes,
                            kRtsMask | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_PATH_MIG_STATE,
                            nullptr, 0),
              0);
  }
  memory[3] = 77;
  ASSERT_EQ(post(one, 64), 0);
  EXPECT_EQ(poll_one(sends).status, IBV_WC_SUCCESS);
  EXPECT_EQ(memory[kBytes / 2 + 3], 77);
  // And a write of nothing with an immediate.
  ASSERT_EQ(post_receive(other), 0);
  ASSERT_EQ(post(one, 0, IBV_WR_RDMA_WRITE_WITH_IMM), 0);
  const ibv_wc received = poll_one(receives);
  EXPECT_EQ(received.status, IBV_WC_SUCCESS);
  EXPECT_EQ(received.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
  EXPECT_EQ(received.imm_data, 0x01020304u);
  EXPECT_EQ(received.byte_len, 0u);
  EXPECT_EQ(poll_one(sends).status, IBV_WC_SUCCESS);
}

TEST_F(ApiTest, MovesManyMessagesWithinItsLimits) {
  mrc_qp* one = make();
  mrc_qp* other = make();
  for (mrc_qp* qp : {one, other}) ASSERT_EQ(to_init(qp), 0);
  mrc_qp_attr more{};
  more.wimm = {2, 2};
  more.mpr.mpr = more.mpr.mpr_dest = 1;
  more.cap = MRC_QP_CAP_DYNAMIC_MPR;
  constexpr int kDestination = MRC_QP_MAX_WIMM_DEST | MRC_QP_MPR_DEST | MRC_QP_CAP;
  ASSERT_EQ(to_rtr(one, number_of(other), &more, kDestination), 0);
  ASSERT_EQ(to_rtr(other, number_of(one), &more, kDestination), 0);
  for (mrc_qp* qp : {one, other}) ASSERT_EQ(to_rts(qp, &more, MRC_QP_MAX_WIMM | MRC_QP_MPR), 0);
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(post_receive(other, static_cast<uint64_t>(i)), 0);
    ASSERT_EQ(post(one, 20000, IBV_WR_RDMA_WRITE_WITH_IMM), 0);
  }
  for (uint64_t i = 0; i < 100; ++i) {
    const ibv_wc received = poll_one(receives);
    ASSERT_EQ(received.status, IBV_WC_SUCCESS);
    EXPECT_EQ(received.wr_id, i);
  }
  for (int i = 0; i < 100; ++i) ASSERT_EQ(poll_one(sends).status, IBV_WC_SUCCESS);
}

TEST_F(ApiTest, OnlyWritesArePosted) {
  mrc_qp* one = make();
  mrc_qp* other = make();
  connect(one, other);
  for (const ibv_wr_opcode opcode :
       {IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP,
        IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_LOCAL_INV})
    EXPECT_EQ(post(one, 8, opcode), EINVAL) << opcode;
  // Those before the bad one go.
  ibv_sge piece = piece_of(16);
  ibv_send_wr list[3] = {write_of(&piece), write_of(&piece, IBV_WR_SEND), write_of(&piece)};
  list[0].next = &list[1];
  list[1].next = &list[2];
  ibv_send_wr* bad = nullptr;
  EXPECT_EQ(mrc_post_send(one, list, &bad), EINVAL);
  EXPECT_EQ(bad, &list[1]);
  EXPECT_EQ(list[0].next, &list[1]) << "the list is as it was";
  EXPECT_EQ(poll_one(sends).status, IBV_WC_SUCCESS);
  ibv_wc done{};
  EXPECT_EQ(mrc_poll_cq(sends, 1, &done), 0);
  EXPECT_EQ(mrc_post_send(nullptr, list, &bad), EINVAL);
  EXPECT_EQ(mrc_post_recv(nullptr, nullptr, nullptr), EINVAL);
}

// MRC 1.0 has no RNR: who sends an immediate without a receive being there breaks the connection.
TEST_F(ApiTest, AnImmediateWithoutAReceiveIsAnError) {
  mrc_qp* one = make();
  mrc_qp* other = make();
  connect(one, other);
  ASSERT_EQ(post(one, 8, IBV_WR_RDMA_WRITE_WITH_IMM), 0);
  EXPECT_NE(poll_one(sends).status, IBV_WC_SUCCESS);
}

TEST_F(ApiTest, BackToResetAndAgain) {
  mrc_qp* one = make();
  mrc_qp* other = make();
  mrc_qp_attr more{};
  more.timeout = 21;
  ASSERT_EQ(to_init(one, &more, MRC_QP_TIMEOUT), 0) << "sooner than needed is kept";
  mrc_qp_attr got{};
  ASSERT_EQ(mrc_query_qp(one, nullptr, 0, &got, MRC_QP_TIMEOUT, nullptr), 0);
  EXPECT_EQ(got.timeout, 21);
  for (mrc_qp* qp : {one, other}) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RESET;
    ASSERT_EQ(mrc_modify_qp(qp, &attributes, IBV_QP_STATE, nullptr, 0), 0);
  }
  ASSERT_EQ(mrc_query_qp(one, nullptr, 0, &got, MRC_QP_TIMEOUT, nullptr), 0);
  EXPECT_EQ(got.timeout, 16);
  connect(one, other);
  ASSERT_EQ(post(one, 64), 0);
  EXPECT_EQ(poll_one(sends).status, IBV_WC_SUCCESS);
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  ASSERT_EQ(mrc_modify_qp(one, &attributes, IBV_QP_STATE, nullptr, 0), 0);
  ASSERT_EQ(post(one, 64), 0);
  EXPECT_EQ(poll_one(sends).status, IBV_WC_WR_FLUSH_ERR);
}

// How many paths it sprays over is a queue pair's own choice, until it is connected.
TEST_F(ApiTest, AQueuePairChoosesHowItSprays) {
  ibv_cq* queue = ibv_create_cq(verbs, 16, nullptr, nullptr, 0);
  ASSERT_NE(queue, nullptr);
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = queue;
  init.qp_type = IBV_QPT_RC;
  init.cap = {16, 16, 1, 1, 0};
  ibv_qp* qp = mrcdv_create_qp(domain, &init, MRCDV_TRANSPORT_MRC);
  ASSERT_NE(qp, nullptr);
  mrcdv_device_attr device{};
  ASSERT_EQ(mrcdv_query_device(verbs, &device), 0);
  mrcdv_qp_attr wanted{};
  wanted.paths_min_active = 2;
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = 1;
  constexpr uint32_t kBoth = MRCDV_QP_PATHS | MRCDV_QP_PATHS_MIN_ACTIVE;
  for (const uint32_t none : {0u, 257u}) {
    wanted.paths_per_plane = none;
    EXPECT_EQ(mrcdv_modify_qp(qp, &attributes, kInitMask | IBV_QP_PORT, &wanted, kBoth), EINVAL);
  }
  wanted.paths_per_plane = 3;
  ASSERT_EQ(mrcdv_modify_qp(qp, &attributes, kInitMask | IBV_QP_PORT, &wanted, kBoth), 0);
  attributes = receive_attributes(qp->qp_num);
  ASSERT_EQ(ibv_modify_qp(qp, &attributes, kRtrMask | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER), 0);
  mrcdv_spray spray{};
  ASSERT_EQ(mrcdv_query_spray(qp, &spray), 0);
  EXPECT_EQ(spray.paths, 3 * device.planes);
  EXPECT_EQ(spray.active, 3 * device.planes);
  EXPECT_EQ(spray.min_active, 2u);
  mrcdv_qp_attr got{};
  ASSERT_EQ(mrcdv_query_qp(qp, &got), 0);
  EXPECT_EQ(got.paths_per_plane, 3u);
  EXPECT_EQ(got.paths_min_active, 2u);
  EXPECT_EQ(mrcdv_modify_qp(qp, nullptr, 0, &wanted, kBoth), EINVAL) << "too late";
  EXPECT_EQ(mrcdv_modify_qp(qp, nullptr, IBV_QP_STATE, &wanted, 0), EINVAL) << "no attributes";
  ibv_destroy_qp(qp);
  ibv_destroy_cq(queue);
}

// Both interfaces in one process, with one protection domain and one region.
TEST_F(ApiTest, LivesBesideVerbs) {
  mrc_qp* one = make();
  mrc_qp* other = make();
  connect(one, other);
  ibv_cq* queue = ibv_create_cq(verbs, 16, nullptr, nullptr, 0);
  ASSERT_NE(queue, nullptr);
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = queue;
  init.qp_type = IBV_QPT_RC;
  init.cap = {16, 16, 1, 1, 0};
  init.sq_sig_all = 1;
  ibv_qp* plain[2] = {ibv_create_qp(domain, &init), mrcdv_create_qp(domain, &init, MRCDV_TRANSPORT_RC)};
  ASSERT_NE(plain[0], nullptr);
  ASSERT_NE(plain[1], nullptr);
  mrcdv_qp_attr dv{};
  ASSERT_EQ(mrcdv_query_qp(plain[0], &dv), 0);
  EXPECT_EQ(dv.transport, MRCDV_TRANSPORT_MRC);
  ASSERT_EQ(mrcdv_query_qp(plain[1], &dv), 0);
  EXPECT_EQ(dv.transport, MRCDV_TRANSPORT_RC);
  for (ibv_qp* qp : plain) {  // each with itself
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.port_num = 1;
    attributes.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    ASSERT_EQ(ibv_modify_qp(qp, &attributes, kInitMask | IBV_QP_PORT), 0);
    attributes = receive_attributes(qp->qp_num);
    ASSERT_EQ(ibv_modify_qp(qp, &attributes, kRtrMask | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER), 0);
    attributes = {};
    attributes.qp_state = IBV_QPS_RTS;
    attributes.sq_psn = 77;
    attributes.timeout = 14;
    attributes.retry_cnt = attributes.rnr_retry = 7;
    ASSERT_EQ(ibv_modify_qp(
                  qp, &attributes,
                  kRtsMask | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC),
              0);
    ibv_sge piece = piece_of(5000);
    ibv_send_wr request = write_of(&piece);
    ibv_send_wr* bad = nullptr;
    ASSERT_EQ(ibv_post_send(qp, &request, &bad), 0);
    ASSERT_EQ(post(one, 5000), 0);
    EXPECT_EQ(poll_one(sends).status, IBV_WC_SUCCESS);
    ibv_wc done{};
    while (ibv_poll_cq(queue, 1, &done) == 0) {
    }
    EXPECT_EQ(done.status, IBV_WC_SUCCESS);
  }
  for (ibv_qp* qp : plain) EXPECT_EQ(ibv_destroy_qp(qp), 0);
  EXPECT_EQ(ibv_destroy_cq(queue), 0);
  EXPECT_EQ(mrcdv_create_qp(domain, nullptr, MRCDV_TRANSPORT_RC), nullptr);
  init.qp_type = IBV_QPT_UD;
  EXPECT_EQ(mrcdv_create_qp(domain, &init, MRCDV_TRANSPORT_RC), nullptr);
}

TEST_F(ApiTest, PathsAreShown) {
  mrc_qp* one = make();
  mrc_qp* other = make();
  ibv_qp* qp = *reinterpret_cast<ibv_qp**>(one);
  EXPECT_EQ(mrcdv_query_paths(qp, nullptr, 0), 0) << "not connected";
  connect(one, other);
  for (int i = 0; i < 50; ++i) ASSERT_EQ(post(one, 50000), 0);
  for (int i = 0; i < 50; ++i) ASSERT_EQ(poll_one(sends).status, IBV_WC_SUCCESS);
  mrcdv_device_attr device{};
  ASSERT_EQ(mrcdv_query_device(verbs, &device), 0);
  const int count = mrcdv_query_paths(qp, nullptr, 0);
  ASSERT_GT(count, 0);
  std::vector<mrcdv_path> paths(static_cast<size_t>(count));
  ASSERT_EQ(mrcdv_query_paths(qp, paths.data(), count), count);
  uint32_t ports = 0;
  size_t used = 0;
  uint64_t sent = 0;
  for (const mrcdv_path& path : paths) {
    ports |= 1u << path.port;
    if (path.newest != 0) ++used;
    EXPECT_GE(path.sent, path.lost);
    sent += path.sent;
  }
  EXPECT_GE(sent, 50u * ((50000 + 4095) / 4096));
  EXPECT_EQ(ports, device.ports_enabled);
  EXPECT_GT(used, 1u);
  mrcdv_spray spray{};
  ASSERT_EQ(mrcdv_query_spray(qp, &spray), 0);
  EXPECT_EQ(spray.paths, static_cast<uint32_t>(count));
  EXPECT_GE(spray.active, spray.min_active);
  EXPECT_EQ(mrcdv_query_paths(nullptr, nullptr, 0), -EINVAL);
  EXPECT_EQ(mrcdv_query_spray(qp, nullptr), EINVAL);
}

}  // namespace
}  // namespace api_test
