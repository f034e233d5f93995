// SPDX-License-Identifier: BSD-2-Clause
// Work that succeeds: every operation of connected queue pairs, and what completions say about it.
#include <endian.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "objects.h"

namespace conformance {
namespace {

PairOptions large(size_t bytes) {
  PairOptions options;
  options.bytes = bytes;
  return options;
}

// One operation of a size, checked byte by byte.
void send_bytes(uint32_t bytes, ibv_qp_type type = IBV_QPT_RC) {
  PairOptions options = large(std::max<size_t>(bytes, 4096));
  options.type = type;
  Pair pair(options);
  CHECK_OK(post_receive(pair.b.qp, 2, {pair.b.memory.piece(0, bytes)}));
  CHECK_OK(Request(IBV_WR_SEND, 1).piece(pair.a.memory, 0, bytes).post(pair.a.qp));
  CHECK_EQ(await(pair.a.send_cq, 1, IBV_WC_SUCCESS).opcode, IBV_WC_SEND);
  const ibv_wc completion = await(pair.b.receive_cq, 2, IBV_WC_SUCCESS);
  CHECK_EQ(completion.opcode, IBV_WC_RECV);
  CHECK_EQ(completion.byte_len, bytes);
  CHECK_EQ(completion.qp_num, pair.b.qp->qp_num);
  CHECK_EQ(completion.wc_flags & (IBV_WC_WITH_IMM | IBV_WC_GRH), 0);
  CHECK(pair.b.memory.has(kSeedA, 0, bytes, 0));
}

void write_bytes(uint32_t bytes, ibv_qp_type type = IBV_QPT_RC) {
  PairOptions options = large(std::max<size_t>(bytes, 4096));
  options.type = type;
  Pair pair(options);
  CHECK_OK(
      Request(IBV_WR_RDMA_WRITE, 1).piece(pair.a.memory, 0, bytes).remote(pair.b.memory, 0).post(pair.a.qp));
  CHECK_EQ(await(pair.a.send_cq, 1, IBV_WC_SUCCESS).opcode, IBV_WC_RDMA_WRITE);
  if (type == IBV_QPT_RC) CHECK(pair.b.memory.has(kSeedA, 0, bytes, 0));
  expect_quiet(pair.b.receive_cq, 5);
}

void read_bytes(uint32_t bytes) {
  Pair pair(large(std::max<size_t>(bytes, 4096)));
  CHECK_OK(
      Request(IBV_WR_RDMA_READ, 1).piece(pair.a.memory, 0, bytes).remote(pair.b.memory, 0).post(pair.a.qp));
  const ibv_wc completion = await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
  CHECK_EQ(completion.opcode, IBV_WC_RDMA_READ);
  CHECK_EQ(completion.byte_len, bytes);
  CHECK(pair.a.memory.has(kSeedB, 0, bytes, 0));
}

const bool kSizesRegistered = [] {
  for (const uint32_t bytes : {0u, 1u, 1023u, 1024u, 1025u, 65537u, 4u << 20}) {
    Registration("send.bytes_" + std::to_string(bytes), [bytes] { send_bytes(bytes); });
    Registration("write.bytes_" + std::to_string(bytes), [bytes] { write_bytes(bytes); });
    Registration("read.bytes_" + std::to_string(bytes), [bytes] { read_bytes(bytes); });
  }
  return true;
}();

}  // namespace

// --- SEND ---

CASE("send.with_immediate") {
  Pair pair;
  CHECK_OK(post_receive(pair.b.qp, 2, {pair.b.memory.piece(0, 64)}));
  CHECK_OK(
      Request(IBV_WR_SEND_WITH_IMM, 1).piece(pair.a.memory, 0, 64).immediate(0xCAFEBABE).post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
  const ibv_wc completion = await(pair.b.receive_cq, 2, IBV_WC_SUCCESS);
  CHECK_EQ(completion.opcode, IBV_WC_RECV);
  CHECK(completion.wc_flags & IBV_WC_WITH_IMM);
  CHECK_EQ(be32toh(completion.imm_data), 0xCAFEBABE);
}

CASE("send.shorter_than_the_receive") {
  Pair pair;
  CHECK_OK(post_receive(pair.b.qp, 2, {pair.b.memory.piece(0, 4096)}));
  CHECK_OK(Request(IBV_WR_SEND, 1).piece(pair.a.memory, 0, 10).post(pair.a.qp));
  CHECK_EQ(await(pair.b.receive_cq, 2, IBV_WC_SUCCESS).byte_len, 10);
  CHECK(pair.b.memory.has(kSeedB, 10, 4086, 10));  // the rest is untouched
}

CASE("send.gathered_and_scattered") {
  Pair pair;
  const Memory& a = pair.a.memory;
  const Memory& b = pair.b.memory;
  CHECK_OK(
      post_receive(pair.b.qp, 2, {b.piece(0, 1), b.piece(100, 1000), b.piece(5000, 3), b.piece(8192, 5000)}));
  CHECK_OK(Request(IBV_WR_SEND, 1)
               .piece(a, 0, 999)
               .piece(a, 2000, 1)
               .piece(a, 3000, 2500)
               .piece(a, 40000, 1)
               .post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
  CHECK_EQ(await(pair.b.receive_cq, 2, IBV_WC_SUCCESS).byte_len, 3501);
  std::vector<uint8_t> sent, received;
  const auto take = [](std::vector<uint8_t>* to, const Memory& from, size_t offset, size_t bytes) {
    to->insert(to->end(), from.data() + offset, from.data() + offset + bytes);
  };
  take(&sent, a, 0, 999), take(&sent, a, 2000, 1), take(&sent, a, 3000, 2500), take(&sent, a, 40000, 1);
  take(&received, b, 0, 1), take(&received, b, 100, 1000), take(&received, b, 5000, 3),
      take(&received, b, 8192, 2497);
  CHECK(sent == received);
}

CASE("send.pieces_of_no_bytes") {
  Pair pair;
  CHECK_OK(post_receive(pair.b.qp, 2,
                        {pair.b.memory.piece(0, 0), pair.b.memory.piece(0, 64), pair.b.memory.piece(64, 0)}));
  CHECK_OK(Request(IBV_WR_SEND, 1)
               .piece(pair.a.memory, 0, 0)
               .piece(pair.a.memory, 0, 64)
               .piece(pair.a.memory, 9, 0)
               .post(pair.a.qp));
  CHECK_EQ(await(pair.b.receive_cq, 2, IBV_WC_SUCCESS).byte_len, 64);
  CHECK(pair.b.memory.has(kSeedA, 0, 64, 0));
}

CASE("send.without_pieces") {
  Pair pair;
  CHECK_OK(post_receive(pair.b.qp, 2));
  CHECK_OK(Request(IBV_WR_SEND, 1).post(pair.a.qp));
  CHECK_EQ(await(pair.b.receive_cq, 2, IBV_WC_SUCCESS).byte_len, 0);
}

CASE("send.received_in_order") {
  Pair pair;
  for (uint64_t id = 0; id < 16; ++id)
    CHECK_OK(post_receive(pair.b.qp, 100 + id, {pair.b.memory.piece(id * 128, 128)}));
  for (uint64_t id = 0; id < 16; ++id)
    CHECK_OK(Request(IBV_WR_SEND, id).piece(pair.a.memory, id, 1 + id).post(pair.a.qp));
  for (uint64_t id = 0; id < 16; ++id) {
    await(pair.a.send_cq, id, IBV_WC_SUCCESS);
    CHECK_EQ(await(pair.b.receive_cq, 100 + id, IBV_WC_SUCCESS).byte_len, 1 + id);
    CHECK(pair.b.memory.has(kSeedA, id * 128, 1 + id, id));
  }
}

CASE("send.both_ways_at_once") {
  Pair pair;
  Side* sides[] = {&pair.a, &pair.b};
  for (Side* side : sides)
    for (uint64_t id = 0; id < 8; ++id)
      CHECK_OK(post_receive(side->qp, id, {side->memory.piece(32768 + id * 2048, 2048)}));
  for (uint64_t id = 0; id < 8; ++id)
    for (Side* side : sides)
      CHECK_OK(Request(IBV_WR_SEND, id).piece(side->memory, id * 2048, 2048).post(side->qp));
  for (uint64_t id = 0; id < 8; ++id)
    for (Side* side : sides) {
      await(side->send_cq, id, IBV_WC_SUCCESS);
      await(side->receive_cq, id, IBV_WC_SUCCESS);
    }
  CHECK(pair.b.memory.has(kSeedA, 32768, 16384, 0));
  CHECK(pair.a.memory.has(kSeedB, 32768, 16384, 0));
}

CASE("send.to_itself") {
  Owned<ibv_pd> pd = make_pd();
  Owned<ibv_cq> cq = make_cq();
  Memory memory(pd, 4096);
  memory.fill(kSeedA, 0, 100);
  Owned<ibv_qp> qp = make_qp(pd, qp_wanted(cq, cq));
  bring_to(qp, IBV_QPS_RTS, qp->qp_num);
  CHECK_OK(Request(IBV_WR_RDMA_WRITE, 1).piece(memory, 0, 100).remote(memory, 1000).post(qp));
  await(cq, 1, IBV_WC_SUCCESS);
  CHECK(memory.has(kSeedA, 1000, 100, 0));
}

CASE("send.a_list_of_requests") {
  Pair pair;
  std::vector<Request> requests;
  for (uint64_t id = 0; id < 5; ++id) {
    CHECK_OK(post_receive(pair.b.qp, id, {pair.b.memory.piece(id * 64, 64)}));
    requests.emplace_back(IBV_WR_SEND, id).piece(pair.a.memory, 0, 8);
  }
  for (size_t i = 0; i < 5; ++i) requests[i].raw().next = i < 4 ? &requests[i + 1].raw() : nullptr;
  CHECK_OK(requests[0].post(pair.a.qp));
  for (uint64_t id = 0; id < 5; ++id) await(pair.b.receive_cq, id, IBV_WC_SUCCESS);
}

// --- completions of requests ---

CASE("signal.silent_requests_do_not_complete") {
  Pair pair;
  for (uint64_t id = 0; id < 3; ++id)
    CHECK_OK(Request(IBV_WR_RDMA_WRITE, id)
                 .silent()
                 .piece(pair.a.memory, 0, 8)
                 .remote(pair.b.memory, 0)
                 .post(pair.a.qp));
  CHECK_OK(Request(IBV_WR_RDMA_WRITE, 9).piece(pair.a.memory, 0, 8).remote(pair.b.memory, 0).post(pair.a.qp));
  await(pair.a.send_cq, 9, IBV_WC_SUCCESS);
  expect_quiet(pair.a.send_cq, 10);
}

CASE("signal.all_when_the_queue_pair_says_so") {
  Pair pair({.signal_all = true});
  for (uint64_t id = 0; id < 3; ++id)
    CHECK_OK(Request(IBV_WR_RDMA_WRITE, id)
                 .silent()
                 .piece(pair.a.memory, 0, 8)
                 .remote(pair.b.memory, 0)
                 .post(pair.a.qp));
  for (uint64_t id = 0; id < 3; ++id) await(pair.a.send_cq, id, IBV_WC_SUCCESS);
}

CASE("signal.room_comes_back_with_the_next_signalled") {
  Pair pair;
  for (int round = 0; round < 20; ++round) {
    for (uint64_t id = 0; id < 15; ++id)
      CHECK_OK(Request(IBV_WR_RDMA_WRITE, id)
                   .silent()
                   .piece(pair.a.memory, 0, 8)
                   .remote(pair.b.memory, 0)
                   .post(pair.a.qp));
    CHECK_OK(
        Request(IBV_WR_RDMA_WRITE, 99).piece(pair.a.memory, 0, 8).remote(pair.b.memory, 0).post(pair.a.qp));
    await(pair.a.send_cq, 99, IBV_WC_SUCCESS);
  }
}

// --- WRITE ---

CASE("write.with_immediate") {
  Pair pair;
  CHECK_OK(post_receive(pair.b.qp, 2));
  CHECK_OK(Request(IBV_WR_RDMA_WRITE_WITH_IMM, 1)
               .piece(pair.a.memory, 0, 5000)
               .remote(pair.b.memory, 11)
               .immediate(7)
               .post(pair.a.qp));
  CHECK_EQ(await(pair.a.send_cq, 1, IBV_WC_SUCCESS).opcode, IBV_WC_RDMA_WRITE);
  const ibv_wc completion = await(pair.b.receive_cq, 2, IBV_WC_SUCCESS);
  CHECK_EQ(completion.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
  CHECK(completion.wc_flags & IBV_WC_WITH_IMM);
  CHECK_EQ(be32toh(completion.imm_data), 7);
  CHECK_EQ(completion.byte_len, 5000);
  CHECK(pair.b.memory.has(kSeedA, 11, 5000, 0));
}

CASE("write.with_immediate_of_no_bytes") {
  Pair pair;
  CHECK_OK(post_receive(pair.b.qp, 2));
  CHECK_OK(Request(IBV_WR_RDMA_WRITE_WITH_IMM, 1).immediate(7).post(pair.a.qp));
  CHECK_EQ(await(pair.b.receive_cq, 2, IBV_WC_SUCCESS).byte_len, 0);
}

CASE("write.with_immediate_leaves_the_receive_untouched") {
  Pair pair;
  CHECK_OK(post_receive(pair.b.qp, 2, {pair.b.memory.piece(4096, 64)}));
  CHECK_OK(Request(IBV_WR_RDMA_WRITE_WITH_IMM, 1)
               .piece(pair.a.memory, 0, 64)
               .remote(pair.b.memory, 0)
               .post(pair.a.qp));
  await(pair.b.receive_cq, 2, IBV_WC_SUCCESS);
  CHECK(pair.b.memory.has(kSeedB, 4096, 64, 4096));
}

CASE("write.of_no_bytes_needs_no_key") {
  Pair pair;
  CHECK_OK(Request(IBV_WR_RDMA_WRITE, 1).remote(0, 0).post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
}

CASE("write.gathered") {
  Pair pair;
  CHECK_OK(Request(IBV_WR_RDMA_WRITE, 1)
               .piece(pair.a.memory, 5, 1001)
               .piece(pair.a.memory, 9000, 4097)
               .piece(pair.a.memory, 20000, 1)
               .remote(pair.b.memory, 3)
               .post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
  CHECK(pair.b.memory.has(kSeedA, 3, 1001, 5));
  CHECK(pair.b.memory.has(kSeedA, 1004, 4097, 9000));
  CHECK(pair.b.memory.has(kSeedA, 5101, 1, 20000));
  CHECK(pair.b.memory.has(kSeedB, 5102, 100, 5102));
}

CASE("write.the_last_bytes_of_the_region") {
  Pair pair;
  CHECK_OK(Request(IBV_WR_RDMA_WRITE, 1)
               .piece(pair.a.memory, 0, 5000)
               .remote(pair.b.memory, pair.b.memory.size() - 5000)
               .post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
  CHECK(pair.b.memory.has(kSeedA, pair.b.memory.size() - 5000, 5000, 0));
}

CASE("write.from_memory_without_any_rights") {
  Pair pair;
  Memory source(pair.pd, 4096, 0);
  source.data()[0] = 0x5A;
  CHECK_OK(Request(IBV_WR_RDMA_WRITE, 1).piece(source, 0, 1).remote(pair.b.memory, 0).post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
  CHECK_EQ(pair.b.memory.data()[0], 0x5A);
}

// --- READ ---

CASE("read.scattered") {
  Pair pair;
  CHECK_OK(Request(IBV_WR_RDMA_READ, 1)
               .piece(pair.a.memory, 7, 1001)
               .piece(pair.a.memory, 9000, 5000)
               .remote(pair.b.memory, 3)
               .post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
  CHECK(pair.a.memory.has(kSeedB, 7, 1001, 3));
  CHECK(pair.a.memory.has(kSeedB, 9000, 5000, 1004));
}

CASE("read.more_than_may_be_under_way") {
  Path path;
  path.max_rd_atomic = path.max_dest_rd_atomic = 1;
  Pair pair({.path = path});
  for (uint64_t id = 0; id < 8; ++id)
    CHECK_OK(Request(IBV_WR_RDMA_READ, id)
                 .piece(pair.a.memory, id * 4096, 4096)
                 .remote(pair.b.memory, id * 4096)
                 .post(pair.a.qp));
  for (uint64_t id = 0; id < 8; ++id) await(pair.a.send_cq, id, IBV_WC_SUCCESS);
  CHECK(pair.a.memory.has(kSeedB, 0, 8 * 4096, 0));
}

CASE("read.sees_the_writes_before_it") {
  Pair pair;
  for (uint64_t round = 0; round < 20; ++round) {
    pair.a.memory.word(0) = round * 0x0101010101010101;
    CHECK_OK(Request(IBV_WR_RDMA_WRITE, 1)
                 .silent()
                 .piece(pair.a.memory, 0, 8)
                 .remote(pair.b.memory, 0)
                 .post(pair.a.qp));
    CHECK_OK(
        Request(IBV_WR_RDMA_READ, 2).piece(pair.a.memory, 64, 8).remote(pair.b.memory, 0).post(pair.a.qp));
    await(pair.a.send_cq, 2, IBV_WC_SUCCESS);
    CHECK_EQ(pair.a.memory.word(64), round * 0x0101010101010101);
  }
}

CASE("read.fence_before_a_send_of_what_is_read") {
  Pair pair;
  for (uint64_t round = 0; round < 10; ++round) {
    pair.b.memory.word(0) = round;
    CHECK_OK(post_receive(pair.b.qp, 5, {pair.b.memory.piece(512, 64)}));
    CHECK_OK(Request(IBV_WR_RDMA_READ, 1)
                 .silent()
                 .piece(pair.a.memory, 0, 8)
                 .remote(pair.b.memory, 0)
                 .post(pair.a.qp));
    CHECK_OK(Request(IBV_WR_SEND, 2).piece(pair.a.memory, 0, 8).flags(IBV_SEND_FENCE).post(pair.a.qp));
    await(pair.a.send_cq, 2, IBV_WC_SUCCESS);
    await(pair.b.receive_cq, 5, IBV_WC_SUCCESS);
    CHECK_EQ(pair.b.memory.word(512), round);
  }
}

// --- atomics ---

CASE("atomic.fetch_and_add") {
  Pair pair;
  pair.b.memory.word(8) = 1000;
  CHECK_OK(Request(IBV_WR_ATOMIC_FETCH_AND_ADD, 1)
               .piece(pair.a.memory, 0, 8)
               .atomic(pair.b.memory.address(8), pair.b.memory.mr->rkey, 234)
               .post(pair.a.qp));
  const ibv_wc completion = await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
  CHECK_EQ(completion.opcode, IBV_WC_FETCH_ADD);
  CHECK_EQ(completion.byte_len, 8);
  CHECK_EQ(pair.a.memory.word(0), 1000);
  CHECK_EQ(pair.b.memory.word(8), 1234);
}

CASE("atomic.fetch_and_add_wraps") {
  Pair pair;
  pair.b.memory.word(8) = UINT64_MAX;
  CHECK_OK(Request(IBV_WR_ATOMIC_FETCH_AND_ADD, 1)
               .piece(pair.a.memory, 0, 8)
               .atomic(pair.b.memory.address(8), pair.b.memory.mr->rkey, 3)
               .post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
  CHECK_EQ(pair.b.memory.word(8), 2);
}

CASE("atomic.compare_and_swap_that_matches") {
  Pair pair;
  pair.b.memory.word(8) = 42;
  CHECK_OK(Request(IBV_WR_ATOMIC_CMP_AND_SWP, 1)
               .piece(pair.a.memory, 0, 8)
               .atomic(pair.b.memory.address(8), pair.b.memory.mr->rkey, 42, 77)
               .post(pair.a.qp));
  CHECK_EQ(await(pair.a.send_cq, 1, IBV_WC_SUCCESS).opcode, IBV_WC_COMP_SWAP);
  CHECK_EQ(pair.a.memory.word(0), 42);
  CHECK_EQ(pair.b.memory.word(8), 77);
}

CASE("atomic.compare_and_swap_that_does_not") {
  Pair pair;
  pair.b.memory.word(8) = 43;
  CHECK_OK(Request(IBV_WR_ATOMIC_CMP_AND_SWP, 1)
               .piece(pair.a.memory, 0, 8)
               .atomic(pair.b.memory.address(8), pair.b.memory.mr->rkey, 42, 77)
               .post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
  CHECK_EQ(pair.a.memory.word(0), 43);
  CHECK_EQ(pair.b.memory.word(8), 43);
}

CASE("atomic.each_is_done_once") {
  Pair pair;
  pair.b.memory.word(8) = 0;
  for (int round = 0; round < 50; ++round) {
    for (uint64_t id = 0; id < 8; ++id)
      CHECK_OK(Request(IBV_WR_ATOMIC_FETCH_AND_ADD, id)
                   .piece(pair.a.memory, id * 8, 8)
                   .atomic(pair.b.memory.address(8), pair.b.memory.mr->rkey, 1)
                   .post(pair.a.qp));
    for (uint64_t id = 0; id < 8; ++id) {
      await(pair.a.send_cq, id, IBV_WC_SUCCESS);
      CHECK_EQ(pair.a.memory.word(id * 8), static_cast<uint64_t>(round) * 8 + id);
    }
  }
  CHECK_EQ(pair.b.memory.word(8), 400);
}

// --- inline ---

CASE("inline.buffer_is_free_at_once") {
  Pair pair;
  uint64_t words[4] = {1, 2, 3, 4};
  CHECK_OK(Request(IBV_WR_RDMA_WRITE, 1)
               .piece({reinterpret_cast<uintptr_t>(words), sizeof words, 0})  // no key is needed
               .flags(IBV_SEND_INLINE)
               .remote(pair.b.memory, 0)
               .post(pair.a.qp));
  std::memset(words, 0xFF, sizeof words);
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
  CHECK_EQ(pair.b.memory.word(0), 1);
  CHECK_EQ(pair.b.memory.word(24), 4);
}

CASE("inline.the_most") {
  Pair pair;
  CHECK_OK(post_receive(pair.b.qp, 2, {pair.b.memory.piece(0, 64)}));
  CHECK_OK(Request(IBV_WR_SEND, 1).piece(pair.a.memory, 0, 64).flags(IBV_SEND_INLINE).post(pair.a.qp));
  CHECK_EQ(await(pair.b.receive_cq, 2, IBV_WC_SUCCESS).byte_len, 64);
  CHECK(pair.b.memory.has(kSeedA, 0, 64, 0));
}

CASE("inline.from_pieces") {
  Pair pair;
  CHECK_OK(post_receive(pair.b.qp, 2, {pair.b.memory.piece(0, 64)}));
  CHECK_OK(Request(IBV_WR_SEND, 1)
               .piece(pair.a.memory, 10, 3)
               .piece(pair.a.memory, 50, 7)
               .flags(IBV_SEND_INLINE)
               .post(pair.a.qp));
  CHECK_EQ(await(pair.b.receive_cq, 2, IBV_WC_SUCCESS).byte_len, 10);
  CHECK(pair.b.memory.has(kSeedA, 0, 3, 10));
  CHECK(pair.b.memory.has(kSeedA, 3, 7, 50));
}

CASE("inline.of_no_bytes") {
  Pair pair;
  CHECK_OK(Request(IBV_WR_RDMA_WRITE, 1).flags(IBV_SEND_INLINE).remote(pair.b.memory, 0).post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
}

CASE("inline.too_much") {
  Pair pair;
  ibv_qp_attr attributes;
  ibv_qp_init_attr init;
  CHECK_OK(ibv_query_qp(pair.a.qp, &attributes, IBV_QP_CAP, &init));
  CHECK_ERROR(Request(IBV_WR_SEND, 1)
                  .piece(pair.a.memory, 0, init.cap.max_inline_data + 1)
                  .flags(IBV_SEND_INLINE)
                  .post(pair.a.qp),
              EINVAL, ENOMEM);
}

// --- unreliable connections ---

CASE("uc.send") {
  send_bytes(3000, IBV_QPT_UC);
}

CASE("uc.send_large") {
  send_bytes(1 << 20, IBV_QPT_UC);
}

CASE("uc.write") {
  write_bytes(3000, IBV_QPT_UC);
}

CASE("uc.write_with_immediate") {
  Pair pair({.type = IBV_QPT_UC});
  CHECK_OK(post_receive(pair.b.qp, 2));
  CHECK_OK(Request(IBV_WR_RDMA_WRITE_WITH_IMM, 1)
               .piece(pair.a.memory, 0, 5000)
               .remote(pair.b.memory, 0)
               .immediate(7)
               .post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
  CHECK_EQ(await(pair.b.receive_cq, 2, IBV_WC_SUCCESS).byte_len, 5000);
  CHECK(pair.b.memory.has(kSeedA, 0, 5000, 0));
}

CASE("uc.send_with_immediate") {
  Pair pair({.type = IBV_QPT_UC});
  CHECK_OK(post_receive(pair.b.qp, 2, {pair.b.memory.piece(0, 64)}));
  CHECK_OK(Request(IBV_WR_SEND_WITH_IMM, 1).piece(pair.a.memory, 0, 64).immediate(9).post(pair.a.qp));
  CHECK_EQ(be32toh(await(pair.b.receive_cq, 2, IBV_WC_SUCCESS).imm_data), 9);
}

CASE("uc.has_no_reads") {
  Pair pair({.type = IBV_QPT_UC});
  CHECK_ERROR(
      Request(IBV_WR_RDMA_READ, 1).piece(pair.a.memory, 0, 8).remote(pair.b.memory, 0).post(pair.a.qp),
      EINVAL, EOPNOTSUPP);
}

CASE("uc.has_no_atomics") {
  Pair pair({.type = IBV_QPT_UC});
  CHECK_ERROR(Request(IBV_WR_ATOMIC_FETCH_AND_ADD, 1)
                  .piece(pair.a.memory, 0, 8)
                  .atomic(pair.b.memory.address(), pair.b.memory.mr->rkey, 1)
                  .post(pair.a.qp),
              EINVAL, EOPNOTSUPP);
}

}  // namespace conformance
