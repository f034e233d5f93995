// SPDX-License-Identifier: BSD-2-Clause
// Threads that make queues of their own may get an engine each: whatever they have in common works all the
// same.
#include <atomic>
#include <cerrno>
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

constexpr int kWorkers = 4;
constexpr int kMessages = 200;

// A queue pair that is connected to itself, made by the thread that uses it.
struct Loop {
  Owned<ibv_cq> cq;
  Owned<ibv_qp> qp;

  explicit Loop(ibv_pd* pd, ibv_cq* receives = nullptr, ibv_srq* srq = nullptr) : cq(make_cq(512)) {
    ibv_qp_init_attr wanted = qp_wanted(cq, receives != nullptr ? receives : cq.get());
    wanted.srq = srq;
    wanted.cap.max_recv_wr = srq != nullptr ? 0 : kMessages;
    wanted.cap.max_send_wr = 64;
    qp = make_qp(pd, wanted);
    bring_to(qp, IBV_QPS_RTS, qp->qp_num);
  }
};

// Runs `body(n)` in a thread for each n; what they throw fails the case.
class Workers {
 public:
  explicit Workers(const std::function<void(int)>& body, int count = kWorkers) {
    for (int n = 0; n < count; ++n)
      threads_.emplace_back([n, body] {
        try {
          body(n);
        } catch (const std::exception& error) {
          complain("worker " + std::to_string(n) + ": " + error.what());
        }
      });
  }
  ~Workers() { join(); }
  void join() {
    for (std::thread& thread : threads_)
      if (thread.joinable()) thread.join();
  }

 private:
  std::vector<std::thread> threads_;
};

uint64_t id_of(int worker, int message) {
  return static_cast<uint64_t>(worker) * 1000 + static_cast<uint64_t>(message);
}

// Sends to itself; the receives are told in the common queue.
void send_to_self(ibv_pd* pd, ibv_cq* receives, int worker) {
  Loop loop(pd, receives);
  Memory memory(pd, 4096);
  for (int i = 0; i < kMessages; ++i)
    CHECK_OK(post_receive(loop.qp, id_of(worker, i), {memory.piece(0, 64)}));
  for (int i = 0; i < kMessages; ++i) {
    CHECK_OK(Request(IBV_WR_SEND, id_of(worker, i)).piece(memory, 64, 32).post(loop.qp));
    await(loop.cq, id_of(worker, i), IBV_WC_SUCCESS);
  }
}

void write_once(const Loop& loop, const Memory& from, uint64_t address, uint32_t key) {
  CHECK_OK(Request(IBV_WR_RDMA_WRITE, 5).piece(from, 0, 16).remote(address, key).post(loop.qp));
  await(loop.cq, 5, IBV_WC_SUCCESS);
}

// The queue pair is both ends: it may have ended itself before it has heard why.
void write_in_vain(const Loop& loop, const Memory& from, uint64_t address, uint32_t key) {
  CHECK_OK(Request(IBV_WR_RDMA_WRITE, 5).piece(from, 0, 16).remote(address, key).post(loop.qp));
  const ibv_wc_status status = await(loop.cq).status;
  CHECK(status == IBV_WC_REM_ACCESS_ERR || status == IBV_WC_WR_FLUSH_ERR);
}

}  // namespace

CASE("engines.one_queue_for_all_receives") {
  need_messages();
  Owned<ibv_pd> pd = make_pd();
  Owned<ibv_cq> receives = make_cq(kWorkers * kMessages);
  std::atomic<bool> enough{false};
  Workers workers([&](int n) {
    Loop loop(pd, receives);
    Memory memory(pd, 4096);
    for (int i = 0; i < kMessages; ++i) CHECK_OK(post_receive(loop.qp, id_of(n, i), {memory.piece(0, 64)}));
    for (int i = 0; i < kMessages; ++i) {
      CHECK_OK(Request(IBV_WR_SEND, id_of(n, i)).piece(memory, 64, 32).post(loop.qp));
      await(loop.cq, id_of(n, i), IBV_WC_SUCCESS);
    }
    while (!enough) std::this_thread::yield();  // what was not polled goes with its queue pair
  });
  std::set<uint64_t> ids;
  try {
    while (ids.size() < kWorkers * kMessages) {
      const ibv_wc completion = await(receives);
      CHECK_EQ(completion.status, IBV_WC_SUCCESS);
      CHECK(ids.insert(completion.wr_id).second);
    }
  } catch (const std::exception& error) {
    complain(error.what());
  }
  enough = true;
}

CASE("engines.events_of_one_queue_for_all") {
  need_messages();
  Owned<ibv_pd> pd = make_pd();
  Owned<ibv_comp_channel> channel = make_channel();
  Owned<ibv_cq> receives = make_cq(kWorkers * kMessages, channel);
  CHECK_OK(ibv_req_notify_cq(receives, 0));
  std::atomic<bool> enough{false};
  Workers workers([&](int n) {
    Loop loop(pd, receives);
    Memory memory(pd, 4096);
    for (int i = 0; i < kMessages && !enough; ++i) {
      CHECK_OK(post_receive(loop.qp, id_of(n, i), {memory.piece(0, 64)}));
      CHECK_OK(Request(IBV_WR_SEND, id_of(n, i)).piece(memory, 64, 32).post(loop.qp));
      await(loop.cq, id_of(n, i), IBV_WC_SUCCESS);
    }
    while (!enough) std::this_thread::yield();
  });
  // Nobody polls but after an event.
  int seen = 0;
  try {
    while (seen < kWorkers * kMessages) {
      CHECK(readable(channel->fd, 10000));
      ibv_cq* told = nullptr;
      void* cookie = nullptr;
      CHECK_OK(ibv_get_cq_event(channel, &told, &cookie));
      ibv_ack_cq_events(told, 1);
      CHECK_OK(ibv_req_notify_cq(receives, 0));
      ibv_wc completion;
      while (ibv_poll_cq(receives, 1, &completion) > 0) {
        CHECK_EQ(completion.status, IBV_WC_SUCCESS);
        ++seen;
      }
    }
  } catch (const std::exception& error) {
    complain(error.what());
  }
  enough = true;
  workers.join();
}

CASE("engines.one_queue_resized_under_traffic") {
  need_messages();
  Owned<ibv_pd> pd = make_pd();
  Owned<ibv_cq> receives = make_cq(kWorkers * kMessages);
  std::atomic<int> working{kWorkers};
  Workers workers([&](int n) {
    send_to_self(pd, receives, n);
    --working;
  });
  for (int round = 0; working > 0; ++round) {
    ibv_wc completions[8];
    CHECK(ibv_poll_cq(receives, 8, completions) >= 0);
    const int result = ibv_resize_cq(receives, kWorkers * kMessages + round % 2 * 1000);
    CHECK(result == 0 || result == EINVAL);  // more are waiting than would fit
  }
}

CASE("engines.one_shared_receive_queue") {
  need_messages();
  Owned<ibv_pd> pd = make_pd();
  Memory memory(pd, 4096);
  Owned<ibv_srq> srq = make_srq(pd, kWorkers * kMessages);
  for (int i = 0; i < kWorkers * kMessages; ++i)
    CHECK_OK(post_receive(srq.get(), static_cast<uint64_t>(i), {memory.piece(0, 64)}));
  std::mutex mutex;
  std::set<uint64_t> ids;
  Workers workers([&](int n) {
    Owned<ibv_cq> receives = make_cq(512);
    Loop loop(pd, receives, srq);
    for (int i = 0; i < kMessages; ++i) {
      CHECK_OK(Request(IBV_WR_SEND, id_of(n, i)).piece(memory, 64, 32).post(loop.qp));
      await(loop.cq, id_of(n, i), IBV_WC_SUCCESS);
      const ibv_wc completion = await(receives);
      CHECK_EQ(completion.status, IBV_WC_SUCCESS);
      std::lock_guard lock(mutex);
      CHECK(ids.insert(completion.wr_id).second);
    }
  });
  workers.join();
  CHECK_EQ(ids.size(), size_t{kWorkers * kMessages});
}

CASE("engines.connected_with_each_other") {
  Owned<ibv_pd> pd = make_pd();
  Memory memory(pd, 8 << 10);
  memory.fill(kSeedA, 0, 4 << 10);
  std::atomic<uint32_t> numbers[kWorkers] = {};
  std::atomic<int> ready{0};
  std::atomic<int> working{kWorkers};
  Workers workers([&](int n) {
    Owned<ibv_cq> cq = make_cq();
    Owned<ibv_qp> qp = make_qp(pd, qp_wanted(cq, cq));
    numbers[n] = qp->qp_num;
    const int other = n ^ 1;
    while (numbers[other] == 0) std::this_thread::yield();
    bring_to(qp, IBV_QPS_RTS, numbers[other]);
    ++ready;
    while (ready < kWorkers) std::this_thread::yield();
    for (uint64_t id = 0; id < kMessages; ++id) {
      CHECK_OK(Request(IBV_WR_RDMA_WRITE, id)
                   .piece(memory, 0, 1024)
                   .remote(memory, (4 + static_cast<size_t>(n)) << 10)
                   .post(qp));
      await(cq, id, IBV_WC_SUCCESS);
    }
    --working;
    ibv_wc completion;
    while (working > 0) ibv_poll_cq(cq, 1, &completion);
  });
  workers.join();
  for (size_t n = 0; n < kWorkers; ++n) CHECK(memory.has(kSeedA, (4 + n) << 10, 1024, 0));
}

CASE("engines.regions_are_for_all") {
  Owned<ibv_pd> pd = make_pd();
  Memory early(pd, 4096);
  std::atomic<const Memory*> late{nullptr};
  std::atomic<bool> gone{false};
  std::atomic<int> used{0};
  Workers workers([&](int) {
    Loop loop(pd);
    write_once(loop, early, early.address(2048), early.mr->rkey);
    while (late == nullptr) std::this_thread::yield();
    const uint64_t address = late.load()->address(2048);
    const uint32_t key = late.load()->mr->rkey;
    write_once(loop, early, address, key);
    ++used;
    while (!gone) std::this_thread::yield();
    write_in_vain(loop, early, address, key);
  });
  {
    Memory memory(pd, 4096);
    late = &memory;
    while (used < kWorkers) std::this_thread::yield();
    memory.mr.reset();
    gone = true;
    workers.join();
  }
}

CASE("engines.windows_are_for_all") {
  Owned<ibv_pd> pd = make_pd();
  Memory memory(pd, 4096);
  Memory target(pd, 4096, kAllAccess | IBV_ACCESS_MW_BIND);
  Owned<ibv_mw> window = own(ibv_alloc_mw(pd, IBV_MW_TYPE_1), "ibv_alloc_mw");
  Loop binder(pd);
  const auto bind = [&](uint64_t bytes) {
    ibv_mw_bind wanted{};
    wanted.wr_id = 7;
    wanted.send_flags = IBV_SEND_SIGNALED;
    wanted.bind_info = {target.mr, target.address(), bytes, IBV_ACCESS_REMOTE_WRITE};
    CHECK_OK(ibv_bind_mw(binder.qp, window, &wanted));
    await(binder.cq, 7, IBV_WC_SUCCESS);
  };
  bind(1024);
  const uint32_t first_key = window->rkey;
  std::atomic<int> used{0};
  std::atomic<bool> rebound{false};
  Workers workers([&](int) {
    Loop loop(pd);
    write_once(loop, memory, target.address(), first_key);
    ++used;
    while (!rebound) std::this_thread::yield();
    write_once(loop, memory, target.address(2048), window->rkey);
    write_in_vain(loop, memory, target.address(), first_key);
  });
  while (used < kWorkers) std::this_thread::yield();
  bind(4096);
  rebound = true;
  workers.join();
  CHECK_ERROR(ibv_dereg_mr(target.mr), EBUSY);
  bind(0);
}

CASE("engines.threads_that_come_and_go") {
  Owned<ibv_pd> pd = make_pd();
  Memory memory(pd, 4096);
  for (int round = 0; round < 20; ++round)
    Workers([&](int) {
      Loop loop(pd);
      write_once(loop, memory, memory.address(2048), memory.mr->rkey);
    });
}

}  // namespace conformance
