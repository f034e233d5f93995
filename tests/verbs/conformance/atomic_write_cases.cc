// SPDX-License-Identifier: BSD-2-Clause
// ATOMIC WRITE: eight bytes that are never seen half written, behind everything before them.
#include <atomic>
#include <cstring>
#include <thread>

#include "objects.h"

namespace conformance {
namespace {

// A pair whose sender also has the ibv_wr_*() calls for it.
struct AtomicPair {
  Pair pair;
  Owned<ibv_qp> qp;
  ibv_qp_ex* calls = nullptr;
  Owned<ibv_qp> peer;

  AtomicPair() {
    ibv_qp_init_attr_ex wanted{};
    wanted.send_cq = pair.a.send_cq;
    wanted.recv_cq = pair.a.receive_cq;
    wanted.qp_type = IBV_QPT_RC;
    wanted.cap = {16, 16, 2, 2, 64};
    wanted.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    wanted.pd = pair.pd;
    wanted.send_ops_flags = IBV_QP_EX_WITH_ATOMIC_WRITE | IBV_QP_EX_WITH_RDMA_WRITE;
    qp = own(ibv_create_qp_ex(device(), &wanted), "ibv_create_qp_ex");
    calls = ibv_qp_to_qp_ex(qp);
    peer = make_qp(pair.pd, qp_wanted(pair.b.send_cq, pair.b.receive_cq));
    bring_to(qp, IBV_QPS_RTS, peer->qp_num);
    bring_to(peer, IBV_QPS_RTS, qp->qp_num);
  }
  void write(uint64_t id, uint64_t value, uint64_t address, uint32_t key) {
    ibv_wr_start(calls);
    calls->wr_id = id;
    calls->wr_flags = IBV_SEND_SIGNALED;
    ibv_wr_atomic_write(calls, key, address, &value);
    CHECK_OK(ibv_wr_complete(calls));
  }
};

constexpr uint64_t kValue = 0x1122334455667788;

int post_atomic_write(Pair& pair, uint64_t address, uint32_t key, uint32_t bytes = 8, unsigned flags = 0) {
  return Request(IBV_WR_ATOMIC_WRITE, 1)
      .piece(pair.a.memory, 0, bytes)
      .remote(address, key)
      .flags(flags)
      .post(pair.a.qp);
}

void expect_failure(int region_access, unsigned qp_access, size_t offset, ibv_wc_status status) {
  PairOptions options{.region_access = region_access};
  options.path.access = qp_access;
  Pair pair(options);
  pair.b.memory.word(0) = 0;
  CHECK_OK(post_atomic_write(pair, pair.b.memory.address(offset), pair.b.memory.mr->rkey));
  await(pair.a.send_cq, 1, status);
  CHECK_EQ(pair.b.memory.word(0), 0);
}

}  // namespace

CASE("atomic_write.by_call") {
  need_operation(IBV_WR_ATOMIC_WRITE);
  AtomicPair all;
  all.write(7, kValue, all.pair.b.memory.address(16), all.pair.b.memory.mr->rkey);
  const ibv_wc done = await(all.pair.a.send_cq, 7, IBV_WC_SUCCESS);
  CHECK_EQ(done.opcode, IBV_WC_ATOMIC_WRITE);
  CHECK_EQ(all.pair.b.memory.word(16), kValue);
}

CASE("atomic_write.posted") {
  Pair pair;
  pair.a.memory.word(0) = kValue;
  CHECK_OK(post_atomic_write(pair, pair.b.memory.address(8), pair.b.memory.mr->rkey));
  CHECK_EQ(await(pair.a.send_cq, 1, IBV_WC_SUCCESS).opcode, IBV_WC_ATOMIC_WRITE);
  CHECK_EQ(pair.b.memory.word(8), kValue);
  CHECK_EQ(pair.a.memory.word(0), kValue);
}

CASE("atomic_write.inline") {
  Pair pair;
  pair.a.memory.word(0) = kValue;
  CHECK_OK(post_atomic_write(pair, pair.b.memory.address(), pair.b.memory.mr->rkey, 8, IBV_SEND_INLINE));
  pair.a.memory.word(0) = 0;
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
  CHECK_EQ(pair.b.memory.word(0), kValue);
}

CASE("atomic_write.comes_behind_a_write") {
  Pair pair;
  for (uint64_t round = 1; round <= 200; ++round) {
    std::memset(pair.a.memory.data() + 4096, static_cast<int>(round), 40000);
    pair.a.memory.word(0) = round;
    CHECK_OK(Request(IBV_WR_RDMA_WRITE, 1)
                 .piece(pair.a.memory, 4096, 40000)
                 .remote(pair.b.memory, 4096)
                 .silent()
                 .post(pair.a.qp));
    CHECK_OK(post_atomic_write(pair, pair.b.memory.address(), pair.b.memory.mr->rkey));
    std::atomic_ref<uint64_t> flag(pair.b.memory.word(0));
    ibv_wc done;
    int polled = 0;
    while (flag.load() != round) polled += ibv_poll_cq(pair.a.send_cq, 1, &done);
    CHECK(pair.b.memory.all(static_cast<uint8_t>(round), 4096, 40000));
    if (polled == 0) done = await(pair.a.send_cq);
    CHECK_EQ(done.status, IBV_WC_SUCCESS);
  }
}

CASE("atomic_write.many") {
  need_operation(IBV_WR_ATOMIC_WRITE);
  AtomicPair all;
  for (uint64_t i = 0; i < 1000; ++i) {
    all.write(i, i, all.pair.b.memory.address(8 * (i % 100)), all.pair.b.memory.mr->rkey);
    await(all.pair.a.send_cq, i, IBV_WC_SUCCESS);
  }
  for (uint64_t i = 0; i < 100; ++i) CHECK_EQ(all.pair.b.memory.word(8 * i), 900 + i);
}

CASE("atomic_write.more_at_once_than_the_peer_answers") {
  Pair pair;
  for (int i = 0; i < 16; ++i)
    CHECK_OK(
        post_atomic_write(pair, pair.b.memory.address(static_cast<size_t>(8 * i)), pair.b.memory.mr->rkey));
  for (int i = 0; i < 16; ++i) await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
}

CASE("atomic_write.misaligned") {
  expect_failure(kAllAccess, IBV_ACCESS_REMOTE_WRITE, 4, IBV_WC_REM_INV_REQ_ERR);
}

CASE("atomic_write.needs_no_right_to_other_atomics") {
  PairOptions options{.region_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE};
  options.path.access = IBV_ACCESS_REMOTE_WRITE;
  Pair pair(options);
  CHECK_OK(post_atomic_write(pair, pair.b.memory.address(), pair.b.memory.mr->rkey));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
}

CASE("atomic_write.region_is_not_writable") {
  expect_failure(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
                 IBV_ACCESS_REMOTE_WRITE, 0, IBV_WC_REM_ACCESS_ERR);
}

CASE("atomic_write.queue_pair_takes_none") {
  expect_failure(kAllAccess, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC, 0, IBV_WC_REM_ACCESS_ERR);
}

CASE("atomic_write.from_memory_that_is_not_ours") {
  Pair pair;
  CHECK_OK(Request(IBV_WR_ATOMIC_WRITE, 1)
               .piece({pair.a.memory.address(), 8, 0xBAD})
               .remote(pair.b.memory, 0)
               .post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_LOC_PROT_ERR);
}

CASE("atomic_write.of_something_else_than_eight_bytes") {
  Pair pair;
  for (const uint32_t bytes : {0u, 4u, 16u}) {
    CHECK_ERROR(post_atomic_write(pair, pair.b.memory.address(), pair.b.memory.mr->rkey, bytes), EINVAL);
    CHECK_ERROR(
        post_atomic_write(pair, pair.b.memory.address(), pair.b.memory.mr->rkey, bytes, IBV_SEND_INLINE),
        EINVAL);
  }
}

CASE("atomic_write.not_over_unreliable_connections") {
  Pair pair({.type = IBV_QPT_UC});
  CHECK_ERROR(post_atomic_write(pair, pair.b.memory.address(), pair.b.memory.mr->rkey), EINVAL);
}

}  // namespace conformance
