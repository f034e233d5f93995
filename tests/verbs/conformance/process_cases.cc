// SPDX-License-Identifier: BSD-2-Clause
// The ends of things: contexts closed with open objects, forks, and another process that leaves or dies.
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

#include "objects.h"
#include "peer_process.h"

namespace conformance {
namespace {

// One side of a connection with another process.
struct Local {
  Owned<ibv_pd> pd = make_pd();
  Side side;
  PeerProcess peer;
  PeerHello hello{};

  explicit Local(const Path& path = {}) {
    side.send_cq = make_cq();
    side.receive_cq = make_cq();
    side.memory = Memory(pd, PeerProcess::kBytes);
    side.memory.fill(kSeedA);
    side.qp = make_qp(pd, qp_wanted(side.send_cq, side.receive_cq));
    hello = peer.connect(side.qp, path);
  }
  uint32_t own_sum(size_t bytes) const {
    return std::accumulate(side.memory.data(), side.memory.data() + bytes, 0u);
  }
};

Path impatient_path() {
  Path path;
  path.timeout = 10;  // 4 ms
  path.retry_cnt = 3;
  return path;
}

// What a forked child answers; it must not touch the parent's device.
int status_of_child(const std::function<bool()>& refused) {
  const pid_t child = fork();
  if (child < 0) throw Failure("fork");
  if (child == 0) {
    alarm(10);
    try {
      _exit(refused() ? 0 : 1);
    } catch (const std::exception&) {
      _exit(2);
    }
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

}  // namespace

// --- closing ---

CASE("close.with_everything_open") {
  ibv_context* context = open_device().release();
  ibv_pd* pd = ibv_alloc_pd(context);
  ibv_comp_channel* channel = ibv_create_comp_channel(context);
  CHECK(pd != nullptr && channel != nullptr);
  ibv_cq* cq = ibv_create_cq(context, 16, nullptr, channel, 0);
  std::vector<uint8_t> bytes(4096);
  ibv_mr* mr = ibv_reg_mr(pd, bytes.data(), bytes.size(), kAllAccess);
  CHECK(cq != nullptr && mr != nullptr);
  ibv_qp_init_attr wanted = qp_wanted(cq, cq);
  ibv_qp* qp = ibv_create_qp(pd, &wanted);
  CHECK(qp != nullptr);
  bring_to(qp, IBV_QPS_RTS, qp->qp_num);
  CHECK_OK(post_receive(qp, 1));
  CHECK_OK(ibv_close_device(context));
  // The device goes on for the others.
  Pair pair;
  CHECK_OK(Request(IBV_WR_RDMA_WRITE).piece(pair.a.memory, 0, 8).remote(pair.b.memory, 0).post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
}

CASE("close.ends_the_keys_of_the_context") {
  ibv_context* context = open_device().release();
  ibv_pd* pd = ibv_alloc_pd(context);
  std::vector<uint8_t> bytes(4096);
  ibv_mr* mr = ibv_reg_mr(pd, bytes.data(), bytes.size(), kAllAccess);
  CHECK(mr != nullptr);
  const uint32_t key = mr->rkey;
  CHECK_OK(ibv_close_device(context));
  Pair pair;
  CHECK_OK(Request(IBV_WR_RDMA_WRITE)
               .piece(pair.a.memory, 0, 8)
               .remote(reinterpret_cast<uintptr_t>(bytes.data()), key)
               .post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_REM_ACCESS_ERR);
}

// --- forks ---

CASE("fork.child_is_refused") {
  Pair pair;
  const int status = status_of_child([&] { return ibv_alloc_pd(device()) == nullptr && errno == EPERM; });
  CHECK_EQ(status, 0);
}

CASE("fork.child_cannot_post") {
  Pair pair;
  const int status = status_of_child([&] {
    return Request(IBV_WR_RDMA_WRITE).piece(pair.a.memory, 0, 8).remote(pair.b.memory, 0).post(pair.a.qp) !=
           0;
  });
  CHECK_EQ(status, 0);
  expect_quiet(pair.a.send_cq, 10);
}

CASE("fork.child_makes_no_channel") {
  device();
  const int status = status_of_child([] { return ibv_create_comp_channel(device()) == nullptr; });
  CHECK_EQ(status, 0);
}

CASE("fork.child_asks_no_gids") {
  device();
  // Refused, or read from files; but never answered into the parent's memory, and never a hang.
  const int status = status_of_child([] {
    ibv_gid gid;
    ibv_query_gid(device(), 1, 0, &gid);
    return true;
  });
  CHECK_EQ(status, 0);
}

CASE("fork.child_of_a_dead_parent") {
  CHECK_EQ(orphan_outcome(), 1);
}

CASE("fork.parent_goes_on") {
  Pair pair;
  for (int i = 0; i < 5; ++i) {
    CHECK_EQ(status_of_child([] { return true; }), 0);
    CHECK_OK(
        Request(IBV_WR_RDMA_WRITE).piece(pair.a.memory, 0, 4096).remote(pair.b.memory, 0).post(pair.a.qp));
    await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
  }
}

CASE("fork.and_exec") {
  Pair pair;
  CHECK_EQ(std::system("true"), 0);
  CHECK_OK(Request(IBV_WR_RDMA_WRITE).piece(pair.a.memory, 0, 4096).remote(pair.b.memory, 0).post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
}

// --- another process ---

CASE("process.write") {
  Local local;
  CHECK_OK(Request(IBV_WR_RDMA_WRITE)
               .piece(local.side.memory, 0, 60000)
               .remote(local.hello.address, local.hello.rkey)
               .post(local.side.qp));
  await(local.side.send_cq, 1, IBV_WC_SUCCESS);
  CHECK_EQ(local.peer.tell(PeerOrder::kSum, 60000), local.own_sum(60000));
}

CASE("process.send_and_receive") {
  Local local;
  CHECK_EQ(local.peer.tell(PeerOrder::kPostReceive, 4096), 0);
  CHECK_OK(Request(IBV_WR_SEND).piece(local.side.memory, 0, 4096).post(local.side.qp));
  await(local.side.send_cq, 1, IBV_WC_SUCCESS);
  CHECK_EQ(local.peer.tell(PeerOrder::kAwaitReceive), 4096);
  CHECK_OK(post_receive(local.side.qp, 9, {local.side.memory.piece(8192, 4096)}));
  CHECK_EQ(local.peer.tell(PeerOrder::kSend, 4096), IBV_WC_SUCCESS);
  CHECK_EQ(await(local.side.receive_cq, 9, IBV_WC_SUCCESS).byte_len, 4096);
  CHECK(local.side.memory.has(kSeedA, 8192, 4096, 0));
}

CASE("process.read_while_it_does_nothing") {
  Local local;
  CHECK_OK(Request(IBV_WR_RDMA_READ)
               .piece(local.side.memory, 0, 60000)
               .remote(local.hello.address, local.hello.rkey)
               .post(local.side.qp));
  await(local.side.send_cq, 1, IBV_WC_SUCCESS);
  CHECK(local.side.memory.all(0, 0, 60000));
}

CASE("process.atomics_while_it_does_nothing") {
  Local local;
  for (uint64_t i = 0; i < 20; ++i) {
    CHECK_OK(Request(IBV_WR_ATOMIC_FETCH_AND_ADD, i)
                 .piece(local.side.memory, 0, 8)
                 .atomic(local.hello.address, local.hello.rkey, 1)
                 .post(local.side.qp));
    await(local.side.send_cq, i, IBV_WC_SUCCESS);
    CHECK_EQ(local.side.memory.word(0), i);
  }
}

CASE("process.killed") {
  Local local(impatient_path());
  local.peer.kill_now();
  CHECK_OK(Request(IBV_WR_RDMA_WRITE)
               .piece(local.side.memory, 0, 8)
               .remote(local.hello.address, local.hello.rkey)
               .post(local.side.qp));
  await(local.side.send_cq, 1, IBV_WC_RETRY_EXC_ERR);
}

CASE("process.killed_under_traffic") {
  Local local(impatient_path());
  for (uint64_t id = 0; id < 16; ++id)
    CHECK_OK(Request(IBV_WR_RDMA_WRITE, id)
                 .piece(local.side.memory, 0, 60000)
                 .remote(local.hello.address, local.hello.rkey)
                 .post(local.side.qp));
  local.peer.kill_now();
  // Successes first, then one failure, then flushes.
  bool failed = false;
  for (uint64_t id = 0; id < 16; ++id) {
    const ibv_wc completion = await(local.side.send_cq);
    CHECK_EQ(completion.wr_id, id);
    if (failed) {
      CHECK_EQ(completion.status, IBV_WC_WR_FLUSH_ERR);
    } else if (completion.status != IBV_WC_SUCCESS) {
      CHECK_EQ(completion.status, IBV_WC_RETRY_EXC_ERR);
      failed = true;
    }
  }
}

CASE("process.leaves_without_closing") {
  Local local(impatient_path());
  try {
    local.peer.tell(PeerOrder::kLeave);
  } catch (const Failure&) {
  }
  CHECK_OK(Request(IBV_WR_RDMA_WRITE)
               .piece(local.side.memory, 0, 8)
               .remote(local.hello.address, local.hello.rkey)
               .post(local.side.qp));
  await(local.side.send_cq, 1, IBV_WC_RETRY_EXC_ERR);
}

CASE("process.closes_in_order") {
  Local local(impatient_path());
  CHECK_EQ(local.peer.tell(PeerOrder::kClose), 0);
}

CASE("process.a_second_one_after_the_first") {
  for (int i = 0; i < 3; ++i) {
    Local local;
    CHECK_OK(Request(IBV_WR_RDMA_WRITE)
                 .piece(local.side.memory, 0, 100)
                 .remote(local.hello.address, local.hello.rkey)
                 .post(local.side.qp));
    await(local.side.send_cq, 1, IBV_WC_SUCCESS);
  }
}

CASE("process.two_at_once") {
  Local one;
  Local two;
  CHECK(one.hello.qpn != two.hello.qpn);
  for (Local* local : {&one, &two})
    CHECK_OK(Request(IBV_WR_RDMA_WRITE)
                 .piece(local->side.memory, 0, 60000)
                 .remote(local->hello.address, local->hello.rkey)
                 .post(local->side.qp));
  for (Local* local : {&one, &two}) {
    await(local->side.send_cq, 1, IBV_WC_SUCCESS);
    CHECK_EQ(local->peer.tell(PeerOrder::kSum, 60000), local->own_sum(60000));
  }
}

}  // namespace conformance
