// SPDX-License-Identifier: BSD-2-Clause
// Asynchronous events. Each case has a context of its own, so that it sees its own events only.
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <string>
#include <thread>

#include "objects.h"

namespace conformance {
namespace {

struct Own {
  Owned<ibv_context> context = open_device();
};
// A pair in a context of its own.
struct EventfulPair : Own, Pair {
  explicit EventfulPair(PairOptions options = {}) : Own(), Pair(with(options, Own::context)) {}
  static PairOptions with(PairOptions options, ibv_context* context) {
    options.context = context;
    return options;
  }
  ibv_context* events() const { return Own::context; }
};

void expect_event(ibv_context* context, ibv_event_type type, const void* element) {
  for (;;) {
    ibv_async_event event = await_async(context);
    ibv_ack_async_event(&event);
    if (event.event_type == IBV_EVENT_COMM_EST && type != IBV_EVENT_COMM_EST) continue;
    if (event.event_type != type)
      throw Failure(std::string("the event is '") + ibv_event_type_str(event.event_type) + "', not '" +
                    ibv_event_type_str(type) + "'");
    CHECK(event.element.qp == element);
    return;
  }
}

}  // namespace

CASE("async.nothing_to_read") {
  Owned<ibv_context> context = open_device();
  set_nonblocking(context->async_fd);
  ibv_async_event event;
  errno = 0;
  CHECK_EQ(ibv_get_async_event(context, &event), -1);
  CHECK_EQ(errno, EAGAIN);
}

CASE("async.access_error") {
  EventfulPair pair;
  CHECK_OK(Request(IBV_WR_RDMA_WRITE)
               .piece(pair.a.memory, 0, 8)
               .remote(pair.b.memory.address(), 0xBAD)
               .post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_REM_ACCESS_ERR);
  expect_event(pair.events(), IBV_EVENT_QP_ACCESS_ERR, pair.b.qp);
}

CASE("async.request_error") {
  EventfulPair pair;
  CHECK_OK(Request(IBV_WR_ATOMIC_FETCH_AND_ADD)
               .piece(pair.a.memory, 0, 8)
               .atomic(pair.b.memory.address(1), pair.b.memory.mr->rkey, 1)
               .post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_REM_INV_REQ_ERR);
  expect_event(pair.events(), IBV_EVENT_QP_REQ_ERR, pair.b.qp);
}

CASE("async.established_by_the_first_message") {
  EventfulPair pair({.until = IBV_QPS_RTR});
  CHECK_OK(move(pair.a.qp, IBV_QPS_RTS));
  CHECK_OK(post_receive(pair.b.qp, 2, {pair.b.memory.piece(0, 64)}));
  CHECK_OK(Request(IBV_WR_SEND).piece(pair.a.memory, 0, 8).post(pair.a.qp));
  await(pair.b.receive_cq, 2, IBV_WC_SUCCESS);
  expect_event(pair.events(), IBV_EVENT_COMM_EST, pair.b.qp);
}

CASE("async.drained_when_asked_for") {
  EventfulPair pair;
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_SQD;
  attributes.en_sqd_async_notify = 1;
  CHECK_OK(ibv_modify_qp(pair.a.qp, &attributes, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY));
  expect_event(pair.events(), IBV_EVENT_SQ_DRAINED, pair.a.qp);
}

CASE("async.not_drained_when_not_asked_for") {
  EventfulPair pair;
  CHECK_OK(move(pair.a.qp, IBV_QPS_SQD));
  CHECK(!readable(pair.events()->async_fd, 100));
}

CASE("async.last_work_request_of_a_shared_queue") {
  EventfulPair pair({.with_srq = true});
  CHECK_OK(move(pair.b.qp, IBV_QPS_ERR));
  expect_event(pair.events(), IBV_EVENT_QP_LAST_WQE_REACHED, pair.b.qp);
}

CASE("async.shared_queue_limit") {
  EventfulPair pair({.with_srq = true});
  for (uint64_t id = 0; id < 8; ++id)
    CHECK_OK(post_receive(pair.b.srq.get(), id, {pair.b.memory.piece(0, 64)}));
  ibv_srq_attr limit{0, 0, 7};
  CHECK_OK(ibv_modify_srq(pair.b.srq, &limit, IBV_SRQ_LIMIT));
  for (uint64_t id = 0; id < 2; ++id) {
    CHECK_OK(Request(IBV_WR_SEND, id).piece(pair.a.memory, 0, 8).post(pair.a.qp));
    await(pair.a.send_cq, id, IBV_WC_SUCCESS);
  }
  expect_event(pair.events(), IBV_EVENT_SRQ_LIMIT_REACHED, pair.b.srq);
}

CASE("async.shared_queue_limit_comes_once") {
  EventfulPair pair({.with_srq = true});
  for (uint64_t id = 0; id < 8; ++id)
    CHECK_OK(post_receive(pair.b.srq.get(), id, {pair.b.memory.piece(0, 64)}));
  ibv_srq_attr limit{0, 0, 7};
  CHECK_OK(ibv_modify_srq(pair.b.srq, &limit, IBV_SRQ_LIMIT));
  for (uint64_t id = 0; id < 5; ++id) {
    CHECK_OK(Request(IBV_WR_SEND, id).piece(pair.a.memory, 0, 8).post(pair.a.qp));
    await(pair.a.send_cq, id, IBV_WC_SUCCESS);
  }
  expect_event(pair.events(), IBV_EVENT_SRQ_LIMIT_REACHED, pair.b.srq);
  CHECK(!readable(pair.events()->async_fd, 50));
  ibv_srq_attr now{};
  CHECK_OK(ibv_query_srq(pair.b.srq, &now));
  CHECK_EQ(now.srq_limit, 0);  // disarmed
}

CASE("async.completion_queue_overrun") {
  EventfulPair pair({.cap = {512, 16, 4, 4, 64}, .cq_entries = 4});
  const int room = pair.a.send_cq->cqe;
  for (int i = 0; i < room + 8; ++i) {
    Request request(IBV_WR_RDMA_WRITE, static_cast<uint64_t>(i));
    request.piece(pair.a.memory, 0, 8).remote(pair.b.memory, 0);
    if (request.post(pair.a.qp) != 0) break;
  }
  await_async(pair.events(), IBV_EVENT_CQ_ERR);  // the queue pair may tell of it too
  // As a NIC's, the queue is in error from then on: it tells so once, keeps what it has, and gets nothing
  // more.
  while (readable(pair.events()->async_fd, 200)) {
    ibv_async_event event;
    CHECK_OK(ibv_get_async_event(pair.events(), &event));
    CHECK(event.event_type != IBV_EVENT_CQ_ERR);
    ibv_ack_async_event(&event);
  }
  ibv_wc done;
  int kept = 0;
  while (ibv_poll_cq(pair.a.send_cq, 1, &done) == 1) ++kept;
  CHECK_EQ(kept, room);
  Request request(IBV_WR_RDMA_WRITE, 1000);
  request.piece(pair.a.memory, 0, 8).remote(pair.b.memory, 0);
  static_cast<void>(request.post(pair.a.qp));
  for (int i = 0; i < 1000; ++i) CHECK_EQ(ibv_poll_cq(pair.a.send_cq, 1, &done), 0);
}

CASE("async.unread_events_go_with_their_queue_pair") {
  EventfulPair pair;
  CHECK_OK(Request(IBV_WR_RDMA_WRITE)
               .piece(pair.a.memory, 0, 8)
               .remote(pair.b.memory.address(), 0xBAD)
               .post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_REM_ACCESS_ERR);
  CHECK(readable(pair.events()->async_fd, 5000));
  pair.b.qp.reset();
  CHECK(!readable(pair.events()->async_fd, 50));
}

CASE("async.destroy_waits_for_acknowledgement") {
  EventfulPair pair;
  CHECK_OK(Request(IBV_WR_RDMA_WRITE)
               .piece(pair.a.memory, 0, 8)
               .remote(pair.b.memory.address(), 0xBAD)
               .post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_REM_ACCESS_ERR);
  ibv_async_event event = await_async(pair.events());
  std::atomic<bool> acknowledged{false};
  std::thread later([&] {
    usleep(100000);
    acknowledged = true;
    ibv_ack_async_event(&event);
  });
  const int result = ibv_destroy_qp(pair.b.qp.release());
  const bool waited = acknowledged;
  later.join();
  CHECK_OK(result);
  CHECK(waited);
}

CASE("async.only_to_the_context_of_the_object") {
  Owned<ibv_context> other = open_device();
  EventfulPair pair;
  CHECK_OK(Request(IBV_WR_RDMA_WRITE)
               .piece(pair.a.memory, 0, 8)
               .remote(pair.b.memory.address(), 0xBAD)
               .post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_REM_ACCESS_ERR);
  CHECK(readable(pair.events()->async_fd, 5000));
  CHECK(!readable(other->async_fd, 20));
}

}  // namespace conformance
