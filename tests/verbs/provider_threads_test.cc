// SPDX-License-Identifier: BSD-2-Clause
// Many threads on the same objects. Worth most under the thread sanitizer.
#include <errno.h>

#include <atomic>

#include "tests/verbs/provider_fixture.h"

namespace provider_test {
namespace {

constexpr int kThreads = 4;
constexpr int kMessages = 300;  // per thread

// Several queue pairs with one completion queue and one shared receive queue; all threads use all of them.
class ThreadsTest : public LoopTest {
 protected:
  void SetUp() override {
    LoopTest::SetUp();
    if (HasFatalFailure()) return;
    ibv_srq_init_attr wanted{};
    wanted.attr = {256, 1, 0};
    ASSERT_NE(shared = ibv_create_srq(domain, &wanted), nullptr);
    ASSERT_NE(queue = ibv_create_cq(context, 4096, nullptr, nullptr, 0), nullptr);
    for (int i = 0; i < 2; ++i) {
      ibv_qp_init_attr attributes = queue_pair_wanted(queue, queue);
      attributes.srq = shared;
      attributes.sq_sig_all = 1;
      attributes.cap.max_send_wr = 64;
      ASSERT_NE(both[i] = ibv_create_qp(domain, &attributes), nullptr);
    }
    connect(both[0], both[1]->qp_num);
    connect(both[1], both[0]->qp_num);
  }
  void TearDown() override {
    for (ibv_qp* qp : both)
      if (qp != nullptr) {
        EXPECT_EQ(ibv_destroy_qp(qp), 0);
      }
    if (queue != nullptr) {
      EXPECT_EQ(ibv_destroy_cq(queue), 0);
    }
    if (shared != nullptr) {
      EXPECT_EQ(ibv_destroy_srq(shared), 0);
    }
    LoopTest::TearDown();
  }
  int post_shared() {
    ibv_sge to = segment(512 << 10, 64);
    ibv_recv_wr request{};
    request.sg_list = &to;
    request.num_sge = 1;
    ibv_recv_wr* bad = nullptr;
    return ibv_post_srq_recv(shared, &request, &bad);
  }

  ibv_srq* shared = nullptr;
  ibv_cq* queue = nullptr;
  ibv_qp* both[2] = {};
};

TEST_F(ThreadsTest, AllPostAndPollEverything) {
  std::atomic<int> sent{0};
  std::atomic<int> received{0};
  std::atomic<int> wrong{0};
  const int all = kThreads * kMessages;
  const auto end = std::chrono::steady_clock::now() + 60s;
  const auto poll_some = [&] {
    ibv_wc done[8];
    const int count = ibv_poll_cq(queue, 8, done);
    for (int i = 0; i < count; ++i) {
      if (done[i].status != IBV_WC_SUCCESS) ++wrong;
      ++((done[i].opcode & IBV_WC_RECV) != 0 ? received : sent);
    }
  };
  const auto work = [&](int thread) {
    for (int i = 0; i < kMessages && std::chrono::steady_clock::now() < end; ++i) {
      while (post_shared() == ENOMEM && std::chrono::steady_clock::now() < end) poll_some();
      ibv_sge from = segment(static_cast<size_t>(thread) * 64, 32);
      while (post(both[i % 2], send_request(&from, 1)) == ENOMEM && std::chrono::steady_clock::now() < end)
        poll_some();
      if (i % 4 == 0) poll_some();
    }
    while ((sent < all || received < all) && std::chrono::steady_clock::now() < end) poll_some();
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sent.load(), all);
  EXPECT_EQ(received.load(), all);
  EXPECT_EQ(wrong.load(), 0);
}

// Queue pairs come and go while others poll the queue that their completions go to.
TEST_F(ThreadsTest, DestroyWhileOthersPoll) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> pollers;
  for (int i = 0; i < 2; ++i)
    pollers.emplace_back([&] {
      ibv_wc done[8];
      while (!stop) {
        ibv_poll_cq(queue, 8, done);
        ibv_req_notify_cq(queue, 0);
      }
    });
  for (int round = 0; round < 20; ++round) {
    ibv_qp* fresh[2] = {};
    for (ibv_qp*& qp : fresh) {
      ibv_qp_init_attr attributes = queue_pair_wanted(queue, queue);
      attributes.sq_sig_all = 1;
      ASSERT_NE(qp = ibv_create_qp(domain, &attributes), nullptr);
    }
    connect(fresh[0], fresh[1]->qp_num);
    connect(fresh[1], fresh[0]->qp_num);
    ibv_sge from = segment(0, 64);
    for (int i = 0; i < 8; ++i) ASSERT_EQ(post(fresh[0], write_request(&from, 4096, 1)), 0);
    for (ibv_qp* qp : fresh) EXPECT_EQ(ibv_destroy_qp(qp), 0);
  }
  stop = true;
  for (std::thread& poller : pollers) poller.join();
}

// Regions are registered and given back while data flow.
TEST_F(ThreadsTest, ControlBesideData) {
  std::atomic<bool> stop{false};
  std::thread control([&] {
    std::vector<uint8_t> other(8192);
    while (!stop) {
      ibv_mr* mr = ibv_reg_mr(domain, other.data(), other.size(), IBV_ACCESS_LOCAL_WRITE);
      if (mr == nullptr || ibv_dereg_mr(mr) != 0) {
        ADD_FAILURE() << "registering failed";
        break;
      }
    }
  });
  for (int i = 0; i < 200; ++i) {
    ibv_sge from = segment(0, 4096);
    ASSERT_EQ(post(pair[0], write_request(&from, 512 << 10, 1)), 0);
    ASSERT_EQ(poll_one(send_queue).status, IBV_WC_SUCCESS);
  }
  stop = true;
  control.join();
}

}  // namespace
}  // namespace provider_test
