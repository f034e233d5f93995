// SPDX-License-Identifier: BSD-2-Clause
// Shared receive queues.
#include <cerrno>
#include <cstdint>
#include <vector>

#include "objects.h"

namespace conformance {
namespace {

int error_of_creation(uint32_t entries, uint32_t segments) {
  Owned<ibv_pd> pd = make_pd();
  ibv_srq_init_attr wanted{};
  wanted.attr = {entries, segments, 0};
  errno = 0;
  Owned<ibv_srq> srq(ibv_create_srq(pd, &wanted));
  return srq.get() != nullptr ? 0 : errno;
}

int resize(ibv_srq* srq, uint32_t entries) {
  ibv_srq_attr wanted{entries, 0, 0};
  return ibv_modify_srq(srq, &wanted, IBV_SRQ_MAX_WR);
}

}  // namespace

CASE("srq.create") {
  Owned<ibv_pd> pd = make_pd();
  int cookie = 0;
  ibv_srq_init_attr wanted{&cookie, {100, 3, 0}};
  Owned<ibv_srq> srq = own(ibv_create_srq(pd, &wanted), "ibv_create_srq");
  CHECK(wanted.attr.max_wr >= 100);
  CHECK(wanted.attr.max_sge >= 3);
  CHECK(srq->srq_context == &cookie);
  CHECK(srq->pd == pd.get());
  CHECK(srq->context == device());
}

CASE("srq.create_the_most") {
  const ibv_device_attr limits = device_attributes();
  CHECK_ERROR(
      error_of_creation(static_cast<uint32_t>(limits.max_srq_wr), static_cast<uint32_t>(limits.max_srq_sge)),
      0);
}

CASE("srq.create_too_many_requests") {
  CHECK_ERROR(error_of_creation(static_cast<uint32_t>(device_attributes().max_srq_wr) + 1, 1), EINVAL);
}

CASE("srq.create_too_many_segments") {
  CHECK_ERROR(error_of_creation(16, static_cast<uint32_t>(device_attributes().max_srq_sge) + 1), EINVAL);
}

CASE("srq.create_ex_basic") {
  Owned<ibv_pd> pd = make_pd();
  ibv_srq_init_attr_ex wanted{};
  wanted.attr = {16, 1, 0};
  wanted.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
  wanted.srq_type = IBV_SRQT_BASIC;
  wanted.pd = pd;
  own(ibv_create_srq_ex(device(), &wanted), "ibv_create_srq_ex");
}

CASE("srq.create_ex_without_pd") {
  ibv_srq_init_attr_ex wanted{};
  wanted.attr = {16, 1, 0};
  CHECK_REFUSED(ibv_create_srq_ex(device(), &wanted), EINVAL, EOPNOTSUPP);
}

CASE("srq.create_ex_xrc") {
  Owned<ibv_pd> pd = make_pd();
  Owned<ibv_cq> cq = make_cq();
  ibv_srq_init_attr_ex wanted{};
  wanted.attr = {16, 1, 0};
  wanted.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ;
  wanted.srq_type = IBV_SRQT_XRC;
  wanted.pd = pd;
  wanted.cq = cq;
  CHECK_REFUSED(ibv_create_srq_ex(device(), &wanted), EOPNOTSUPP, EINVAL);
}

CASE("srq.create_ex_tag_matching") {
  Owned<ibv_pd> pd = make_pd();
  ibv_srq_init_attr_ex wanted{};
  wanted.attr = {16, 1, 0};
  wanted.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
  wanted.srq_type = IBV_SRQT_TM;
  wanted.pd = pd;
  CHECK_REFUSED(ibv_create_srq_ex(device(), &wanted), EOPNOTSUPP, EINVAL);
}

CASE("srq.query") {
  Owned<ibv_pd> pd = make_pd();
  Owned<ibv_srq> srq = make_srq(pd, 32, 2);
  ibv_srq_attr attributes{};
  CHECK_OK(ibv_query_srq(srq, &attributes));
  CHECK(attributes.max_wr >= 32);
  CHECK(attributes.max_sge >= 2);
  CHECK_EQ(attributes.srq_limit, 0);
}

CASE("srq.limit_is_kept") {
  Owned<ibv_pd> pd = make_pd();
  Owned<ibv_srq> srq = make_srq(pd, 32, 2);
  ibv_srq_attr attributes{0, 0, 5};
  for (uint64_t id = 0; id < 10; ++id) CHECK_OK(post_receive(srq.get(), id));
  CHECK_OK(ibv_modify_srq(srq, &attributes, IBV_SRQ_LIMIT));
  ibv_srq_attr now{};
  CHECK_OK(ibv_query_srq(srq, &now));
  CHECK_EQ(now.srq_limit, 5);
}

CASE("srq.limit_too_large") {
  Owned<ibv_pd> pd = make_pd();
  Owned<ibv_srq> srq = make_srq(pd, 32, 2);
  ibv_srq_attr attributes{};
  CHECK_OK(ibv_query_srq(srq, &attributes));
  attributes.srq_limit = attributes.max_wr + 1;
  CHECK_ERROR(ibv_modify_srq(srq, &attributes, IBV_SRQ_LIMIT), EINVAL);
}

CASE("srq.resize") {
  CHECK((device_attributes().device_cap_flags & IBV_DEVICE_SRQ_RESIZE) != 0);
  Owned<ibv_pd> pd = make_pd();
  Owned<ibv_srq> srq = make_srq(pd, 32, 2);
  for (const uint32_t entries : {64u, 5u, 1u, 1000u}) {
    CHECK_OK(resize(srq, entries));
    ibv_srq_attr now{};
    CHECK_OK(ibv_query_srq(srq, &now));
    CHECK(now.max_wr >= entries);
    CHECK(now.max_sge >= 2);
  }
}

CASE("srq.resize_makes_room") {
  Owned<ibv_pd> pd = make_pd();
  Owned<ibv_srq> srq = make_srq(pd, 4, 1);
  ibv_srq_attr now{};
  CHECK_OK(ibv_query_srq(srq, &now));
  for (uint64_t id = 0; id < now.max_wr; ++id) CHECK_OK(post_receive(srq.get(), id));
  CHECK_ERROR(post_receive(srq.get(), 99), ENOMEM);
  CHECK_OK(resize(srq, now.max_wr + 1));
  CHECK_OK(post_receive(srq.get(), 99));
}

CASE("srq.resize_keeps_what_was_posted") {
  Pair pair({.with_srq = true});
  // The ring has gone round before it moves.
  for (uint64_t id = 0; id < 11; ++id) {
    CHECK_OK(post_receive(pair.b.srq.get(), 100 + id, {pair.b.memory.piece(0, 64)}));
    CHECK_OK(Request(IBV_WR_SEND, id).piece(pair.a.memory, 0, 8).post(pair.a.qp));
    await(pair.a.send_cq, id, IBV_WC_SUCCESS);
    await(pair.b.receive_cq, 100 + id, IBV_WC_SUCCESS);
  }
  uint64_t posted = 0;
  for (; posted < 10; ++posted)
    CHECK_OK(post_receive(pair.b.srq.get(), posted, {pair.b.memory.piece(posted * 64, 64)}));
  CHECK_ERROR(resize(pair.b.srq, 9), EINVAL);
  CHECK_OK(resize(pair.b.srq, 10));
  CHECK_OK(resize(pair.b.srq, 300));
  for (; posted < 200; ++posted)
    CHECK_OK(post_receive(pair.b.srq.get(), posted, {pair.b.memory.piece(posted * 64, 64)}));
  for (uint64_t id = 0; id < posted; ++id) {
    CHECK_OK(Request(IBV_WR_SEND, id).piece(pair.a.memory, id * 8, 8).post(pair.a.qp));
    await(pair.a.send_cq, id, IBV_WC_SUCCESS);
    const ibv_wc completion = await(pair.b.receive_cq);
    CHECK_EQ(completion.status, IBV_WC_SUCCESS);
    CHECK(pair.b.memory.has(kSeedA, completion.wr_id * 64, 8, id * 8));
  }
}

CASE("srq.resize_while_it_is_used") {
  Pair pair({.with_srq = true});
  for (uint64_t id = 0; id < 8; ++id)
    CHECK_OK(post_receive(pair.b.srq.get(), id, {pair.b.memory.piece(id * 64, 64)}));
  uint64_t received = 0;
  for (uint64_t id = 0; id < 500; ++id) {
    CHECK_OK(Request(IBV_WR_SEND, id).piece(pair.a.memory, id * 8, 8).post(pair.a.qp));
    CHECK_OK(resize(pair.b.srq, id % 2 == 0 ? 9 : 700));
    await(pair.a.send_cq, id, IBV_WC_SUCCESS);
    const ibv_wc completion = await(pair.b.receive_cq);
    CHECK(pair.b.memory.has(kSeedA, completion.wr_id * 64, 8, received++ * 8));
    CHECK_OK(
        post_receive(pair.b.srq.get(), completion.wr_id, {pair.b.memory.piece(completion.wr_id * 64, 64)}));
  }
}

CASE("srq.resize_to_nothing") {
  Owned<ibv_pd> pd = make_pd();
  Owned<ibv_srq> srq = make_srq(pd, 32, 2);
  CHECK_ERROR(resize(srq, 0), EINVAL);
}

CASE("srq.resize_too_large") {
  Owned<ibv_pd> pd = make_pd();
  Owned<ibv_srq> srq = make_srq(pd, 32, 2);
  CHECK_ERROR(resize(srq, static_cast<uint32_t>(device_attributes().max_srq_wr) + 1), EINVAL);
}

CASE("srq.resize_below_the_limit") {
  Owned<ibv_pd> pd = make_pd();
  Owned<ibv_srq> srq = make_srq(pd, 32, 2);
  ibv_srq_attr attributes{0, 0, 20};
  CHECK_OK(ibv_modify_srq(srq, &attributes, IBV_SRQ_LIMIT));
  CHECK_ERROR(resize(srq, 19), EINVAL);
  CHECK_OK(resize(srq, 20));
}

CASE("srq.resize_and_limit_at_once") {
  Owned<ibv_pd> pd = make_pd();
  Owned<ibv_srq> srq = make_srq(pd, 8, 2);
  ibv_srq_attr attributes{64, 0, 50};
  CHECK_OK(ibv_modify_srq(srq, &attributes, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT));
  ibv_srq_attr now{};
  CHECK_OK(ibv_query_srq(srq, &now));
  CHECK(now.max_wr >= 64);
  CHECK_EQ(now.srq_limit, 50);
  attributes = {16, 0, 17};
  CHECK_ERROR(ibv_modify_srq(srq, &attributes, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT), EINVAL);
  CHECK_OK(ibv_query_srq(srq, &now));
  CHECK(now.max_wr >= 64);
}

CASE("srq.unknown_mask") {
  Owned<ibv_pd> pd = make_pd();
  Owned<ibv_srq> srq = make_srq(pd, 32, 2);
  ibv_srq_attr attributes{};
  CHECK_ERROR(ibv_modify_srq(srq, &attributes, 1 << 5), EINVAL, EOPNOTSUPP);
}

CASE("srq.post_until_full") {
  Owned<ibv_pd> pd = make_pd();
  ibv_srq_init_attr wanted{nullptr, {16, 1, 0}};
  Owned<ibv_srq> srq = own(ibv_create_srq(pd, &wanted), "ibv_create_srq");
  for (uint64_t id = 0; id < wanted.attr.max_wr; ++id) CHECK_OK(post_receive(srq.get(), id));
  CHECK_ERROR(post_receive(srq.get(), 999), ENOMEM);
}

CASE("srq.post_a_list_that_does_not_fit") {
  Owned<ibv_pd> pd = make_pd();
  ibv_srq_init_attr wanted{nullptr, {4, 1, 0}};
  Owned<ibv_srq> srq = own(ibv_create_srq(pd, &wanted), "ibv_create_srq");
  std::vector<ibv_recv_wr> list(wanted.attr.max_wr + 2);
  for (size_t i = 0; i + 1 < list.size(); ++i) list[i].next = &list[i + 1];
  ibv_recv_wr* bad = nullptr;
  CHECK_ERROR(ibv_post_srq_recv(srq, list.data(), &bad), ENOMEM);
  CHECK(bad == &list[wanted.attr.max_wr]);
}

CASE("srq.post_too_many_segments") {
  Owned<ibv_pd> pd = make_pd();
  ibv_srq_init_attr wanted{nullptr, {16, 2, 0}};
  Owned<ibv_srq> srq = own(ibv_create_srq(pd, &wanted), "ibv_create_srq");
  CHECK_ERROR(post_receive(srq.get(), 1, std::vector<ibv_sge>(wanted.attr.max_sge + 1)), EINVAL);
}

CASE("srq.busy_with_a_queue_pair") {
  Pair pair({.with_srq = true});
  CHECK_ERROR(ibv_destroy_srq(pair.b.srq), EBUSY);
}

CASE("srq.its_queue_pair_has_no_receive_queue") {
  Pair pair({.with_srq = true});
  CHECK(post_receive(pair.b.qp.get(), 1) != 0);
}

CASE("srq.receives") {
  Pair pair({.with_srq = true});
  CHECK_OK(post_receive(pair.b.srq.get(), 7, {pair.b.memory.piece(0, 256)}));
  CHECK_OK(Request(IBV_WR_SEND).piece(pair.a.memory, 0, 200).post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
  const ibv_wc completion = await(pair.b.receive_cq, 7, IBV_WC_SUCCESS);
  CHECK_EQ(completion.byte_len, 200);
  CHECK_EQ(completion.qp_num, pair.b.qp->qp_num);
  CHECK(pair.b.memory.has(kSeedA, 0, 200, 0));
}

CASE("srq.messages_complete_in_order") {
  // Which request a message takes is open; its completion names it, and messages keep their order.
  Pair pair({.with_srq = true});
  for (uint64_t id = 0; id < 8; ++id)
    CHECK_OK(post_receive(pair.b.srq.get(), id, {pair.b.memory.piece(id * 64, 64)}));
  for (uint64_t id = 0; id < 8; ++id)
    CHECK_OK(Request(IBV_WR_SEND, id).piece(pair.a.memory, id * 8, 8).post(pair.a.qp));
  uint64_t taken = 0;
  for (uint64_t id = 0; id < 8; ++id) {
    const ibv_wc completion = await(pair.b.receive_cq);
    CHECK_EQ(completion.status, IBV_WC_SUCCESS);
    CHECK(completion.wr_id < 8 && (taken >> completion.wr_id & 1) == 0);
    taken |= uint64_t{1} << completion.wr_id;
    CHECK(pair.b.memory.has(kSeedA, completion.wr_id * 64, 8, id * 8));
  }
}

CASE("srq.shared_by_two_queue_pairs") {
  Pair pair({.with_srq = true});
  // The way back uses a's own shared queue; a second pair of queue pairs uses b's again.
  ibv_qp_init_attr wanted = qp_wanted(pair.b.send_cq, pair.b.receive_cq);
  wanted.srq = pair.b.srq;
  Owned<ibv_qp> second = make_qp(pair.pd, wanted);
  Owned<ibv_qp> from = make_qp(pair.pd, qp_wanted(pair.a.send_cq, pair.a.receive_cq));
  bring_to(second, IBV_QPS_RTS, from->qp_num);
  bring_to(from, IBV_QPS_RTS, second->qp_num);
  for (uint64_t id = 0; id < 4; ++id)
    CHECK_OK(post_receive(pair.b.srq.get(), id, {pair.b.memory.piece(id * 64, 64)}));
  int of_second = 0;
  for (uint64_t id = 0; id < 4; ++id) {
    CHECK_OK(Request(IBV_WR_SEND, id).piece(pair.a.memory, 0, 8).post(id % 2 == 0 ? pair.a.qp : from));
    await(pair.a.send_cq, id, IBV_WC_SUCCESS);
    if (await(pair.b.receive_cq).qp_num == second->qp_num) ++of_second;
  }
  CHECK_EQ(of_second, 2);
}

CASE("srq.in_a_domain_of_its_own") {
  Pair pair;
  Owned<ibv_pd> pd = make_pd();
  Memory memory(pd, 4096);
  Owned<ibv_srq> srq = make_srq(pd);
  ibv_qp_init_attr wanted = qp_wanted(pair.b.send_cq, pair.b.receive_cq);
  wanted.srq = srq;
  Owned<ibv_qp> to = make_qp(pair.pd, wanted);
  Owned<ibv_qp> from = make_qp(pair.pd, qp_wanted(pair.a.send_cq, pair.a.receive_cq));
  bring_to(to, IBV_QPS_RTS, from->qp_num);
  bring_to(from, IBV_QPS_RTS, to->qp_num);
  CHECK_OK(post_receive(srq.get(), 7, {memory.piece(0, 64)}));
  CHECK_OK(post_receive(srq.get(), 8, {pair.b.memory.piece(0, 64)}));  // the queue pair's, not the queue's
  CHECK_OK(Request(IBV_WR_SEND, 1).piece(pair.a.memory, 0, 8).post(from));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
  await(pair.b.receive_cq, 7, IBV_WC_SUCCESS);
  CHECK(memory.has(kSeedA, 0, 8, 0));
  CHECK_OK(Request(IBV_WR_SEND, 2).piece(pair.a.memory, 0, 8).post(from));
  await(pair.b.receive_cq, 8, IBV_WC_LOC_PROT_ERR);
}

CASE("srq.write_with_immediate_takes_one") {
  Pair pair({.with_srq = true});
  CHECK_OK(post_receive(pair.b.srq.get(), 7));
  CHECK_OK(Request(IBV_WR_RDMA_WRITE_WITH_IMM)
               .piece(pair.a.memory, 0, 8)
               .remote(pair.b.memory, 0)
               .immediate(9)
               .post(pair.a.qp));
  CHECK_EQ(await(pair.b.receive_cq, 7, IBV_WC_SUCCESS).opcode, IBV_WC_RECV_RDMA_WITH_IMM);
}

CASE("srq.empty_is_receiver_not_ready") {
  Path path;
  path.rnr_retry = 1;
  Pair pair({.with_srq = true, .path = path});
  CHECK_OK(Request(IBV_WR_SEND).piece(pair.a.memory, 0, 8).post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_RNR_RETRY_EXC_ERR);
}

CASE("srq.too_long_a_message") {
  Pair pair({.with_srq = true});
  CHECK_OK(post_receive(pair.b.srq.get(), 7, {pair.b.memory.piece(0, 16)}));
  CHECK_OK(Request(IBV_WR_SEND).piece(pair.a.memory, 0, 17).post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_REM_INV_REQ_ERR);
  await(pair.b.receive_cq, 7, IBV_WC_LOC_LEN_ERR);
}

CASE("srq.outlives_its_queue_pair_with_what_was_posted") {
  Pair pair({.with_srq = true});
  CHECK_OK(post_receive(pair.b.srq.get(), 7, {pair.b.memory.piece(0, 64)}));
  pair.b.qp.reset();
  ibv_qp_init_attr wanted = qp_wanted(pair.b.send_cq, pair.b.receive_cq);
  wanted.srq = pair.b.srq;
  pair.b.qp = make_qp(pair.pd, wanted);
  Owned<ibv_qp> from = make_qp(pair.pd, qp_wanted(pair.a.send_cq, pair.a.receive_cq));
  bring_to(pair.b.qp, IBV_QPS_RTS, from->qp_num);
  bring_to(from, IBV_QPS_RTS, pair.b.qp->qp_num);
  CHECK_OK(Request(IBV_WR_SEND).piece(pair.a.memory, 0, 8).post(from));
  await(pair.b.receive_cq, 7, IBV_WC_SUCCESS);
}

CASE("srq.number_not_offered") {
  Owned<ibv_pd> pd = make_pd();
  Owned<ibv_srq> srq = make_srq(pd);
  uint32_t number = 0;
  CHECK_ERROR(ibv_get_srq_num(srq, &number), EOPNOTSUPP, ENOSYS, EINVAL);
}

}  // namespace conformance
