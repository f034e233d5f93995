// SPDX-License-Identifier: BSD-2-Clause
// Extended reliable connections: domains, the queues that senders name, and both halves of a connection.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "objects.h"

namespace conformance {
namespace {

ibv_xrcd* open_domain(int fd = -1, int flags = O_CREAT) {
  ibv_xrcd_init_attr wanted{};
  wanted.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
  wanted.fd = fd;
  wanted.oflags = flags;
  return ibv_open_xrcd(device(), &wanted);
}

Owned<ibv_xrcd> make_domain() {
  return own(open_domain(), "ibv_open_xrcd");
}

// One that peers can name, with a completion queue and memory of its own.
struct NamedQueue {
  Owned<ibv_cq> cq = make_cq();
  Owned<ibv_pd> pd;
  Memory memory;
  Owned<ibv_srq> srq;
  uint32_t number = 0;

  explicit NamedQueue(ibv_xrcd* domain, uint32_t limit = 0) : pd(make_pd()), memory(pd, 32768) {
    ibv_srq_init_attr_ex wanted{};
    wanted.attr = {16, 4, 0};
    wanted.comp_mask =
        IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_PD;
    wanted.srq_type = IBV_SRQT_XRC;
    wanted.pd = pd;
    wanted.xrcd = domain;
    wanted.cq = cq;
    srq = own(ibv_create_srq_ex(device(), &wanted), "ibv_create_srq_ex");
    CHECK_OK(ibv_get_srq_num(srq, &number));
    if (limit == 0) return;
    ibv_srq_attr attributes{0, 0, limit};
    CHECK_OK(ibv_modify_srq(srq, &attributes, IBV_SRQ_LIMIT));
  }
};

ibv_qp* create_target(ibv_xrcd* domain) {
  ibv_qp_init_attr_ex wanted{};
  wanted.qp_type = IBV_QPT_XRC_RECV;
  wanted.comp_mask = IBV_QP_INIT_ATTR_XRCD;
  wanted.xrcd = domain;
  if (is_strict()) {
    CHECK_REFUSED(ibv_create_qp_ex(device(), &wanted), EOPNOTSUPP);
    throw NotApplicable("XRC is none of MRC 1.0");
  }
  return ibv_create_qp_ex(device(), &wanted);
}

int move_half(ibv_qp* qp, ibv_qp_state to, uint32_t peer, const Path& path) {
  ibv_qp_attr attributes = good_attributes(device(), to, peer, path);
  int mask = needed_mask(IBV_QPT_RC, to);
  if (qp->qp_type == IBV_QPT_XRC_SEND) mask &= ~(IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
  if (qp->qp_type == IBV_QPT_XRC_RECV)
    mask &= ~(IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
  return ibv_modify_qp(qp, &attributes, mask);
}

// Both halves of a connection within this process.
struct Halves {
  Owned<ibv_xrcd> domain = make_domain();
  Owned<ibv_pd> pd = make_pd();
  Owned<ibv_cq> cq = make_cq();
  Memory memory{pd, 65536};
  Owned<ibv_qp> initiator;
  Owned<ibv_qp> target;

  explicit Halves(const Path& path = {}) {
    memory.fill(kSeedA);
    ibv_qp_init_attr_ex wanted{};
    wanted.qp_type = IBV_QPT_XRC_SEND;
    wanted.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    wanted.pd = pd;
    wanted.send_cq = cq;
    wanted.cap = {16, 0, 4, 0, 64};
    wanted.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ;
    if (is_strict())
      CHECK_REFUSED(ibv_create_qp_ex(device(), &wanted), EOPNOTSUPP);
    else
      initiator = own(ibv_create_qp_ex(device(), &wanted), "ibv_create_qp_ex");
    target = own(create_target(domain), "ibv_create_qp_ex");
    for (const ibv_qp_state to : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
      CHECK_OK(move_half(target, to, initiator->qp_num, path));
      CHECK_OK(move_half(initiator, to, target->qp_num, path));
    }
  }
  int post(Request request, uint32_t number) {
    request.raw().qp_type.xrc.remote_srqn = number;
    return request.post(initiator);
  }
};

void expect_message(Halves& halves, NamedQueue& queue, uint64_t id, uint32_t bytes) {
  const ibv_wc done = await(queue.cq, id, IBV_WC_SUCCESS);
  CHECK_EQ(done.byte_len, bytes);
  CHECK_EQ(done.qp_num, halves.target->qp_num);
}

}  // namespace

// --- domains ---

CASE("xrc.domain") {
  for (int i = 0; i < 10; ++i) make_domain();
}

CASE("xrc.domain_bad_attributes") {
  CHECK_REFUSED(open_domain(-1, 0), EINVAL);
  CHECK_REFUSED(open_domain(1 << 20), EBADF);
  CHECK_REFUSED(open_domain(-1, O_CREAT | O_APPEND), EINVAL);
}

CASE("xrc.domain_of_a_file") {
  const int fd = memfd_create("conformance", MFD_CLOEXEC);
  CHECK(fd >= 0);
  CHECK_REFUSED(open_domain(fd, 0), EAGAIN);
  {
    Owned<ibv_xrcd> first = own(open_domain(fd), "ibv_open_xrcd");
    Owned<ibv_xrcd> second = own(open_domain(fd, 0), "ibv_open_xrcd");
    CHECK_REFUSED(open_domain(fd, O_CREAT | O_EXCL), EINVAL, EEXIST);
  }
  Owned<ibv_xrcd> alone = own(open_domain(fd, O_CREAT | O_EXCL), "ibv_open_xrcd");
  close(fd);
}

CASE("xrc.domain_is_busy") {
  Owned<ibv_xrcd> domain = make_domain();
  {
    NamedQueue queue(domain);
    CHECK_ERROR(ibv_close_xrcd(domain), EBUSY);
  }
  Owned<ibv_qp> target = own(create_target(domain), "ibv_create_qp_ex");
  CHECK_ERROR(ibv_close_xrcd(domain), EBUSY);
}

// --- queues ---

CASE("xrc.queues_have_different_numbers") {
  Owned<ibv_xrcd> domain = make_domain();
  NamedQueue one(domain);
  NamedQueue two(domain);
  CHECK(one.number != two.number);
  CHECK(one.number <= 0xFFFFFF && two.number <= 0xFFFFFF);
}

CASE("xrc.queue_keeps_its_completion_queue") {
  Owned<ibv_xrcd> domain = make_domain();
  NamedQueue queue(domain);
  CHECK_ERROR(ibv_destroy_cq(queue.cq), EBUSY);
}

CASE("xrc.other_queues_have_no_number") {
  Owned<ibv_pd> pd = make_pd();
  Owned<ibv_srq> srq = make_srq(pd);
  uint32_t number = 0;
  CHECK_ERROR(ibv_get_srq_num(srq, &number), EINVAL, EOPNOTSUPP);
}

CASE("xrc.queue_without_a_domain") {
  Owned<ibv_pd> pd = make_pd();
  Owned<ibv_cq> cq = make_cq();
  ibv_srq_init_attr_ex wanted{};
  wanted.attr = {16, 4, 0};
  wanted.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_PD;
  wanted.srq_type = IBV_SRQT_XRC;
  wanted.pd = pd;
  wanted.cq = cq;
  CHECK_REFUSED(ibv_create_srq_ex(device(), &wanted), EINVAL);
}

// --- data ---

CASE("xrc.send") {
  Halves halves;
  NamedQueue queue(halves.domain);
  CHECK_OK(post_receive(queue.srq, 5, {queue.memory.piece(0, 8192)}));
  CHECK_OK(halves.post(Request(IBV_WR_SEND, 1).piece(halves.memory, 0, 5000), queue.number));
  await(halves.cq, 1, IBV_WC_SUCCESS);
  expect_message(halves, queue, 5, 5000);
  CHECK(queue.memory.has(kSeedA, 0, 5000, 0));
}

CASE("xrc.send_by_call") {
  Halves halves;
  NamedQueue queue(halves.domain);
  CHECK_OK(post_receive(queue.srq, 5, {queue.memory.piece(0, 8192)}));
  ibv_qp_ex* calls = ibv_qp_to_qp_ex(halves.initiator);
  ibv_wr_start(calls);
  calls->wr_id = 3;
  calls->wr_flags = IBV_SEND_SIGNALED;
  ibv_wr_send(calls);
  ibv_wr_set_xrc_srqn(calls, queue.number);
  ibv_wr_set_sge(calls, halves.memory.mr->lkey, halves.memory.address(), 100);
  CHECK_OK(ibv_wr_complete(calls));
  await(halves.cq, 3, IBV_WC_SUCCESS);
  expect_message(halves, queue, 5, 100);
}

CASE("xrc.sends_to_several_queues") {
  Halves halves;
  NamedQueue queues[] = {NamedQueue(halves.domain), NamedQueue(halves.domain), NamedQueue(halves.domain)};
  for (uint64_t round = 0; round < 300; ++round) {
    NamedQueue& queue = queues[round % 3];
    CHECK_OK(post_receive(queue.srq, round, {queue.memory.piece(0, 16384)}));
    if (round % 10 != 9) continue;
    for (uint64_t id = round - 9; id <= round; ++id)
      CHECK_OK(halves.post(Request(IBV_WR_SEND, id).piece(halves.memory, id, static_cast<uint32_t>(id * 40)),
                           queues[id % 3].number));
    for (uint64_t id = round - 9; id <= round; ++id) {
      await(halves.cq, id, IBV_WC_SUCCESS);
      expect_message(halves, queues[id % 3], id, static_cast<uint32_t>(id * 40));
    }
    CHECK(queue.memory.has(kSeedA, 0, round * 40, round));
  }
}

CASE("xrc.waits_for_a_receive") {
  Halves halves;
  NamedQueue queue(halves.domain);
  CHECK_OK(halves.post(Request(IBV_WR_SEND, 1).piece(halves.memory, 0, 100), queue.number));
  expect_quiet(halves.cq);
  CHECK_OK(post_receive(queue.srq, 5, {queue.memory.piece(0, 8192)}));
  await(halves.cq, 1, IBV_WC_SUCCESS);
  expect_message(halves, queue, 5, 100);
}

CASE("xrc.write_with_immediate") {
  Halves halves;
  NamedQueue queue(halves.domain);
  CHECK_OK(post_receive(queue.srq, 5));
  CHECK_OK(halves.post(Request(IBV_WR_RDMA_WRITE_WITH_IMM, 1)
                           .piece(halves.memory, 0, 6000)
                           .remote(queue.memory, 100)
                           .immediate(77),
                       queue.number));
  await(halves.cq, 1, IBV_WC_SUCCESS);
  const ibv_wc done = await(queue.cq, 5, IBV_WC_SUCCESS);
  CHECK_EQ(done.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
  CHECK_EQ(done.byte_len, 6000);
  CHECK(queue.memory.has(kSeedA, 100, 6000, 0));
}

CASE("xrc.write_read_and_atomic") {
  // Keys are those of the domain of the queue that is named.
  Halves halves;
  NamedQueue queue(halves.domain);
  CHECK_OK(halves.post(Request(IBV_WR_RDMA_WRITE, 1).piece(halves.memory, 0, 20000).remote(queue.memory, 8),
                       queue.number));
  await(halves.cq, 1, IBV_WC_SUCCESS);
  CHECK(queue.memory.has(kSeedA, 8, 20000, 0));
  CHECK_OK(halves.post(
      Request(IBV_WR_RDMA_READ, 2).piece(halves.memory, 40000, 20000).remote(queue.memory, 8), queue.number));
  await(halves.cq, 2, IBV_WC_SUCCESS);
  CHECK(std::memcmp(halves.memory.data() + 40000, queue.memory.data() + 8, 20000) == 0);
  queue.memory.word(0) = 40;
  CHECK_OK(halves.post(Request(IBV_WR_ATOMIC_FETCH_AND_ADD, 3)
                           .piece(halves.memory, 0, 8)
                           .atomic(queue.memory.address(), queue.memory.mr->rkey, 2),
                       queue.number));
  await(halves.cq, 3, IBV_WC_SUCCESS);
  CHECK_EQ(queue.memory.word(0), 42);
}

CASE("xrc.key_of_another_domain") {
  Halves halves;
  NamedQueue queue(halves.domain);
  NamedQueue other(halves.domain);
  CHECK_OK(halves.post(Request(IBV_WR_RDMA_WRITE, 1).piece(halves.memory, 0, 8).remote(other.memory, 0),
                       queue.number));
  await(halves.cq, 1, IBV_WC_REM_ACCESS_ERR);
}

CASE("xrc.unknown_queue") {
  Halves halves;
  NamedQueue queue(halves.domain);
  CHECK_OK(halves.post(Request(IBV_WR_SEND, 1).piece(halves.memory, 0, 8), queue.number ^ 0x800000));
  await(halves.cq, 1, IBV_WC_REM_INV_REQ_ERR);
  CHECK_EQ(queried_state(halves.target), IBV_QPS_ERR);
}

CASE("xrc.queue_of_another_xrc_domain") {
  Halves halves;
  Owned<ibv_xrcd> elsewhere = make_domain();
  NamedQueue queue(elsewhere);
  CHECK_OK(halves.post(Request(IBV_WR_SEND, 1).piece(halves.memory, 0, 8), queue.number));
  await(halves.cq, 1, IBV_WC_REM_INV_REQ_ERR);
}

CASE("xrc.queue_that_is_gone") {
  Halves halves;
  uint32_t number = 0;
  {
    NamedQueue queue(halves.domain);
    number = queue.number;
  }
  CHECK_OK(halves.post(Request(IBV_WR_SEND, 1).piece(halves.memory, 0, 8), number));
  await(halves.cq, 1, IBV_WC_REM_INV_REQ_ERR);
}

CASE("xrc.limit_event") {
  Halves halves;
  NamedQueue queue(halves.domain, 2);
  for (uint64_t id = 0; id < 2; ++id) CHECK_OK(post_receive(queue.srq, id, {queue.memory.piece(0, 64)}));
  CHECK_OK(halves.post(Request(IBV_WR_SEND, 1).piece(halves.memory, 0, 8), queue.number));
  await(halves.cq, 1, IBV_WC_SUCCESS);
  await_async(device(), IBV_EVENT_SRQ_LIMIT_REACHED);
  await(queue.cq, 0, IBV_WC_SUCCESS);
}

// --- halves ---

CASE("xrc.halves_do_only_their_part") {
  Halves halves;
  NamedQueue queue(halves.domain);
  CHECK(halves.post(Request(IBV_WR_ATOMIC_WRITE, 1).piece(halves.memory, 0, 8), queue.number) != 0);
  CHECK(Request(IBV_WR_SEND, 1).piece(halves.memory, 0, 8).post(halves.target) != 0);
  CHECK(post_receive(halves.initiator, 1, {halves.memory.piece(0, 8)}) != 0);
  CHECK(post_receive(halves.target, 1, {halves.memory.piece(0, 8)}) != 0);
}

CASE("xrc.target_without_a_domain") {
  ibv_qp_init_attr_ex wanted{};
  wanted.qp_type = IBV_QPT_XRC_RECV;
  CHECK_REFUSED(ibv_create_qp_ex(device(), &wanted), EINVAL);
}

CASE("xrc.target_opened_twice") {
  Halves halves;
  ibv_qp_open_attr wanted{};
  wanted.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
  wanted.qp_num = halves.target->qp_num;
  wanted.xrcd = halves.domain;
  wanted.qp_type = IBV_QPT_XRC_RECV;
  Owned<ibv_qp> again = own(ibv_open_qp(device(), &wanted), "ibv_open_qp");
  CHECK_EQ(again->qp_num, halves.target->qp_num);
  halves.target.reset();
  // It lives on.
  NamedQueue queue(halves.domain);
  CHECK_OK(post_receive(queue.srq, 5, {queue.memory.piece(0, 64)}));
  CHECK_OK(halves.post(Request(IBV_WR_SEND, 1).piece(halves.memory, 0, 8), queue.number));
  await(halves.cq, 1, IBV_WC_SUCCESS);
  await(queue.cq, 5, IBV_WC_SUCCESS);
  again.reset();
  CHECK_REFUSED(ibv_open_qp(device(), &wanted), EINVAL, ENOENT);
}

CASE("xrc.target_in_error_forgets_nothing") {
  Halves halves;
  NamedQueue queue(halves.domain);
  CHECK_OK(post_receive(queue.srq, 5, {queue.memory.piece(0, 64)}));
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  CHECK_OK(ibv_modify_qp(halves.target, &attributes, IBV_QP_STATE));
  expect_quiet(queue.cq);  // the receive is the queue's, not the queue pair's
}

}  // namespace conformance
