// SPDX-License-Identifier: BSD-2-Clause
// Work that fails: what posting refuses, what completes with which error, and what happens to the rest.
#include <cstdint>
#include <vector>

#include "objects.h"

namespace conformance {
namespace {

struct ErrorRoom {
  Owned<ibv_pd> pd = make_pd();
  Owned<ibv_cq> cq = make_cq();
  Memory memory{pd, 4096};
  Owned<ibv_qp> in(ibv_qp_state state) {
    Owned<ibv_qp> qp = make_qp(pd, qp_wanted(cq, cq));
    bring_to(qp, state, qp->qp_num);
    return qp;
  }
};

int post_one(ErrorRoom& room, ibv_qp* qp) {
  return Request(IBV_WR_RDMA_WRITE).piece(room.memory, 0, 8).remote(room.memory, 64).post(qp);
}

PairOptions impatient(uint8_t rnr_retry = 7) {
  PairOptions options;
  options.path.timeout = 8;  // 1 ms
  options.path.retry_cnt = 2;
  options.path.rnr_retry = rnr_retry;
  return options;
}

// The error of a request with one bad thing about it; the pair is in error afterwards.
void expect_status(Pair& pair, Request request, ibv_wc_status status) {
  CHECK_OK(request.post(pair.a.qp));
  await(pair.a.send_cq, 1, status);
  CHECK_EQ(queried_state(pair.a.qp), IBV_QPS_ERR);
}

}  // namespace

// --- refused at once ---

CASE("post_send.in_reset") {
  ErrorRoom room;
  Owned<ibv_qp> qp = room.in(IBV_QPS_RESET);
  CHECK_ERROR(post_one(room, qp), EINVAL);
}

CASE("post_send.in_init") {
  ErrorRoom room;
  Owned<ibv_qp> qp = room.in(IBV_QPS_INIT);
  CHECK_ERROR(post_one(room, qp), EINVAL);
}

CASE("post_send.in_rtr") {
  ErrorRoom room;
  Owned<ibv_qp> qp = room.in(IBV_QPS_RTR);
  CHECK_ERROR(post_one(room, qp), EINVAL);
}

CASE("post_send.in_error_is_flushed") {
  ErrorRoom room;
  Owned<ibv_qp> qp = room.in(IBV_QPS_ERR);
  CHECK_OK(post_one(room, qp));
  await(room.cq, 1, IBV_WC_WR_FLUSH_ERR);
}

CASE("post_send.unknown_opcode") {
  Pair pair;
  CHECK_ERROR(Request(static_cast<ibv_wr_opcode>(99)).piece(pair.a.memory, 0, 8).post(pair.a.qp), EINVAL,
              EOPNOTSUPP);
}

CASE("post_send.segmentation_is_not_offered") {
  Pair pair;
  CHECK_ERROR(Request(IBV_WR_TSO).piece(pair.a.memory, 0, 8).post(pair.a.qp), EINVAL, EOPNOTSUPP);
}

CASE("post_send.too_many_segments") {
  Pair pair;
  ibv_qp_attr attributes;
  ibv_qp_init_attr init;
  CHECK_OK(ibv_query_qp(pair.a.qp, &attributes, IBV_QP_CAP, &init));
  Request request(IBV_WR_SEND);
  for (uint32_t i = 0; i <= init.cap.max_send_sge; ++i) request.piece(pair.a.memory, 0, 1);
  CHECK_ERROR(request.post(pair.a.qp), EINVAL);
}

CASE("post_send.negative_segments") {
  Pair pair;
  Request request(IBV_WR_SEND);
  request.raw().num_sge = -1;
  ibv_send_wr* bad = nullptr;
  ibv_send_wr raw = request.raw();
  raw.num_sge = -1;
  CHECK_ERROR(ibv_post_send(pair.a.qp, &raw, &bad), EINVAL);
  CHECK(bad == &raw);
}

CASE("post_send.until_full") {
  Path path;
  path.timeout = 0;  // waits for ever
  Pair pair({.path = path, .until = IBV_QPS_INIT});
  // The other side never gets to RTR: nothing completes.
  CHECK_OK(move(pair.a.qp, IBV_QPS_RTR, pair.b.qp->qp_num, path));
  CHECK_OK(move(pair.a.qp, IBV_QPS_RTS, pair.b.qp->qp_num, path));
  ibv_qp_attr attributes;
  ibv_qp_init_attr init;
  CHECK_OK(ibv_query_qp(pair.a.qp, &attributes, IBV_QP_CAP, &init));
  for (uint64_t id = 0; id < init.cap.max_send_wr; ++id)
    CHECK_OK(
        Request(IBV_WR_RDMA_WRITE, id).piece(pair.a.memory, 0, 8).remote(pair.b.memory, 0).post(pair.a.qp));
  CHECK_ERROR(
      Request(IBV_WR_RDMA_WRITE, 999).piece(pair.a.memory, 0, 8).remote(pair.b.memory, 0).post(pair.a.qp),
      ENOMEM);
}

CASE("post_send.room_again_after_completions") {
  Pair pair;
  for (int round = 0; round < 10; ++round) {
    for (uint64_t id = 0; id < 16; ++id)
      CHECK_OK(
          Request(IBV_WR_RDMA_WRITE, id).piece(pair.a.memory, 0, 8).remote(pair.b.memory, 0).post(pair.a.qp));
    for (uint64_t id = 0; id < 16; ++id) await(pair.a.send_cq, id, IBV_WC_SUCCESS);
  }
}

CASE("post_send.list_stops_at_the_bad_one") {
  Pair pair;
  std::vector<Request> requests;
  for (uint64_t id = 0; id < 4; ++id)
    requests.emplace_back(id == 2 ? static_cast<ibv_wr_opcode>(99) : IBV_WR_RDMA_WRITE, id)
        .piece(pair.a.memory, 0, 8)
        .remote(pair.b.memory, 0);
  for (size_t i = 0; i < 4; ++i) requests[i].raw().next = i < 3 ? &requests[i + 1].raw() : nullptr;
  ibv_send_wr* bad = nullptr;
  CHECK(ibv_post_send(pair.a.qp, &requests[0].raw(), &bad) != 0);
  CHECK(bad == &requests[2].raw());
  await(pair.a.send_cq, 0, IBV_WC_SUCCESS);
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
  expect_quiet(pair.a.send_cq);
}

CASE("post_send.message_too_long") {
  Pair pair;
  ibv_port_attr port;
  CHECK_OK(ibv_query_port(device(), 1, &port));
  Request request(IBV_WR_RDMA_WRITE);
  for (uint64_t bytes = 0; bytes <= port.max_msg_sz; bytes += 0x7FFFFFFF)
    request.piece({pair.a.memory.address(), 0x7FFFFFFF, pair.a.memory.mr->lkey});
  const int posted = request.remote(pair.b.memory, 0).post(pair.a.qp);
  if (posted != 0) return CHECK_ERROR(posted, EINVAL);
  const ibv_wc_status status = await(pair.a.send_cq).status;
  CHECK(status == IBV_WC_LOC_LEN_ERR || status == IBV_WC_LOC_PROT_ERR);
}

CASE("post_recv.in_reset") {
  ErrorRoom room;
  Owned<ibv_qp> qp = room.in(IBV_QPS_RESET);
  CHECK_ERROR(post_receive(qp, 1), EINVAL);
}

CASE("post_recv.in_init") {
  ErrorRoom room;
  Owned<ibv_qp> qp = room.in(IBV_QPS_INIT);
  CHECK_OK(post_receive(qp, 1));
}

CASE("post_recv.in_error_is_flushed") {
  ErrorRoom room;
  Owned<ibv_qp> qp = room.in(IBV_QPS_ERR);
  CHECK_OK(post_receive(qp, 1));
  await(room.cq, 1, IBV_WC_WR_FLUSH_ERR);
}

CASE("post_recv.too_many_segments") {
  ErrorRoom room;
  Owned<ibv_qp> qp = room.in(IBV_QPS_INIT);
  CHECK_ERROR(post_receive(qp, 1, std::vector<ibv_sge>(device_attributes().max_sge + 1)), EINVAL);
}

CASE("post_recv.until_full") {
  ErrorRoom room;
  Owned<ibv_qp> qp = room.in(IBV_QPS_INIT);
  ibv_qp_attr attributes;
  ibv_qp_init_attr init;
  CHECK_OK(ibv_query_qp(qp, &attributes, IBV_QP_CAP, &init));
  for (uint64_t id = 0; id < init.cap.max_recv_wr; ++id) CHECK_OK(post_receive(qp, id));
  CHECK_ERROR(post_receive(qp, 999), ENOMEM);
}

// --- local errors ---

CASE("local.unknown_key") {
  Pair pair;
  expect_status(
      pair, Request(IBV_WR_RDMA_WRITE).piece({pair.a.memory.address(), 8, 0xBAD00}).remote(pair.b.memory, 0),
      IBV_WC_LOC_PROT_ERR);
}

CASE("local.before_the_region") {
  Pair pair;
  expect_status(pair,
                Request(IBV_WR_RDMA_WRITE)
                    .piece({pair.a.memory.address() - 1, 8, pair.a.memory.mr->lkey})
                    .remote(pair.b.memory, 0),
                IBV_WC_LOC_PROT_ERR);
}

CASE("local.beyond_the_region") {
  Pair pair;
  expect_status(
      pair,
      Request(IBV_WR_RDMA_WRITE).piece(pair.a.memory, pair.a.memory.size() - 7, 8).remote(pair.b.memory, 0),
      IBV_WC_LOC_PROT_ERR);
}

CASE("local.region_of_another_domain") {
  Pair pair;
  Owned<ibv_pd> other = make_pd();
  Memory elsewhere(other, 4096);
  expect_status(pair, Request(IBV_WR_RDMA_WRITE).piece(elsewhere, 0, 8).remote(pair.b.memory, 0),
                IBV_WC_LOC_PROT_ERR);
}

CASE("local.second_segment_is_bad") {
  Pair pair;
  expect_status(pair,
                Request(IBV_WR_RDMA_WRITE)
                    .piece(pair.a.memory, 0, 5000)
                    .piece({pair.a.memory.address(), 8, 0xBAD00})
                    .remote(pair.b.memory, 0),
                IBV_WC_LOC_PROT_ERR);
}

CASE("local.read_into_memory_that_may_not_be_written") {
  Pair pair;
  Memory sink(pair.pd, 4096, 0);
  expect_status(pair, Request(IBV_WR_RDMA_READ).piece(sink, 0, 8).remote(pair.b.memory, 0),
                IBV_WC_LOC_PROT_ERR);
}

CASE("local.atomic_into_memory_that_may_not_be_written") {
  Pair pair;
  Memory sink(pair.pd, 4096, 0);
  expect_status(pair,
                Request(IBV_WR_ATOMIC_FETCH_AND_ADD)
                    .piece(sink, 0, 8)
                    .atomic(pair.b.memory.address(), pair.b.memory.mr->rkey, 1),
                IBV_WC_LOC_PROT_ERR);
}

CASE("local.deregistered_before_posting") {
  Pair pair;
  Memory other(pair.pd, 4096);
  const ibv_sge piece = other.piece(0, 8);
  other.mr.reset();
  expect_status(pair, Request(IBV_WR_RDMA_WRITE).piece(piece).remote(pair.b.memory, 0), IBV_WC_LOC_PROT_ERR);
}

CASE("local.receive_into_memory_that_may_not_be_written") {
  Pair pair;
  Memory sink(pair.pd, 4096, 0);
  CHECK_OK(post_receive(pair.b.qp, 2, {sink.piece(0, 64)}));
  CHECK_OK(Request(IBV_WR_SEND).piece(pair.a.memory, 0, 8).post(pair.a.qp));
  await(pair.b.receive_cq, 2, IBV_WC_LOC_PROT_ERR);
  await(pair.a.send_cq, 1, IBV_WC_REM_OP_ERR);
}

CASE("local.receive_with_unknown_key") {
  Pair pair;
  CHECK_OK(post_receive(pair.b.qp, 2, {{pair.b.memory.address(), 64, 0xBAD00}}));
  CHECK_OK(Request(IBV_WR_SEND).piece(pair.a.memory, 0, 8).post(pair.a.qp));
  await(pair.b.receive_cq, 2, IBV_WC_LOC_PROT_ERR);
  await(pair.a.send_cq, 1, IBV_WC_REM_OP_ERR);
}

CASE("local.atomic_of_another_size") {
  Pair pair;
  Request request(IBV_WR_ATOMIC_FETCH_AND_ADD);
  request.piece(pair.a.memory, 0, 16).atomic(pair.b.memory.address(), pair.b.memory.mr->rkey, 1);
  const int posted = request.post(pair.a.qp);
  if (posted != 0) return CHECK_ERROR(posted, EINVAL);
  CHECK(await(pair.a.send_cq).status != IBV_WC_WR_FLUSH_ERR);
}

// --- remote errors ---

CASE("remote.unknown_key") {
  Pair pair;
  expect_status(
      pair, Request(IBV_WR_RDMA_WRITE).piece(pair.a.memory, 0, 8).remote(pair.b.memory.address(), 0xBAD00),
      IBV_WC_REM_ACCESS_ERR);
}

CASE("remote.before_the_region") {
  Pair pair;
  expect_status(pair,
                Request(IBV_WR_RDMA_WRITE)
                    .piece(pair.a.memory, 0, 8)
                    .remote(pair.b.memory.address() - 1, pair.b.memory.mr->rkey),
                IBV_WC_REM_ACCESS_ERR);
}

CASE("remote.beyond_the_region") {
  Pair pair;
  expect_status(
      pair,
      Request(IBV_WR_RDMA_WRITE).piece(pair.a.memory, 0, 8).remote(pair.b.memory, pair.b.memory.size() - 7),
      IBV_WC_REM_ACCESS_ERR);
}

CASE("remote.large_message_beyond_the_region") {
  Pair pair;
  expect_status(pair, Request(IBV_WR_RDMA_WRITE).piece(pair.a.memory, 0, 60000).remote(pair.b.memory, 8192),
                IBV_WC_REM_ACCESS_ERR);
}

CASE("remote.region_of_another_domain") {
  Pair pair;
  Owned<ibv_pd> other = make_pd();
  Memory elsewhere(other, 4096);
  expect_status(pair, Request(IBV_WR_RDMA_WRITE).piece(pair.a.memory, 0, 8).remote(elsewhere, 0),
                IBV_WC_REM_ACCESS_ERR);
}

CASE("remote.write_to_a_region_without_the_right") {
  Pair pair({.region_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ});
  expect_status(pair, Request(IBV_WR_RDMA_WRITE).piece(pair.a.memory, 0, 8).remote(pair.b.memory, 0),
                IBV_WC_REM_ACCESS_ERR);
}

CASE("remote.read_from_a_region_without_the_right") {
  Pair pair({.region_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE});
  expect_status(pair, Request(IBV_WR_RDMA_READ).piece(pair.a.memory, 0, 8).remote(pair.b.memory, 0),
                IBV_WC_REM_ACCESS_ERR);
}

CASE("remote.atomic_on_a_region_without_the_right") {
  Pair pair({.region_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE});
  expect_status(pair,
                Request(IBV_WR_ATOMIC_FETCH_AND_ADD)
                    .piece(pair.a.memory, 0, 8)
                    .atomic(pair.b.memory.address(), pair.b.memory.mr->rkey, 1),
                IBV_WC_REM_ACCESS_ERR);
}

CASE("remote.write_to_a_queue_pair_without_the_right") {
  Path path;
  path.access = IBV_ACCESS_REMOTE_READ;
  Pair pair({.path = path});
  expect_status(pair, Request(IBV_WR_RDMA_WRITE).piece(pair.a.memory, 0, 8).remote(pair.b.memory, 0),
                IBV_WC_REM_ACCESS_ERR);
}

CASE("remote.read_from_a_queue_pair_without_the_right") {
  Path path;
  path.access = IBV_ACCESS_REMOTE_WRITE;
  Pair pair({.path = path});
  CHECK_OK(Request(IBV_WR_RDMA_READ).piece(pair.a.memory, 0, 8).remote(pair.b.memory, 0).post(pair.a.qp));
  const ibv_wc_status status = await(pair.a.send_cq).status;
  CHECK(status == IBV_WC_REM_ACCESS_ERR || status == IBV_WC_REM_INV_REQ_ERR);
}

CASE("remote.atomic_on_a_queue_pair_without_the_right") {
  Path path;
  path.access = IBV_ACCESS_REMOTE_WRITE;
  Pair pair({.path = path});
  CHECK_OK(Request(IBV_WR_ATOMIC_FETCH_AND_ADD)
               .piece(pair.a.memory, 0, 8)
               .atomic(pair.b.memory.address(), pair.b.memory.mr->rkey, 1)
               .post(pair.a.qp));
  const ibv_wc_status status = await(pair.a.send_cq).status;
  CHECK(status == IBV_WC_REM_ACCESS_ERR || status == IBV_WC_REM_INV_REQ_ERR);
}

CASE("remote.read_beyond_the_region") {
  Pair pair;
  expect_status(
      pair,
      Request(IBV_WR_RDMA_READ).piece(pair.a.memory, 0, 8).remote(pair.b.memory, pair.b.memory.size() - 7),
      IBV_WC_REM_ACCESS_ERR);
}

CASE("remote.atomic_not_aligned") {
  for (const size_t offset : {size_t{1}, size_t{4}, size_t{7}}) {
    Pair pair;
    expect_status(pair,
                  Request(IBV_WR_ATOMIC_CMP_AND_SWP)
                      .piece(pair.a.memory, 0, 8)
                      .atomic(pair.b.memory.address(offset), pair.b.memory.mr->rkey, 1, 2),
                  IBV_WC_REM_INV_REQ_ERR);
  }
}

CASE("remote.atomic_with_unknown_key") {
  Pair pair;
  expect_status(pair,
                Request(IBV_WR_ATOMIC_CMP_AND_SWP)
                    .piece(pair.a.memory, 0, 8)
                    .atomic(pair.b.memory.address(), 0xBAD00, 1, 2),
                IBV_WC_REM_ACCESS_ERR);
}

CASE("remote.a_refused_write_leaves_memory_untouched") {
  Pair pair;
  expect_status(
      pair,
      Request(IBV_WR_RDMA_WRITE).piece(pair.a.memory, 0, 8).remote(pair.b.memory, pair.b.memory.size() - 7),
      IBV_WC_REM_ACCESS_ERR);
  CHECK(pair.b.memory.has(kSeedB, 0, pair.b.memory.size(), 0));
}

CASE("remote.message_longer_than_the_receive") {
  Pair pair;
  CHECK_OK(post_receive(pair.b.qp, 2, {pair.b.memory.piece(0, 16)}));
  CHECK_OK(Request(IBV_WR_SEND).piece(pair.a.memory, 0, 17).post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_REM_INV_REQ_ERR);
  await(pair.b.receive_cq, 2, IBV_WC_LOC_LEN_ERR);
  CHECK(pair.b.memory.has(kSeedB, 16, 1, 16));
}

CASE("remote.large_message_longer_than_the_receive") {
  Pair pair;
  CHECK_OK(post_receive(pair.b.qp, 2, {pair.b.memory.piece(0, 5000)}));
  CHECK_OK(Request(IBV_WR_SEND).piece(pair.a.memory, 0, 20000).post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_REM_INV_REQ_ERR);
  await(pair.b.receive_cq, 2, IBV_WC_LOC_LEN_ERR);
  CHECK(pair.b.memory.has(kSeedB, 5000, 20000, 5000));
}

// --- receiver not ready ---

CASE("rnr.no_receive_and_no_retry") {
  Pair pair(impatient(0));
  CHECK_OK(Request(IBV_WR_SEND).piece(pair.a.memory, 0, 8).post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_RNR_RETRY_EXC_ERR);
}

CASE("rnr.write_with_immediate_needs_a_receive") {
  Pair pair(impatient(0));
  CHECK_OK(Request(IBV_WR_RDMA_WRITE_WITH_IMM)
               .piece(pair.a.memory, 0, 8)
               .remote(pair.b.memory, 0)
               .post(pair.a.qp));
  // MRC 1.0 knows no waiting for a receive.
  await(pair.a.send_cq, 1, is_strict() ? IBV_WC_REM_OP_ERR : IBV_WC_RNR_RETRY_EXC_ERR);
}

CASE("rnr.some_retries") {
  Pair pair(impatient(3));
  CHECK_OK(Request(IBV_WR_SEND).piece(pair.a.memory, 0, 8).post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_RNR_RETRY_EXC_ERR);
}

CASE("rnr.without_end_until_there_is_a_receive") {
  Pair pair(impatient(7));
  CHECK_OK(Request(IBV_WR_SEND).piece(pair.a.memory, 0, 100).post(pair.a.qp));
  expect_quiet(pair.a.send_cq, 100);
  CHECK_OK(post_receive(pair.b.qp, 2, {pair.b.memory.piece(0, 100)}));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
  await(pair.b.receive_cq, 2, IBV_WC_SUCCESS);
  CHECK(pair.b.memory.has(kSeedA, 0, 100, 0));
}

CASE("rnr.later_messages_wait_their_turn") {
  Pair pair(impatient(7));
  for (uint64_t id = 0; id < 4; ++id)
    CHECK_OK(Request(IBV_WR_SEND, id).piece(pair.a.memory, id * 8, 8).post(pair.a.qp));
  for (uint64_t id = 0; id < 4; ++id) {
    expect_quiet(pair.a.send_cq, 10);
    CHECK_OK(post_receive(pair.b.qp, id, {pair.b.memory.piece(id * 8, 8)}));
    await(pair.a.send_cq, id, IBV_WC_SUCCESS);
    await(pair.b.receive_cq, id, IBV_WC_SUCCESS);
  }
  CHECK(pair.b.memory.has(kSeedA, 0, 32, 0));
}

// --- a peer that does not answer ---

CASE("retry.no_such_queue_pair") {
  PairOptions options = impatient();
  options.until = IBV_QPS_INIT;
  Pair pair(options);
  CHECK_OK(move(pair.a.qp, IBV_QPS_RTR, 0xFFFFF0, options.path));
  CHECK_OK(move(pair.a.qp, IBV_QPS_RTS, 0xFFFFF0, options.path));
  CHECK_OK(Request(IBV_WR_RDMA_WRITE).piece(pair.a.memory, 0, 8).remote(pair.b.memory, 0).post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_RETRY_EXC_ERR);
}

CASE("retry.peer_in_init") {
  PairOptions options = impatient();
  options.until = IBV_QPS_INIT;
  Pair pair(options);
  CHECK_OK(move(pair.a.qp, IBV_QPS_RTR, pair.b.qp->qp_num, options.path));
  CHECK_OK(move(pair.a.qp, IBV_QPS_RTS, pair.b.qp->qp_num, options.path));
  CHECK_OK(Request(IBV_WR_RDMA_WRITE).piece(pair.a.memory, 0, 8).remote(pair.b.memory, 0).post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_RETRY_EXC_ERR);
}

CASE("retry.peer_destroyed") {
  Pair pair(impatient());
  pair.b.qp.reset();
  CHECK_OK(Request(IBV_WR_SEND).piece(pair.a.memory, 0, 8).post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_RETRY_EXC_ERR);
}

CASE("retry.peer_in_error") {
  Pair pair(impatient());
  CHECK_OK(move(pair.b.qp, IBV_QPS_ERR));
  CHECK_OK(Request(IBV_WR_RDMA_WRITE).piece(pair.a.memory, 0, 8).remote(pair.b.memory, 0).post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_RETRY_EXC_ERR);
}

CASE("retry.read_of_a_silent_peer") {
  Pair pair(impatient());
  pair.b.qp.reset();
  CHECK_OK(Request(IBV_WR_RDMA_READ).piece(pair.a.memory, 0, 8).remote(pair.b.memory, 0).post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_RETRY_EXC_ERR);
}

// --- flushing ---

CASE("flush.sends_behind_the_failed_one_in_order") {
  Pair pair;
  CHECK_OK(Request(IBV_WR_RDMA_WRITE, 0).piece(pair.a.memory, 0, 8).remote(pair.b.memory, 0).post(pair.a.qp));
  CHECK_OK(Request(IBV_WR_RDMA_WRITE, 1).piece(pair.a.memory, 0, 8).remote(0, 0xBAD00).post(pair.a.qp));
  // Whenever the error strikes, the others come back flushed and in order.
  for (uint64_t id = 2; id < 10; ++id)
    CHECK_OK(
        Request(IBV_WR_RDMA_WRITE, id).piece(pair.a.memory, 0, 8).remote(pair.b.memory, 0).post(pair.a.qp));
  await(pair.a.send_cq, 0, IBV_WC_SUCCESS);
  await(pair.a.send_cq, 1, IBV_WC_REM_ACCESS_ERR);
  for (uint64_t id = 2; id < 10; ++id) await(pair.a.send_cq, id, IBV_WC_WR_FLUSH_ERR);
}

CASE("flush.silent_requests_too") {
  Pair pair;
  CHECK_OK(
      Request(IBV_WR_RDMA_WRITE, 1).piece(pair.a.memory, 0, 8).remote(0, 0xBAD00).silent().post(pair.a.qp));
  CHECK_OK(Request(IBV_WR_RDMA_WRITE, 2)
               .piece(pair.a.memory, 0, 8)
               .remote(pair.b.memory, 0)
               .silent()
               .post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_REM_ACCESS_ERR);
  await(pair.a.send_cq, 2, IBV_WC_WR_FLUSH_ERR);
}

CASE("flush.receives_in_order") {
  Pair pair;
  for (uint64_t id = 0; id < 16; ++id) CHECK_OK(post_receive(pair.b.qp, id, {pair.b.memory.piece(0, 64)}));
  CHECK_OK(move(pair.b.qp, IBV_QPS_ERR));
  for (uint64_t id = 0; id < 16; ++id) {
    const ibv_wc completion = await(pair.b.receive_cq, id, IBV_WC_WR_FLUSH_ERR);
    CHECK_EQ(completion.qp_num, pair.b.qp->qp_num);
  }
  expect_quiet(pair.b.receive_cq, 10);
}

CASE("flush.both_queues_when_moved_to_error") {
  PairOptions options;
  options.path.timeout = 0;
  options.until = IBV_QPS_INIT;
  Pair pair(options);
  CHECK_OK(post_receive(pair.a.qp, 50));
  CHECK_OK(move(pair.a.qp, IBV_QPS_RTR, pair.b.qp->qp_num, options.path));
  CHECK_OK(move(pair.a.qp, IBV_QPS_RTS, pair.b.qp->qp_num, options.path));
  for (uint64_t id = 0; id < 4; ++id)
    CHECK_OK(
        Request(IBV_WR_RDMA_WRITE, id).piece(pair.a.memory, 0, 8).remote(pair.b.memory, 0).post(pair.a.qp));
  CHECK_OK(move(pair.a.qp, IBV_QPS_ERR));
  for (uint64_t id = 0; id < 4; ++id) await(pair.a.send_cq, id, IBV_WC_WR_FLUSH_ERR);
  await(pair.a.receive_cq, 50, IBV_WC_WR_FLUSH_ERR);
}

CASE("flush.receives_of_the_side_that_was_attacked") {
  Pair pair;
  CHECK_OK(post_receive(pair.b.qp, 5, {pair.b.memory.piece(0, 64)}));
  CHECK_OK(Request(IBV_WR_RDMA_WRITE, 1).piece(pair.a.memory, 0, 8).remote(0, 0xBAD00).post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_REM_ACCESS_ERR);
  await(pair.b.receive_cq, 5, IBV_WC_WR_FLUSH_ERR);
}

CASE("flush.work_posted_afterwards") {
  Pair pair;
  CHECK_OK(move(pair.a.qp, IBV_QPS_ERR));
  for (uint64_t id = 0; id < 40; ++id) {  // more than the queue holds: each one makes room again
    CHECK_OK(
        Request(IBV_WR_RDMA_WRITE, id).piece(pair.a.memory, 0, 8).remote(pair.b.memory, 0).post(pair.a.qp));
    await(pair.a.send_cq, id, IBV_WC_WR_FLUSH_ERR);
    CHECK_OK(post_receive(pair.a.qp, id));
    await(pair.a.receive_cq, id, IBV_WC_WR_FLUSH_ERR);
  }
}

}  // namespace conformance
