// SPDX-License-Identifier: BSD-2-Clause
// Shared receive queues: who draws from them, their events, and their end.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>

#include <optional>

#include "tests/verbs/provider_fixture.h"

namespace provider_test {
namespace {

// Beside the pair of LoopTest: two queue pairs that receive from one queue, connected to two that send.
class SharedReceiveTest : public LoopTest {
 protected:
  void SetUp() override {
    LoopTest::SetUp();
    if (HasFatalFailure()) return;
    ibv_srq_init_attr wanted{};
    wanted.attr = {16, 2, 0};
    wanted.srq_context = this;
    ASSERT_NE(shared = ibv_create_srq(domain, &wanted), nullptr);
    for (int i = 0; i < 2; ++i) {
      ibv_qp_init_attr attributes = queue_pair_wanted(send_queue, receive_queue);
      ASSERT_NE(sender[i] = ibv_create_qp(domain, &attributes), nullptr);
      attributes.srq = shared;
      ASSERT_NE(receiver[i] = ibv_create_qp(domain, &attributes), nullptr);
      connect(sender[i], receiver[i]->qp_num);
      connect(receiver[i], sender[i]->qp_num);
    }
  }
  void TearDown() override {
    for (int i = 0; i < 2; ++i) {
      if (sender[i] != nullptr) {
        EXPECT_EQ(ibv_destroy_qp(sender[i]), 0);
      }
      if (receiver[i] != nullptr) {
        EXPECT_EQ(ibv_destroy_qp(receiver[i]), 0);
      }
    }
    if (shared != nullptr) {
      EXPECT_EQ(ibv_destroy_srq(shared), 0);
    }
    LoopTest::TearDown();
  }
  int post_shared(uint64_t id) {
    ibv_sge to = segment(kThere + id * 64, 64);
    ibv_recv_wr request{};
    request.wr_id = id;
    request.sg_list = &to;
    request.num_sge = 1;
    ibv_recv_wr* bad = nullptr;
    return ibv_post_srq_recv(shared, &request, &bad);
  }
  void send(int from, uint8_t mark) {
    memory[mark] = mark;
    ibv_sge one = segment(mark, 1);
    ASSERT_EQ(post(sender[from], send_request(&one, mark)), 0);
    EXPECT_EQ(poll_one(send_queue).status, IBV_WC_SUCCESS);
  }
  // The next event within the time; it is not acknowledged.
  std::optional<ibv_async_event> event_within(std::chrono::milliseconds limit) {
    pollfd file{context->async_fd, POLLIN, 0};
    if (poll(&file, 1, static_cast<int>(limit.count())) != 1) return std::nullopt;
    ibv_async_event event{};
    EXPECT_EQ(ibv_get_async_event(context, &event), 0);
    return event;
  }

  ibv_srq* shared = nullptr;
  ibv_qp* sender[2] = {};
  ibv_qp* receiver[2] = {};
};

TEST_F(SharedReceiveTest, FirstComeFirstServed) {
  for (uint64_t id = 1; id <= 4; ++id) ASSERT_EQ(post_shared(id), 0);
  for (uint8_t id = 1; id <= 4; ++id) {
    send(id % 2, id);
    const ibv_wc received = poll_one(receive_queue);
    EXPECT_EQ(received.status, IBV_WC_SUCCESS);
    EXPECT_EQ(received.wr_id, id);
    EXPECT_EQ(received.qp_num, receiver[id % 2]->qp_num);
    EXPECT_EQ(memory[kThere + id * 64], id);
  }
}

TEST_F(SharedReceiveTest, IsWhatWasAskedFor) {
  ibv_srq_attr attributes{};
  ASSERT_EQ(ibv_query_srq(shared, &attributes), 0);
  EXPECT_GE(attributes.max_wr, 16u);
  EXPECT_GE(attributes.max_sge, 2u);
  EXPECT_EQ(attributes.srq_limit, 0u);
  int posted = 0;
  while (posted < 100 && post_shared(1) == 0) ++posted;
  EXPECT_EQ(posted, static_cast<int>(attributes.max_wr));
  ibv_recv_wr request{};
  ibv_sge three[3] = {};
  request.sg_list = three;
  request.num_sge = 3;
  ibv_recv_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_srq_recv(shared, &request, &bad), EINVAL);
  EXPECT_EQ(bad, &request);
  request.num_sge = 1;
  EXPECT_EQ(ibv_post_recv(receiver[0], &request, &bad), EINVAL) << "it has no receive queue of its own";
  attributes.srq_limit = attributes.max_wr + 1;
  EXPECT_EQ(ibv_modify_srq(shared, &attributes, IBV_SRQ_LIMIT), EINVAL);
  EXPECT_EQ(ibv_destroy_srq(shared), EBUSY);
  ibv_srq_init_attr beyond{};
  beyond.attr = {1 << 30, 1, 0};
  EXPECT_EQ(ibv_create_srq(domain, &beyond), nullptr);
  EXPECT_EQ(errno, EINVAL);
  beyond.attr = {1, 1 << 20, 0};
  EXPECT_EQ(ibv_create_srq(domain, &beyond), nullptr);
}

TEST_F(SharedReceiveTest, TheLimitIsReportedOnce) {
  for (uint64_t id = 1; id <= 4; ++id) ASSERT_EQ(post_shared(id), 0);
  ibv_srq_attr attributes{};
  attributes.srq_limit = 3;
  ASSERT_EQ(ibv_modify_srq(shared, &attributes, IBV_SRQ_LIMIT), 0);
  while (const auto early = event_within(0ms)) {  // of connections that were made
    ibv_async_event event = *early;
    EXPECT_NE(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
    ibv_ack_async_event(&event);
  }
  send(0, 1);
  EXPECT_FALSE(event_within(20ms)) << "three are left";
  send(1, 2);
  auto event = event_within(1000ms);
  ASSERT_TRUE(event);
  EXPECT_EQ(event->event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
  EXPECT_EQ(event->element.srq, shared);
  EXPECT_EQ(event->element.srq->srq_context, this);
  ibv_ack_async_event(&*event);
  ASSERT_EQ(ibv_query_srq(shared, &attributes), 0);
  EXPECT_EQ(attributes.srq_limit, 0u) << "disarmed";
  send(0, 3);
  EXPECT_FALSE(event_within(20ms));
}

TEST_F(SharedReceiveTest, AQueuePairInErrorSaysWhenItTakesNoMore) {
  ASSERT_EQ(post_shared(1), 0);
  ibv_qp_attr error{};
  error.qp_state = IBV_QPS_ERR;
  ASSERT_EQ(ibv_modify_qp(receiver[0], &error, IBV_QP_STATE), 0);
  bool last_reached = false;
  while (auto event = event_within(last_reached ? 20ms : 1000ms)) {
    if (event->event_type == IBV_EVENT_QP_LAST_WQE_REACHED) {
      EXPECT_FALSE(last_reached) << "once";
      EXPECT_EQ(event->element.qp, receiver[0]);
      last_reached = true;
    }
    ibv_ack_async_event(&*event);
  }
  EXPECT_TRUE(last_reached);
  // The request is still there for the other one.
  send(1, 5);
  EXPECT_EQ(poll_one(receive_queue).qp_num, receiver[1]->qp_num);
}

TEST_F(SharedReceiveTest, UnreadEventsDoNotKeepItAlive) {
  ibv_qp_attr error{};
  error.qp_state = IBV_QPS_ERR;
  for (ibv_qp*& qp : receiver) {
    ASSERT_EQ(ibv_modify_qp(qp, &error, IBV_QP_STATE), 0);
    ASSERT_EQ(ibv_destroy_qp(qp), 0);
    qp = nullptr;
  }
  while (auto event = event_within(0ms)) {
    EXPECT_NE(event->event_type, IBV_EVENT_QP_LAST_WQE_REACHED);
    ibv_ack_async_event(&*event);
  }
}

}  // namespace
}  // namespace provider_test
