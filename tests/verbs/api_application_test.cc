// SPDX-License-Identifier: BSD-2-Clause
// OCP's mrc.h: devices, contexts, hints, completion queues and their events.
#include <fcntl.h>
#include <poll.h>

#include <thread>

#include "tests/verbs/api_fixture.h"

namespace api_test {
namespace {

TEST(ApiVersion, NeedsNoDevice) {
  uint32_t current = 0, last = 1, vendor = 0, vendor_last = 1;
  mrc_query_version(&current, &last, &vendor, &vendor_last);
  EXPECT_EQ(current, MRC_API_CURRENT_VERSION);
  EXPECT_EQ(last, MRC_API_LAST_SUPPORTED_VERSION);
  EXPECT_EQ(vendor, MRC_VENDOR_API_CURRENT_VERSION);
  EXPECT_EQ(vendor_last, MRC_VENDOR_API_LAST_SUPPORTED_VERSION);
  mrc_query_version(nullptr, nullptr, nullptr, nullptr);
}

// What libibverbs hands out for another driver looks like this from the outside.
TEST(ApiDevice, AnotherDeviceIsNotSupported) {
  std::vector<uint64_t> stranger(sizeof(ibv_device) / 8 + 64, 0);
  ibv_context context{};
  context.device = reinterpret_cast<ibv_device*>(stranger.data());
  mrc_device_attr attributes{};
  int supported = 7;
  EXPECT_EQ(mrc_query_device(&context, &attributes, &supported), 0);
  EXPECT_EQ(supported, 0);
  supported = 7;
  EXPECT_EQ(mrc_query_device_ex(&context, nullptr, &attributes, &supported), 0);
  EXPECT_EQ(supported, 0);
  EXPECT_EQ(mrc_create_context(&context, nullptr), nullptr);
  EXPECT_EQ(errno, ENOTSUP);
  EXPECT_EQ(mrcdv_is_supported(context.device), 0);
}

TEST_F(ApiTest, DeviceTellsWhatItCan) {
  mrc_device_attr attributes{};
  int supported = 0;
  ASSERT_EQ(mrc_query_device(verbs, &attributes, &supported), 0);
  EXPECT_EQ(supported, 1);
  EXPECT_EQ(attributes.mrc_protocol_version, uint32_t{MRC_PROTOCOL_VERSION_1});
  EXPECT_GE(attributes.wimm_attr.max_wimm, 16);
  EXPECT_EQ(attributes.wimm_attr.max_wimm, attributes.wimm_attr.max_wimm_dest);
  EXPECT_GE(attributes.mpr_attr.max_mpr, 1);
  EXPECT_EQ(attributes.mpr_attr.mpr_resolution, 1);
  EXPECT_GT(attributes.qp_attr.max_qp_hint, 0u);
  EXPECT_EQ(attributes.cap & MRC_DEVICE_CAP_SVC_TIME, 0u);
  mrc_device_attr again{};
  ASSERT_EQ(mrc_query_device_ex(verbs, context, &again, &supported), 0);
  EXPECT_EQ(std::memcmp(&again, &attributes, sizeof again), 0);
  EXPECT_REFUSED(mrc_query_device(nullptr, &attributes, &supported), EINVAL);
  EXPECT_REFUSED(mrc_query_device(verbs, nullptr, &supported), EINVAL);
  EXPECT_REFUSED(mrc_query_device(verbs, &attributes, nullptr), EINVAL);
}

TEST_F(ApiTest, ContextsGoLast) {
  EXPECT_REFUSED(mrc_destroy_context(context), EBUSY);
  EXPECT_REFUSED(mrc_destroy_context(nullptr), EINVAL);
  // A version that nobody knows is the latest.
  mrc_context_attr attributes{0x7F000000, 0};
  mrc_context* another = mrc_create_context(verbs, &attributes);
  ASSERT_NE(another, nullptr);
  EXPECT_EQ(mrc_destroy_context(another), 0);
}

TEST_F(ApiTest, Hints) {
  mrc_qp_hint_init_attr init{};
  init.attr.num_qps_per_peer = 2;
  init.attr.num_send_peers = 3;
  init.attr.num_remote_recv_peers = 4;
  init.attr.vendor_cfg[127] = 9;
  mrc_qp_hint* hint = mrc_create_qp_hint(context, &init);
  ASSERT_NE(hint, nullptr);
  mrc_qp_hint_attr attributes{};
  attributes.num_send_peers = -5;
  ASSERT_EQ(mrc_query_qp_hint(hint, &attributes, MRC_QP_HINT_NUM_QPS_PER_PEER | MRC_QP_HINT_VENDOR_CFG), 0);
  EXPECT_EQ(attributes.num_qps_per_peer, 2);
  EXPECT_EQ(attributes.num_send_peers, -5) << "was not asked for";
  EXPECT_EQ(attributes.vendor_cfg[127], 9);
  attributes.num_send_peers = 33;
  ASSERT_EQ(mrc_modify_qp_hint(hint, &attributes, MRC_QP_HINT_NUM_SEND_PEERS), 0);
  ASSERT_EQ(
      mrc_query_qp_hint(hint, &attributes, MRC_QP_HINT_NUM_SEND_PEERS | MRC_QP_HINT_NUM_REMOTE_RECV_PEERS),
      0);
  EXPECT_EQ(attributes.num_send_peers, 33);
  EXPECT_EQ(attributes.num_remote_recv_peers, 4);
  attributes.num_remote_recv_peers = -1;
  EXPECT_REFUSED(mrc_modify_qp_hint(hint, &attributes, MRC_QP_HINT_NUM_REMOTE_RECV_PEERS), EINVAL);
  EXPECT_REFUSED(mrc_modify_qp_hint(hint, &attributes, 1 << 7), EINVAL);
  EXPECT_REFUSED(mrc_query_qp_hint(hint, nullptr, 1), EINVAL);
  EXPECT_REFUSED(mrc_query_qp_hint(nullptr, &attributes, 1), EINVAL);

  mrc_qp* qp = make();
  mrc_qp_attr more{};
  more.qp_hint = hint;
  ASSERT_EQ(to_init(qp, &more, MRC_QP_HINT), 0);
  EXPECT_REFUSED(mrc_destroy_qp_hint(hint), EBUSY);
  mrc_qp_attr got{};
  ASSERT_EQ(mrc_query_qp(qp, nullptr, 0, &got, MRC_QP_HINT, nullptr), 0);
  EXPECT_EQ(got.qp_hint, hint);
  mrcdv_qp_attr dv{};
  ASSERT_EQ(mrcdv_query_qp(*reinterpret_cast<ibv_qp**>(qp), &dv), 0);
  EXPECT_EQ(dv.expected_senders, 4u);
  destroy(qp);
  EXPECT_EQ(mrc_destroy_qp_hint(hint), 0);
  EXPECT_REFUSED(mrc_destroy_qp_hint(nullptr), EINVAL);
  init.attr.num_send_peers = -1;
  EXPECT_EQ(mrc_create_qp_hint(context, &init), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(ApiTest, CompletionQueuesRefuseNonsense) {
  EXPECT_EQ(mrc_create_cq(nullptr, 16, nullptr, nullptr, 0), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(mrc_create_cq(context, 0, nullptr, nullptr, 0), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(mrc_create_cq(context, 16, nullptr, nullptr, 99), nullptr);
  EXPECT_EQ(errno, EINVAL);
  ibv_wc done{};
  EXPECT_EQ(mrc_poll_cq(sends, 1, &done), 0);
  EXPECT_EQ(mrc_poll_cq(nullptr, 1, &done), -1);
  EXPECT_EQ(mrc_poll_cq(sends, -1, &done), -1);
  mrc_qp* qp = make();
  EXPECT_EQ(mrc_destroy_cq(sends), EBUSY) << "a queue pair uses it";
  destroy(qp);
}

TEST_F(ApiTest, ChannelsWakeSleepers) {
  mrc_comp_channel* channel = nullptr;
  ASSERT_EQ(mrc_create_comp_channel(context, &channel), 0);
  int fd = -1;
  ASSERT_EQ(mrc_get_comp_channel_fd(channel, &fd), 0);
  EXPECT_GE(fd, 0);
  int tag = 0;
  mrc_cq* queue = mrc_create_cq(context, 64, &tag, channel, 0);
  ASSERT_NE(queue, nullptr);
  EXPECT_EQ(mrc_destroy_comp_channel(channel), EBUSY);
  mrc_qp_init_attr attributes = wanted();
  attributes.send_cq = queue;
  mrc_qp* one = mrc_create_qp(context, &attributes);
  ASSERT_NE(one, nullptr);
  mrc_qp* other = make();
  connect(one, other);
  ASSERT_EQ(mrc_req_notify_cq(queue, 0), 0);
  ASSERT_EQ(post(one, 100), 0);
  pollfd file{fd, POLLIN, 0};
  ASSERT_EQ(poll(&file, 1, 20000), 1);
  mrc_cq* about = nullptr;
  void* tagged = nullptr;
  ASSERT_EQ(mrc_get_cq_event(channel, &about, &tagged), 0);
  EXPECT_EQ(about, queue);
  EXPECT_EQ(tagged, &tag);
  EXPECT_EQ(poll_one(queue).status, IBV_WC_SUCCESS);
  EXPECT_EQ(mrc_destroy_qp(one), 0);
  // It does not go before the event that was read is acknowledged.
  std::thread late([queue] {
    std::this_thread::sleep_for(50ms);
    mrc_ack_cq_events(queue, 1);
  });
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(mrc_destroy_cq(queue), 0);
  EXPECT_GE(std::chrono::steady_clock::now() - start, 40ms);
  late.join();
  EXPECT_EQ(mrc_destroy_comp_channel(channel), 0);
  EXPECT_REFUSED(mrc_get_comp_channel_fd(nullptr, &fd), EINVAL);
}

TEST_F(ApiTest, AsynchronousEventsNameMrcObjects) {
  mrc_qp* one = make();
  mrc_qp* other = make();
  connect(one, other);
  // A write to memory that is not there ends the other side.
  ibv_sge piece = piece_of(64);
  ibv_send_wr request = write_of(&piece);
  request.wr.rdma.rkey ^= 0x5A5A5A;
  ibv_send_wr* bad = nullptr;
  ASSERT_EQ(mrc_post_send(one, &request, &bad), 0);
  EXPECT_EQ(poll_one(sends).status, IBV_WC_REM_ACCESS_ERR);
  bool told = false;
  for (int i = 0; i < 4 && !told; ++i) {  // beside that the connection was established
    mrc_async_event event{};
    ASSERT_EQ(mrc_get_async_event(context, &event), 0);
    if (event.event_type == IBV_EVENT_QP_ACCESS_ERR) {
      EXPECT_EQ(event.element.qp, other);
      told = true;
    }
    mrc_ack_async_event(&event);
  }
  EXPECT_TRUE(told);
  const int flags = fcntl(verbs->async_fd, F_GETFL);
  fcntl(verbs->async_fd, F_SETFL, flags | O_NONBLOCK);
  mrc_async_event event{};
  while (mrc_get_async_event(context, &event) == 0) mrc_ack_async_event(&event);
  EXPECT_EQ(errno, EAGAIN);
  EXPECT_REFUSED(mrc_get_async_event(nullptr, &event), EINVAL);
}

}  // namespace
}  // namespace api_test
