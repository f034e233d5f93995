// SPDX-License-Identifier: BSD-2-Clause
// Posting, polling, events and the end of things, between two queue pairs of one process.
#include <errno.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "tests/verbs/provider_fixture.h"

namespace provider_test {

bool LoopTest::event_comes(std::chrono::milliseconds limit) {
  pollfd file{channel->fd, POLLIN, 0};
  if (poll(&file, 1, static_cast<int>(limit.count())) != 1) return false;
  ibv_cq* queue = nullptr;
  void* its_context = nullptr;
  EXPECT_EQ(ibv_get_cq_event(channel, &queue, &its_context), 0);
  EXPECT_EQ(queue, receive_queue);
  EXPECT_EQ(its_context, this);
  ibv_ack_cq_events(queue, 1);
  return true;
}

namespace {

TEST_F(LoopTest, WritesArriveWithTheirImmediate) {
  for (size_t i = 0; i < kBytes / 2; ++i) memory[i] = static_cast<uint8_t>(i * 7 + i / 251);
  post_receive(pair[1], 5);
  ibv_sge from = segment(0, kBytes / 2);
  ibv_send_wr request = write_request(&from, kBytes / 2, 9);
  request.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
  request.imm_data = htobe32(0x11223344);
  ASSERT_EQ(post(pair[0], request), 0);
  ibv_wc done{};
  ASSERT_EQ(poll_for(send_queue, 1, &done), 1);
  EXPECT_EQ(done.status, IBV_WC_SUCCESS);
  EXPECT_EQ(done.opcode, IBV_WC_RDMA_WRITE);
  EXPECT_EQ(done.wr_id, 9u);
  EXPECT_EQ(done.qp_num, pair[0]->qp_num);
  ASSERT_EQ(poll_for(receive_queue, 1, &done), 1);
  EXPECT_EQ(done.status, IBV_WC_SUCCESS);
  EXPECT_EQ(done.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
  EXPECT_EQ(done.wr_id, 5u);
  EXPECT_EQ(done.byte_len, kBytes / 2);
  EXPECT_EQ(done.wc_flags & IBV_WC_WITH_IMM, static_cast<unsigned>(IBV_WC_WITH_IMM));
  EXPECT_EQ(be32toh(done.imm_data), 0x11223344u);
  EXPECT_EQ(std::memcmp(memory.data(), memory.data() + kBytes / 2, kBytes / 2), 0);
}

TEST_F(LoopTest, InlineDataAreTakenWhenPosted) {
  uint8_t there[] = "taken at once";  // in no region
  ibv_sge from{reinterpret_cast<uintptr_t>(there), sizeof there, 0};
  ibv_send_wr request = write_request(&from, 4096, 1);
  request.send_flags |= IBV_SEND_INLINE;
  ASSERT_EQ(post(pair[0], request), 0);
  std::memset(there, 0, sizeof there);
  ibv_wc done{};
  ASSERT_EQ(poll_for(send_queue, 1, &done), 1);
  EXPECT_EQ(done.status, IBV_WC_SUCCESS);
  EXPECT_STREQ(reinterpret_cast<char*>(memory.data()) + 4096, "taken at once");
}

TEST_F(LoopTest, BadRequestsAreRefusedAndTheGoodOnesBeforeThemAreDone) {
  uint8_t large[65] = {};
  ibv_sge from = segment(0, 8);
  ibv_sge too_large{reinterpret_cast<uintptr_t>(large), sizeof large, 0};
  ibv_send_wr good = write_request(&from, 4096, 1);
  ibv_send_wr bad_inline = write_request(&too_large, 4096, 2);
  bad_inline.send_flags |= IBV_SEND_INLINE;
  ibv_send_wr after = write_request(&from, 4096, 3);
  good.next = &bad_inline;
  bad_inline.next = &after;
  ibv_send_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_send(pair[0], &good, &bad), EINVAL);
  EXPECT_EQ(bad, &bad_inline);
  ibv_wc done[2]{};
  EXPECT_EQ(poll_for(send_queue, 2, done, 200ms), 1);
  EXPECT_EQ(done[0].wr_id, 1u);

  ibv_sge three[3] = {from, from, from};
  ibv_send_wr too_many = write_request(three, 4096, 4);
  too_many.num_sge = 3;
  EXPECT_EQ(post(pair[0], too_many), EINVAL);
  ibv_send_wr send = write_request(&from, 4096, 5);
  send.opcode = IBV_WR_TSO;
  EXPECT_EQ(post(pair[0], send), EINVAL);
  ibv_recv_wr receive{};
  receive.sg_list = three;
  receive.num_sge = 3;
  ibv_recv_wr* bad_receive = nullptr;
  EXPECT_EQ(ibv_post_recv(pair[0], &receive, &bad_receive), EINVAL);
  EXPECT_EQ(bad_receive, &receive);
}

TEST_F(LoopTest, AFullQueueSaysSoAndEmptiesAgain) {
  // The peer does not answer, so nothing leaves the queue.
  ibv_qp_attr error{};
  error.qp_state = IBV_QPS_ERR;
  ASSERT_EQ(ibv_modify_qp(pair[1], &error, IBV_QP_STATE), 0);
  ibv_sge from = segment(0, 8);
  int posted = 0;
  int result = 0;
  while ((result = post(pair[0], write_request(&from, 4096, 1))) == 0 && posted < 1000) ++posted;
  EXPECT_EQ(result, ENOMEM);
  EXPECT_GE(posted, 16);
  ASSERT_EQ(ibv_modify_qp(pair[0], &error, IBV_QP_STATE), 0);
  std::vector<ibv_wc> done(static_cast<size_t>(posted));
  ASSERT_EQ(poll_for(send_queue, posted, done.data()), posted);
  for (const ibv_wc& one : done) EXPECT_EQ(one.status, IBV_WC_WR_FLUSH_ERR);
}

TEST_F(LoopTest, AQueuePairInErrorFlushesWhatIsPosted) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  ASSERT_EQ(ibv_modify_qp(pair[0], &attributes, IBV_QP_STATE), 0);
  ibv_sge from = segment(0, 8);
  ASSERT_EQ(post(pair[0], write_request(&from, 4096, 3)), 0);
  post_receive(pair[0], 4);
  ibv_wc done{};
  ASSERT_EQ(poll_for(send_queue, 1, &done), 1);
  EXPECT_EQ(done.status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(done.wr_id, 3u);
  ASSERT_EQ(poll_for(receive_queue, 1, &done), 1);
  EXPECT_EQ(done.status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(done.wr_id, 4u);
}

TEST_F(LoopTest, ABrokenRuleOfThePeerRaisesAnAsynchronousEvent) {
  ibv_sge from = segment(0, 8);
  ibv_send_wr request = write_request(&from, 4096, 1);
  request.wr.rdma.rkey ^= 1;
  ASSERT_EQ(post(pair[0], request), 0);
  ibv_wc done{};
  ASSERT_EQ(poll_for(send_queue, 1, &done), 1);
  EXPECT_EQ(done.status, IBV_WC_REM_ACCESS_ERR);
  // Left unread by the application: destroying the queue pair must not wait for it.
  pollfd file{context->async_fd, POLLIN, 0};
  EXPECT_EQ(poll(&file, 1, 2000), 1);
  EXPECT_EQ(ibv_destroy_qp(pair[1]), 0);
  pair[1] = nullptr;
}

TEST_F(LoopTest, AsynchronousEventsAreWaitedForUntilAcknowledged) {
  ibv_sge from = segment(0, 8);
  ibv_send_wr request = write_request(&from, 4096, 1);
  request.wr.rdma.rkey ^= 1;
  ASSERT_EQ(post(pair[0], request), 0);
  ibv_wc done{};
  ASSERT_EQ(poll_for(send_queue, 1, &done), 1);
  ibv_async_event event{};
  ASSERT_EQ(ibv_get_async_event(context, &event), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_QP_ACCESS_ERR);
  EXPECT_EQ(event.element.qp, pair[1]);
  std::atomic<bool> destroyed{false};
  std::thread other([&] {
    EXPECT_EQ(ibv_destroy_qp(pair[1]), 0);
    destroyed = true;
  });
  std::this_thread::sleep_for(100ms);
  EXPECT_FALSE(destroyed);
  ibv_ack_async_event(&event);
  other.join();
  pair[1] = nullptr;
}

TEST_F(LoopTest, AnArmedQueueRaisesOneEvent) {
  ASSERT_EQ(ibv_req_notify_cq(receive_queue, 0), 0);
  EXPECT_FALSE(event_comes(20ms));
  for (uint64_t i = 0; i < 3; ++i) post_receive(pair[1], i);
  send_immediate(1);
  send_immediate(2);
  // Nobody polls: the background thread does all the work.
  EXPECT_TRUE(event_comes(5s));
  ibv_wc done[3]{};
  EXPECT_EQ(poll_for(receive_queue, 2, done), 2);
  EXPECT_FALSE(event_comes(50ms)) << "it was armed once";
  ASSERT_EQ(ibv_req_notify_cq(receive_queue, 0), 0);
  EXPECT_FALSE(event_comes(50ms)) << "nothing new";
  send_immediate(3);
  EXPECT_TRUE(event_comes(5s));
}

TEST_F(LoopTest, ArmingFiresAtOnceForWhatIsUnpolledAndNew) {
  for (uint64_t i = 0; i < 4; ++i) post_receive(pair[1], i);
  ibv_wc done[4]{};
  send_immediate(1);
  ASSERT_EQ(poll_for(send_queue, 1, done), 1);
  std::this_thread::sleep_for(10ms);
  ASSERT_EQ(ibv_req_notify_cq(receive_queue, 0), 0);
  EXPECT_TRUE(event_comes(1s)) << "it came before arming and was not polled";
  ASSERT_EQ(ibv_req_notify_cq(receive_queue, 0), 0);
  EXPECT_FALSE(event_comes(50ms)) << "that completion has had its event";
  send_immediate(2);
  EXPECT_TRUE(event_comes(5s));
  EXPECT_EQ(poll_for(receive_queue, 2, done), 2);
}

TEST_F(LoopTest, ErrorsWakeAlsoWhoAsksForSolicitedCompletions) {
  post_receive(pair[1], 1);
  ASSERT_EQ(ibv_req_notify_cq(receive_queue, 1), 0);
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  ASSERT_EQ(ibv_modify_qp(pair[1], &attributes, IBV_QP_STATE), 0);
  EXPECT_TRUE(event_comes(5s));
}

TEST_F(LoopTest, UnreadEventsDieWithTheirQueue) {
  post_receive(pair[1], 1);
  ASSERT_EQ(ibv_req_notify_cq(receive_queue, 0), 0);
  send_immediate(1);
  pollfd file{channel->fd, POLLIN, 0};
  ASSERT_EQ(poll(&file, 1, 5000), 1);
  for (ibv_qp*& qp : pair) {
    EXPECT_EQ(ibv_destroy_qp(qp), 0);
    qp = nullptr;
  }
  EXPECT_EQ(ibv_destroy_cq(receive_queue), 0);
  receive_queue = nullptr;
  EXPECT_EQ(poll(&file, 1, 0), 0);
}

TEST_F(LoopTest, ADestroyedQueuePairLeavesNoCompletions) {
  ibv_sge from = segment(0, 8);
  for (uint64_t i = 0; i < 5; ++i) {
    ASSERT_EQ(post(pair[0], write_request(&from, 4096, i)), 0);
    ASSERT_EQ(post(pair[1], write_request(&from, 8192, 100 + i)), 0);
  }
  std::this_thread::sleep_for(50ms);
  ASSERT_EQ(ibv_destroy_qp(pair[0]), 0);
  pair[0] = nullptr;
  ibv_wc done[10]{};
  const int count = poll_for(send_queue, 10, done, 200ms);
  for (int i = 0; i < count; ++i) EXPECT_GE(done[i].wr_id, 100u);
}

// Many more than are taken out at a time, between those of another one.
TEST_F(LoopTest, ADestroyedQueuePairLeavesNoneOfVeryManyCompletions) {
  constexpr uint64_t kEach = 1500;
  ibv_cq* many = ibv_create_cq(context, 2 * kEach, nullptr, nullptr, 0);
  ASSERT_NE(many, nullptr);
  ibv_qp_init_attr wanted = queue_pair_wanted(many, many);
  wanted.cap.max_send_wr = kEach;
  ibv_qp* ended[2];
  for (ibv_qp*& qp : ended) {
    ASSERT_NE(qp = ibv_create_qp(domain, &wanted), nullptr);
    ibv_qp_attr attributes{};
    ASSERT_EQ(to_init(qp), 0);
    attributes.qp_state = IBV_QPS_ERR;
    ASSERT_EQ(ibv_modify_qp(qp, &attributes, IBV_QP_STATE), 0);
  }
  ibv_sge from = segment(0, 8);
  for (int round = 0; round < 2; ++round) {
    for (uint64_t i = 0; i < kEach; ++i) {
      ASSERT_EQ(post(ended[0], write_request(&from, 4096, i)), 0);
      if (round == 0) {
        ASSERT_EQ(post(ended[1], write_request(&from, 8192, kEach + i)), 0);
      }
    }
    if (round == 0) {
      // All of them have come when it is destroyed, and all its places are free then.
      ASSERT_EQ(ibv_destroy_qp(ended[1]), 0);
      ended[1] = nullptr;
    }
    std::vector<ibv_wc> done(2 * kEach);
    ASSERT_EQ(poll_for(many, kEach, done.data()), static_cast<int>(kEach));
    for (uint64_t i = 0; i < kEach; ++i) ASSERT_EQ(done[i].wr_id, i);
    EXPECT_EQ(ibv_poll_cq(many, 1, done.data()), 0);
  }
  EXPECT_EQ(ibv_destroy_qp(ended[0]), 0);
  EXPECT_EQ(ibv_destroy_cq(many), 0);
}

TEST_F(LoopTest, AQueueGrowsWithWhatIsInIt) {
  ibv_sge from = segment(0, 8);
  for (uint64_t i = 0; i < 10; ++i) ASSERT_EQ(post(pair[0], write_request(&from, 4096, i)), 0);
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(ibv_resize_cq(send_queue, 1000), 0);
  EXPECT_GE(send_queue->cqe, 1000);
  ibv_wc done[10]{};
  ASSERT_EQ(poll_for(send_queue, 10, done), 10);
  for (uint64_t i = 0; i < 10; ++i) EXPECT_EQ(done[i].wr_id, i);
  EXPECT_NE(ibv_resize_cq(send_queue, 0), 0);
}

TEST_F(LoopTest, AnExtendedQueueShowsTheSame) {
  ibv_cq_init_attr_ex wanted{};
  wanted.cqe = 16;
  wanted.wc_flags = IBV_WC_STANDARD_FLAGS;
  ibv_cq_ex* extended = ibv_create_cq_ex(context, &wanted);
  ASSERT_NE(extended, nullptr);
  ibv_qp_init_attr qp_wanted = queue_pair_wanted(ibv_cq_ex_to_cq(extended), receive_queue);
  ibv_qp* qp = ibv_create_qp(domain, &qp_wanted);
  ASSERT_NE(qp, nullptr);
  connect(qp, qp->qp_num);  // to itself
  ibv_sge from = segment(0, 8);
  for (uint64_t i = 0; i < 2; ++i) ASSERT_EQ(post(qp, write_request(&from, 4096, 40 + i)), 0);
  std::this_thread::sleep_for(50ms);
  ibv_poll_cq_attr none{};
  ASSERT_EQ(ibv_start_poll(extended, &none), 0);
  EXPECT_EQ(extended->wr_id, 40u);
  EXPECT_EQ(extended->status, IBV_WC_SUCCESS);
  EXPECT_EQ(ibv_wc_read_opcode(extended), IBV_WC_RDMA_WRITE);
  EXPECT_EQ(ibv_wc_read_qp_num(extended), qp->qp_num);
  ASSERT_EQ(ibv_next_poll(extended), 0);
  EXPECT_EQ(extended->wr_id, 41u);
  EXPECT_EQ(ibv_next_poll(extended), ENOENT);
  ibv_end_poll(extended);
  EXPECT_EQ(ibv_destroy_qp(qp), 0);
  EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(extended)), 0);
}

TEST_F(LoopTest, ThreadsThatPostAndPollTogetherLoseNothing) {
  constexpr int kPerThread = 5000;
  std::atomic<int> completed{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      ibv_sge from = segment(static_cast<size_t>(t) * 64, 64);
      for (int i = 0; i < kPerThread && !stop;) {
        if (post(pair[t % 2], write_request(&from, 65536 + static_cast<size_t>(t) * 64, 1)) == 0) ++i;
        ibv_wc done[8];
        const int count = ibv_poll_cq(send_queue, 8, done);
        for (int n = 0; n < count; ++n) EXPECT_EQ(done[n].status, IBV_WC_SUCCESS);
        completed += count;
      }
    });
  }
  std::thread watchdog([&] {
    for (int i = 0; i < 600 && completed < 4 * kPerThread; ++i) std::this_thread::sleep_for(100ms);
    stop = true;
  });
  for (std::thread& thread : threads) thread.join();
  ibv_wc done[64];
  completed += poll_for(send_queue, std::min(64, 4 * kPerThread - completed), done);
  EXPECT_EQ(completed, 4 * kPerThread);
  stop = true;
  completed = 4 * kPerThread;
  watchdog.join();
}

TEST_F(LoopTest, AChildHasNoDevice) {
  ibv_sge from = segment(0, 8);
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    int wrong = 0;
    ibv_wc done;
    if (ibv_poll_cq(send_queue, 1, &done) > 0) wrong |= 1;
    if (post(pair[0], write_request(&from, 4096, 1)) == 0) wrong |= 2;
    if (ibv_reg_mr(domain, &wrong, sizeof wrong, 0) != nullptr) wrong |= 4;
    if (ibv_destroy_qp(pair[0]) == 0) wrong |= 8;
    if (ibv_create_comp_channel(context) != nullptr) wrong |= 16;
    if (ibv_alloc_pd(context) != nullptr) wrong |= 32;
    exit(wrong);  // with all exit handlers
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  ASSERT_EQ(post(pair[0], write_request(&from, 4096, 2)), 0);
  ibv_wc done{};
  ASSERT_EQ(poll_for(send_queue, 1, &done), 1);
  EXPECT_EQ(done.status, IBV_WC_SUCCESS);
}

// What the application forgets is closed with the context, and the device starts again.
TEST(CloseTest, AContextTakesItsObjectsWithIt) {
  for (int round = 0; round < 3; ++round) {
    ibv_context* context = open_device();
    ASSERT_NE(context, nullptr);
    ibv_pd* domain = ibv_alloc_pd(context);
    std::vector<uint8_t> memory(4096);
    ASSERT_NE(ibv_reg_mr(domain, memory.data(), memory.size(), IBV_ACCESS_LOCAL_WRITE), nullptr);
    ibv_cq* queue = ibv_create_cq(context, 16, nullptr, nullptr, 0);
    ibv_qp_init_attr wanted = queue_pair_wanted(queue, queue);
    ibv_qp* qp = ibv_create_qp(domain, &wanted);
    ASSERT_NE(qp, nullptr);
    connect(qp, qp->qp_num);
    EXPECT_EQ(ibv_close_device(context), 0);
  }
}

TEST(CloseTest, TwoContextsShareTheDevice) {
  ibv_context* first = open_device();
  ibv_context* second = open_device();
  ASSERT_NE(first, nullptr);
  ASSERT_NE(second, nullptr);
  ibv_qp* queue_pairs[2];
  ibv_cq* queues[2];
  ibv_pd* domains[2];
  ibv_context* contexts[2] = {first, second};
  for (int i = 0; i < 2; ++i) {
    domains[i] = ibv_alloc_pd(contexts[i]);
    queues[i] = ibv_create_cq(contexts[i], 16, nullptr, nullptr, 0);
    ibv_qp_init_attr wanted = queue_pair_wanted(queues[i], queues[i]);
    ASSERT_NE(queue_pairs[i] = ibv_create_qp(domains[i], &wanted), nullptr);
  }
  EXPECT_NE(queue_pairs[0]->qp_num, queue_pairs[1]->qp_num);
  EXPECT_EQ(ibv_close_device(first), 0);
  connect(queue_pairs[1], queue_pairs[1]->qp_num);
  std::vector<uint8_t> memory(8192);
  ibv_mr* region =
      ibv_reg_mr(domains[1], memory.data(), memory.size(), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  ASSERT_NE(region, nullptr);
  memory[0] = 42;
  ibv_sge from{reinterpret_cast<uintptr_t>(memory.data()), 64, region->lkey};
  ibv_send_wr request{};
  request.sg_list = &from;
  request.num_sge = 1;
  request.opcode = IBV_WR_RDMA_WRITE;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.rdma = {from.addr + 4096, region->rkey};
  ibv_send_wr* bad = nullptr;
  ASSERT_EQ(ibv_post_send(queue_pairs[1], &request, &bad), 0);
  ibv_wc done{};
  ASSERT_EQ(poll_for(queues[1], 1, &done), 1);
  EXPECT_EQ(done.status, IBV_WC_SUCCESS);
  EXPECT_EQ(memory[4096], 42);
  EXPECT_EQ(ibv_close_device(second), 0);
}

}  // namespace
}  // namespace provider_test
