// SPDX-License-Identifier: BSD-2-Clause
// Several threads on the same objects, as verbs allow it.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "objects.h"

namespace conformance {
namespace {

// Runs `body(n)` in so many threads; what they throw fails the case.
void in_threads(int count, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int n = 0; n < count; ++n)
    threads.emplace_back([n, &body] {
      try {
        body(n);
      } catch (const std::exception& error) {
        complain("thread " + std::to_string(n) + ": " + error.what());
      }
    });
  for (std::thread& thread : threads) thread.join();
}

// Posts again when the queue is full.
void post_patiently(ibv_qp* qp, Request& request) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  for (;;) {
    const int result = request.post(qp);
    if (result == 0) return;
    CHECK_ERROR(result, ENOMEM);
    if (std::chrono::steady_clock::now() > end) throw Failure("the queue stays full");
    std::this_thread::yield();
  }
}

// Takes `count` completions with several threads; each id must come once.
void poll_in_threads(ibv_cq* cq, int threads, int count) {
  std::mutex mutex;
  std::set<uint64_t> ids;
  std::atomic<int> taken{0};
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(15);
  in_threads(threads, [&](int) {
    while (taken < count && std::chrono::steady_clock::now() < end) {
      ibv_wc completions[4];
      const int polled = ibv_poll_cq(cq, 4, completions);
      CHECK(polled >= 0);
      for (int i = 0; i < polled; ++i) {
        CHECK_EQ(completions[i].status, IBV_WC_SUCCESS);
        std::lock_guard lock(mutex);
        CHECK(ids.insert(completions[i].wr_id).second);
        ++taken;
      }
    }
  });
  CHECK_EQ(taken.load(), count);
}

}  // namespace

CASE("thread.many_post_on_one_queue_pair") {
  Pair pair({.cap = {128, 16, 4, 4, 64}, .cq_entries = 1024});
  constexpr int kThreads = 4, kEach = 200;
  std::thread poller([&] {
    try {
      poll_in_threads(pair.a.send_cq, 1, kThreads * kEach);
    } catch (const std::exception& error) {
      complain(error.what());
    }
  });
  in_threads(kThreads, [&](int n) {
    for (int i = 0; i < kEach; ++i) {
      Request request(IBV_WR_RDMA_WRITE, static_cast<uint64_t>(n) * 1000 + static_cast<uint64_t>(i));
      request.piece(pair.a.memory, 0, 64).remote(pair.b.memory, static_cast<size_t>(n) * 64);
      post_patiently(pair.a.qp, request);
    }
  });
  poller.join();
}

CASE("thread.many_poll_one_completion_queue") {
  Pair pair({.cap = {256, 16, 4, 4, 64}, .cq_entries = 512});
  std::thread poster([&] {
    for (uint64_t id = 0; id < 200; ++id)
      if (Request(IBV_WR_RDMA_WRITE, id)
              .piece(pair.a.memory, 0, 64)
              .remote(pair.b.memory, 0)
              .post(pair.a.qp) != 0)
        complain("cannot post");
  });
  try {
    poll_in_threads(pair.a.send_cq, 4, 200);
  } catch (const std::exception& error) {
    complain(error.what());
  }
  poster.join();
}

CASE("thread.many_post_to_one_shared_queue") {
  Pair pair({.cap = {128, 512, 4, 4, 64}, .with_srq = true, .cq_entries = 1024});
  in_threads(4, [&](int n) {
    for (uint64_t i = 0; i < 64; ++i)
      CHECK_OK(
          post_receive(pair.b.srq.get(), static_cast<uint64_t>(n) * 100 + i, {pair.b.memory.piece(0, 64)}));
  });
  for (int round = 0; round < 4; ++round) {
    for (uint64_t id = 0; id < 64; ++id)
      CHECK_OK(Request(IBV_WR_SEND, id).piece(pair.a.memory, 0, 8).post(pair.a.qp));
    for (uint64_t id = 0; id < 64; ++id) await(pair.a.send_cq, id, IBV_WC_SUCCESS);
  }
  std::set<uint64_t> ids;
  for (int i = 0; i < 256; ++i) CHECK(ids.insert(await(pair.b.receive_cq).wr_id).second);
}

CASE("thread.queue_pairs_made_and_destroyed_under_traffic") {
  Pair pair;
  std::atomic<bool> stop{false};
  std::thread traffic([&] {
    try {
      while (!stop) {
        CHECK_OK(Request(IBV_WR_RDMA_WRITE, 1)
                     .piece(pair.a.memory, 0, 4096)
                     .remote(pair.b.memory, 0)
                     .post(pair.a.qp));
        await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
      }
    } catch (const std::exception& error) {
      complain(error.what());
    }
  });
  in_threads(2, [&](int) {
    for (int i = 0; i < 40; ++i) {
      Owned<ibv_cq> cq = make_cq(16);
      Owned<ibv_qp> qp = make_qp(pair.pd, qp_wanted(cq, cq));
      bring_to(qp, IBV_QPS_RTS, qp->qp_num);
    }
  });
  stop = true;
  traffic.join();
}

CASE("thread.regions_made_and_ended_under_traffic") {
  Pair pair;
  std::atomic<bool> stop{false};
  std::thread traffic([&] {
    try {
      while (!stop) {
        CHECK_OK(Request(IBV_WR_RDMA_WRITE, 1)
                     .piece(pair.a.memory, 0, 4096)
                     .remote(pair.b.memory, 0)
                     .post(pair.a.qp));
        await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
      }
    } catch (const std::exception& error) {
      complain(error.what());
    }
  });
  in_threads(2, [&](int) {
    for (int i = 0; i < 200; ++i) Memory memory(pair.pd, 8192);
  });
  stop = true;
  traffic.join();
}

CASE("thread.contexts_opened_and_closed") {
  device();
  in_threads(4, [](int) {
    for (int i = 0; i < 10; ++i) {
      Owned<ibv_context> context = open_device();
      Owned<ibv_comp_channel> channel = make_channel(context);
      Owned<ibv_pd> pd = make_pd(context);
    }
  });
}

CASE("thread.a_pair_per_thread") {
  in_threads(4, [](int) {
    Pair pair;
    for (uint64_t id = 0; id < 100; ++id) {
      CHECK_OK(Request(IBV_WR_RDMA_WRITE, id)
                   .piece(pair.a.memory, 0, 4096)
                   .remote(pair.b.memory, 4096)
                   .post(pair.a.qp));
      await(pair.a.send_cq, id, IBV_WC_SUCCESS);
    }
    CHECK(pair.b.memory.has(kSeedA, 4096, 4096, 0));
  });
}

CASE("thread.destroyed_while_others_poll_the_same_queue") {
  Owned<ibv_cq> cq = make_cq(256);
  Owned<ibv_pd> pd = make_pd();
  Memory memory(pd, 4096);
  std::atomic<bool> stop{false};
  std::thread poller([&] {
    ibv_wc completion;
    while (!stop)
      if (ibv_poll_cq(cq, 1, &completion) < 0) complain("ibv_poll_cq() fails");
  });
  try {
    for (int i = 0; i < 30; ++i) {
      Owned<ibv_qp> qp = make_qp(pd, qp_wanted(cq, cq));
      bring_to(qp, IBV_QPS_RTS, qp->qp_num);
      for (uint64_t id = 0; id < 8; ++id)
        CHECK_OK(Request(IBV_WR_RDMA_WRITE, id).piece(memory, 0, 1024).remote(memory, 2048).post(qp));
    }
  } catch (const std::exception& error) {
    complain(error.what());
  }
  stop = true;
  poller.join();
}

CASE("thread.atomics_from_many_add_up") {
  need_operation(IBV_WR_ATOMIC_FETCH_AND_ADD);
  Owned<ibv_pd> pd = make_pd();
  Memory counter(pd, 4096);
  counter.word(0) = 0;
  in_threads(3, [&](int) {
    Owned<ibv_cq> cq = make_cq();
    Memory result(pd, 4096);
    Owned<ibv_qp> one = make_qp(pd, qp_wanted(cq, cq));
    Owned<ibv_qp> two = make_qp(pd, qp_wanted(cq, cq));
    bring_to(one, IBV_QPS_RTS, two->qp_num);
    bring_to(two, IBV_QPS_RTS, one->qp_num);
    for (uint64_t i = 0; i < 100; ++i) {
      CHECK_OK(Request(IBV_WR_ATOMIC_FETCH_AND_ADD, i)
                   .piece(result, 0, 8)
                   .atomic(counter.address(), counter.mr->rkey, 1)
                   .post(one));
      await(cq, i, IBV_WC_SUCCESS);
    }
  });
  CHECK_EQ(counter.word(0), 300);
}

}  // namespace conformance
