// SPDX-License-Identifier: BSD-2-Clause
// Many threads on the same objects. Worth most under the thread sanitizer.
#include <errno.h>
#include <poll.h>
#include <rdma/ib_user_verbs.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <future>
#include <vector>

#include "examples/shared/patience.h"
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

// Control operations wait for the device's lock, and who polls only tries it: one after the other without a
// pause they must not keep the engine from receiving and from its timers, however much exists. Counted in
// polls, each of them a try, and in calls meanwhile: where CPUs are few this thread does not run for long.
TEST_F(ThreadsTest, ControlCallsDoNotStopTheTraffic) {
  constexpr int kWrites = 100;
  constexpr uint64_t kVainPolls = 1'000'000;   // for a WRITE; some hundred are needed
  constexpr uint64_t kCallsBetween = 100'000;  // meanwhile, or the lock does not change hands
  constexpr size_t kQueuePairs = 4096 / kPatience / 2 * 2;
  constexpr size_t kRegions = 100'000 / kPatience;
  std::vector<ibv_mr*> regions;
  std::vector<ibv_qp*> others;
  std::vector<uint8_t> bytes(64);
  const auto enlist = [&] { return ibv_reg_mr(domain, bytes.data(), bytes.size(), IBV_ACCESS_LOCAL_WRITE); };
  for (size_t i = 0; i < kRegions; ++i) {
    regions.push_back(enlist());
    ASSERT_NE(regions.back(), nullptr) << i;
  }
  ibv_qp_init_attr wanted = queue_pair_wanted(queue, queue);
  wanted.cap = {1, 1, 1, 1, 0};
  for (size_t i = 0; i < kQueuePairs; ++i) {
    others.push_back(ibv_create_qp(domain, &wanted));
    ASSERT_NE(others.back(), nullptr) << i;
  }
  for (size_t i = 0; i < kQueuePairs; ++i) connect(others[i], others[i ^ 1]->qp_num);

  std::atomic<bool> stop{false};
  std::atomic<uint64_t> calls{0};
  std::atomic<int> failed{0};
  const auto repeat = [&](auto call) {
    return std::thread([&, call]() mutable {
      for (; !stop; ++calls)
        if (!call()) ++failed;
    });
  };
  std::vector<std::thread> controllers;
  controllers.push_back(repeat([&] {
    ibv_srq_attr attributes;
    return ibv_query_srq(shared, &attributes) == 0;
  }));
  controllers.push_back(repeat([&] {
    ibv_mr* region = enlist();
    return region != nullptr && ibv_dereg_mr(region) == 0;
  }));
  controllers.push_back(repeat([&] {
    ibv_qp_init_attr again = wanted;
    ibv_qp* qp = ibv_create_qp(domain, &again);
    return qp != nullptr && ibv_destroy_qp(qp) == 0;
  }));
  controllers.push_back(repeat([&, entries = 4096]() mutable {
    entries ^= 1024;
    return ibv_resize_cq(queue, entries) == 0;
  }));
  ibv_sge from = segment(0, 4096);
  uint64_t most = 0;
  for (uint64_t i = 0; i < kWrites; ++i) {
    const uint64_t before = calls;
    ibv_wc completion{};
    EXPECT_EQ(post(pair[0], write_request(&from, kThere, i)), 0);
    int polled = 0;
    uint64_t polls = 0;
    for (; polled == 0 && (polls < kVainPolls || calls - before < kCallsBetween); ++polls)
      polled = ibv_poll_cq(send_queue, 1, &completion);
    most = std::max(most, polls);
    EXPECT_EQ(polled, 1) << "WRITE " << i << " is not done after " << polls << " polls and " << calls - before
                         << " calls of others";
    if (polled != 1) break;
    EXPECT_EQ(completion.status, IBV_WC_SUCCESS);
  }
  stop = true;
  for (std::thread& controller : controllers) controller.join();
  std::printf("a WRITE took %llu polls at most; control calls beside all of them: %llu\n",
              static_cast<unsigned long long>(most), static_cast<unsigned long long>(calls.load()));
  EXPECT_EQ(failed, 0);
  for (ibv_qp* qp : others) EXPECT_EQ(ibv_destroy_qp(qp), 0);
  for (ibv_mr* region : regions) EXPECT_EQ(ibv_dereg_mr(region), 0);
}

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

// Whether there is something to read within the time.
bool readable(int fd, std::chrono::milliseconds limit) {
  pollfd file{fd, POLLIN, 0};
  return poll(&file, 1, static_cast<int>(limit.count())) == 1;
}

// A thread is between reading an event from the channel and being told whose it is, when another destroys the
// completion queue: that has to wait for the acknowledgement.
TEST_F(ThreadsTest, DestroyWaitsForWhoHasJustReadAnEvent) {
  ibv_cq* watched = ibv_create_cq(context, 16, nullptr, channel, 0);
  ASSERT_NE(watched, nullptr);
  ibv_qp_init_attr attributes = queue_pair_wanted(watched, watched);
  ibv_qp* qp = ibv_create_qp(domain, &attributes);
  ASSERT_NE(qp, nullptr);
  ASSERT_EQ(ibv_req_notify_cq(watched, 0), 0);
  connect(qp, pair[0]->qp_num);
  post_receive(qp, 1);
  ibv_qp_attr error{};
  error.qp_state = IBV_QPS_ERR;
  ASSERT_EQ(ibv_modify_qp(qp, &error, IBV_QP_STATE), 0);
  ASSERT_TRUE(readable(channel->fd, 20s));
  ib_uverbs_comp_event_desc event{};
  ASSERT_EQ(read(channel->fd, &event, sizeof event), static_cast<ssize_t>(sizeof event));
  EXPECT_EQ(event.cq_handle, reinterpret_cast<uintptr_t>(watched));
  ASSERT_EQ(ibv_destroy_qp(qp), 0);
  std::future<int> destroyed = std::async(std::launch::async, ibv_destroy_cq, watched);
  EXPECT_EQ(destroyed.wait_for(200ms), std::future_status::timeout);
  ibv_ack_cq_events(watched, 1);
  ASSERT_EQ(destroyed.wait_for(20s), std::future_status::ready);
  EXPECT_EQ(destroyed.get(), 0);
}

// The same for asynchronous events.
TEST_F(ThreadsTest, DestroyWaitsForWhoHasJustReadAnAsynchronousEvent) {
  ibv_srq_init_attr wanted{};
  wanted.attr = {16, 1, 0};
  ibv_srq* srq = ibv_create_srq(domain, &wanted);
  ASSERT_NE(srq, nullptr);
  ibv_qp_init_attr attributes = queue_pair_wanted(queue, queue);
  attributes.srq = srq;
  ibv_qp* qp = ibv_create_qp(domain, &attributes);
  ASSERT_NE(qp, nullptr);
  connect(qp, pair[0]->qp_num);
  ibv_qp_attr error{};
  error.qp_state = IBV_QPS_ERR;
  ASSERT_EQ(ibv_modify_qp(qp, &error, IBV_QP_STATE), 0);
  ib_uverbs_async_event_desc event{};
  do {
    ASSERT_TRUE(readable(context->async_fd, 20s));
    ASSERT_EQ(read(context->async_fd, &event, sizeof event), static_cast<ssize_t>(sizeof event));
  } while (event.event_type != IBV_EVENT_QP_LAST_WQE_REACHED);
  EXPECT_EQ(event.element, reinterpret_cast<uintptr_t>(qp));
  std::future<int> destroyed = std::async(std::launch::async, ibv_destroy_qp, qp);
  EXPECT_EQ(destroyed.wait_for(200ms), std::future_status::timeout);
  ibv_async_event read_before{};
  read_before.event_type = IBV_EVENT_QP_LAST_WQE_REACHED;
  read_before.element.qp = qp;
  ibv_ack_async_event(&read_before);
  ASSERT_EQ(destroyed.wait_for(20s), std::future_status::ready);
  EXPECT_EQ(destroyed.get(), 0);
  EXPECT_EQ(ibv_destroy_srq(srq), 0);
}

// Threads wait for events, poll and acknowledge while queues with such events come and go.
TEST_F(ThreadsTest, QueuesComeAndGoWhileOthersWaitForEvents) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> waiters;
  for (int i = 0; i < 2; ++i)
    waiters.emplace_back([&] {
      while (!stop) {
        if (!readable(channel->fd, 10ms)) continue;
        ib_uverbs_comp_event_desc event{};  // not ibv_get_cq_event(): another may have been faster
        if (recv(channel->fd, &event, sizeof event, MSG_DONTWAIT) != sizeof event) continue;
        auto* woken = reinterpret_cast<ibv_cq*>(static_cast<uintptr_t>(event.cq_handle));
        ibv_wc done[4];
        ibv_poll_cq(woken, 4, done);
        ibv_req_notify_cq(woken, 0);
        ibv_ack_cq_events(woken, 1);
      }
    });
  for (int round = 0; round < 30; ++round) {
    ibv_cq* own = ibv_create_cq(context, 64, nullptr, channel, 0);
    ASSERT_NE(own, nullptr);
    ASSERT_EQ(ibv_req_notify_cq(own, 0), 0);
    ibv_qp_init_attr attributes = queue_pair_wanted(own, own);
    attributes.sq_sig_all = 1;
    ibv_qp* fresh[2] = {};
    for (ibv_qp*& qp : fresh) ASSERT_NE(qp = ibv_create_qp(domain, &attributes), nullptr);
    connect(fresh[0], fresh[1]->qp_num);
    connect(fresh[1], fresh[0]->qp_num);
    ibv_sge from = segment(0, 64);
    for (int i = 0; i < 8; ++i) ASSERT_EQ(post(fresh[0], write_request(&from, 4096, 1)), 0);
    for (ibv_qp* qp : fresh) EXPECT_EQ(ibv_destroy_qp(qp), 0);
    EXPECT_EQ(ibv_destroy_cq(own), 0);
  }
  stop = true;
  for (std::thread& waiter : waiters) waiter.join();
}

// What is posted while the queue pair is reset is either forgotten or refused, never kept for later.
TEST_F(ThreadsTest, ResetWhileOthersPost) {
  constexpr uint64_t kStale = 1;
  constexpr uint64_t kWanted = 2;
  std::atomic<bool> stop{false};
  ibv_sge from = segment(0, 8);
  std::vector<std::thread> posters;
  for (int i = 0; i < 2; ++i)
    posters.emplace_back([&] {
      ibv_send_wr request = write_request(&from, 4096, kStale);
      request.send_flags = 0;  // nobody polls
      while (!stop) post(pair[0], request);
    });
  ibv_qp_attr reset{};
  reset.qp_state = IBV_QPS_RESET;
  for (int round = 0; round < 50; ++round) {
    EXPECT_EQ(ibv_modify_qp(pair[0], &reset, IBV_QP_STATE), 0);
    EXPECT_EQ(ibv_modify_qp(pair[1], &reset, IBV_QP_STATE), 0);
    connect(pair[1], pair[0]->qp_num, kRemoteAccess);
    connect(pair[0], pair[1]->qp_num, kRemoteAccess);
  }
  EXPECT_EQ(ibv_modify_qp(pair[0], &reset, IBV_QP_STATE), 0);
  EXPECT_EQ(ibv_modify_qp(pair[1], &reset, IBV_QP_STATE), 0);
  stop = true;
  for (std::thread& poster : posters) poster.join();
  connect(pair[1], pair[0]->qp_num, kRemoteAccess);
  connect(pair[0], pair[1]->qp_num, kRemoteAccess);
  ASSERT_EQ(post(pair[0], write_request(&from, 4096, kWanted)), 0);
  const ibv_wc done = poll_one(send_queue);
  EXPECT_EQ(done.wr_id, kWanted);
  EXPECT_EQ(done.status, IBV_WC_SUCCESS);
}

// A child of fork() is told that the device is not its own, even if a thread that it has not got was posting.
TEST_F(ThreadsTest, ForkWhileAnotherPosts) {
  ibv_qp_init_attr_ex wanted{};
  wanted.qp_type = IBV_QPT_RC;
  wanted.send_cq = wanted.recv_cq = queue;
  wanted.cap = {16, 16, 1, 1, 0};
  wanted.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  wanted.pd = domain;
  wanted.send_ops_flags = IBV_QP_EX_WITH_SEND;
  ibv_qp* qp = ibv_create_qp_ex(context, &wanted);
  ASSERT_NE(qp, nullptr);
  connect(qp, pair[0]->qp_num);
  ibv_sge from = segment(0, 8);
  ibv_wr_start(ibv_qp_to_qp_ex(qp));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);
    ibv_qp_ex* extended = ibv_qp_to_qp_ex(qp);
    const bool refused = post(qp, send_request(&from, 1)) == EPERM;
    ibv_wr_start(extended);
    _exit(refused && ibv_wr_complete(extended) == EPERM ? 0 : 1);
  }
  ibv_wr_abort(ibv_qp_to_qp_ex(qp));
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
  EXPECT_EQ(ibv_destroy_qp(qp), 0);
}

}  // namespace
}  // namespace provider_test
