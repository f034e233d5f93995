// SPDX-License-Identifier: BSD-2-Clause
// Completion channels: arming, events, acknowledging.
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "objects.h"

namespace conformance {
namespace {

// Two queue pairs; the receiving one's completions raise events.
struct EventPair {
  Owned<ibv_pd> pd = make_pd();
  Owned<ibv_comp_channel> channel = make_channel();
  int cookie = 0;
  Owned<ibv_cq> plain = make_cq();
  Owned<ibv_cq> cq = make_cq(256, channel, &cookie);
  Memory memory{pd, 8192};
  Owned<ibv_qp> from = make_qp(pd, qp_wanted(plain, plain));
  Owned<ibv_qp> to = make_qp(pd, qp_wanted(cq, cq));

  EventPair() {
    bring_to(from, IBV_QPS_RTS, to->qp_num);
    bring_to(to, IBV_QPS_RTS, from->qp_num);
  }
  void send(uint64_t id = 1, unsigned flags = 0) {
    CHECK_OK(post_receive(to, id, {memory.piece(4096, 64)}));
    CHECK_OK(Request(IBV_WR_SEND, id).piece(memory, 0, 8).flags(flags).post(from));
    await(plain, id, IBV_WC_SUCCESS);
  }
  bool event_comes(int milliseconds = 5000) { return readable(channel->fd, milliseconds); }
  void take_event() {
    CHECK(event_comes());
    ibv_cq* event_cq = nullptr;
    void* event_cookie = nullptr;
    CHECK_EQ(ibv_get_cq_event(channel, &event_cq, &event_cookie), 0);
    CHECK(event_cq == cq.get());
    CHECK(event_cookie == &cookie);
    ibv_ack_cq_events(cq, 1);
  }
};

constexpr int kNoEventMs = 50;

}  // namespace

CASE("channel.create") {
  Owned<ibv_comp_channel> channel = make_channel();
  CHECK(channel->fd >= 0);
  CHECK(channel->context == device());
}

CASE("channel.many") {
  std::vector<Owned<ibv_comp_channel>> channels;
  for (int i = 0; i < 100; ++i) channels.push_back(make_channel());
}

CASE("channel.busy_with_a_queue") {
  Owned<ibv_comp_channel> channel = make_channel();
  Owned<ibv_cq> cq = make_cq(16, channel);
  CHECK(cq->channel == channel.get());
  CHECK_ERROR(ibv_destroy_comp_channel(channel), EBUSY);
}

CASE("channel.free_again_after_its_queue") {
  Owned<ibv_comp_channel> channel = make_channel();
  { Owned<ibv_cq> cq = make_cq(16, channel); }
  CHECK_OK(ibv_destroy_comp_channel(channel.release()));
}

CASE("channel.nothing_to_read") {
  Owned<ibv_comp_channel> channel = make_channel();
  set_nonblocking(channel->fd);
  ibv_cq* cq = nullptr;
  void* cookie = nullptr;
  errno = 0;
  CHECK_EQ(ibv_get_cq_event(channel, &cq, &cookie), -1);
  CHECK_EQ(errno, EAGAIN);
}

CASE("channel.no_event_unless_armed") {
  EventPair pair;
  pair.send();
  CHECK(!pair.event_comes(kNoEventMs));
}

CASE("channel.event_after_arming") {
  EventPair pair;
  CHECK_OK(ibv_req_notify_cq(pair.cq, 0));
  pair.send();
  pair.take_event();
}

CASE("channel.one_event_per_arming") {
  EventPair pair;
  CHECK_OK(ibv_req_notify_cq(pair.cq, 0));
  pair.send(1);
  pair.send(2);
  pair.send(3);
  pair.take_event();
  CHECK(!pair.event_comes(kNoEventMs));
}

CASE("channel.arming_twice_is_arming_once") {
  EventPair pair;
  CHECK_OK(ibv_req_notify_cq(pair.cq, 0));
  CHECK_OK(ibv_req_notify_cq(pair.cq, 0));
  pair.send(1);
  pair.take_event();
  CHECK(!pair.event_comes(kNoEventMs));
}

CASE("channel.armed_again") {
  EventPair pair;
  for (uint64_t id = 1; id <= 5; ++id) {
    CHECK_OK(ibv_req_notify_cq(pair.cq, 0));
    pair.send(id);
    pair.take_event();
    await(pair.cq, id, IBV_WC_SUCCESS);
  }
}

CASE("channel.the_documented_loop_misses_nothing") {
  need_messages();
  // Arm, poll until empty, wait: as ibv_get_cq_event(3) says.
  EventPair pair;
  CHECK_OK(ibv_req_notify_cq(pair.cq, 0));
  std::atomic<bool> failed{false};
  std::thread sender([&] {
    try {
      for (uint64_t id = 1; id <= 200; ++id) pair.send(id);
    } catch (const std::exception& error) {
      complain(error.what());
      failed = true;
    }
  });
  uint64_t seen = 0;
  while (seen < 200 && !failed) {
    if (!pair.event_comes(5000)) {
      complain("no event after " + std::to_string(seen) + " completions");
      break;
    }
    pair.take_event();
    CHECK_OK(ibv_req_notify_cq(pair.cq, 0));
    ibv_wc completion;
    while (ibv_poll_cq(pair.cq, 1, &completion) == 1) ++seen;
  }
  sender.join();
}

CASE("channel.solicited_only_not_for_others") {
  EventPair pair;
  CHECK_OK(ibv_req_notify_cq(pair.cq, 1));
  pair.send(1);
  CHECK(!pair.event_comes(kNoEventMs));
}

CASE("channel.solicited_only_for_the_solicited") {
  EventPair pair;
  CHECK_OK(ibv_req_notify_cq(pair.cq, 1));
  pair.send(1);
  pair.send(2, IBV_SEND_SOLICITED);
  pair.take_event();
}

CASE("channel.solicited_only_for_errors") {
  EventPair pair;
  CHECK_OK(post_receive(pair.to, 1, {pair.memory.piece(0, 8)}));
  CHECK_OK(ibv_req_notify_cq(pair.cq, 1));
  CHECK_OK(move(pair.to, IBV_QPS_ERR));
  pair.take_event();
  await(pair.cq, 1, IBV_WC_WR_FLUSH_ERR);
}

CASE("channel.solicited_write_with_immediate") {
  EventPair pair;
  CHECK_OK(post_receive(pair.to, 1));
  CHECK_OK(ibv_req_notify_cq(pair.cq, 1));
  CHECK_OK(Request(IBV_WR_RDMA_WRITE_WITH_IMM, 1)
               .piece(pair.memory, 0, 8)
               .remote(pair.memory, 4096)
               .flags(IBV_SEND_SOLICITED)
               .post(pair.from));
  if (is_strict()) {
    await(pair.cq, 1, IBV_WC_SUCCESS);  // it comes all the same, but nobody is woken
    throw NotApplicable("MRC 1.0 does not say that an event is solicited");
  }
  pair.take_event();
}

CASE("channel.any_arming_outranks_solicited") {
  EventPair pair;
  CHECK_OK(ibv_req_notify_cq(pair.cq, 0));
  CHECK_OK(ibv_req_notify_cq(pair.cq, 1));
  pair.send(1);
  pair.take_event();
}

CASE("channel.events_of_sends") {
  Owned<ibv_comp_channel> channel = make_channel();
  Owned<ibv_cq> cq = make_cq(16, channel);
  Pair pair;
  Owned<ibv_qp> one = make_qp(pair.pd, qp_wanted(cq, cq));
  Owned<ibv_qp> two = make_qp(pair.pd, qp_wanted(pair.b.send_cq, pair.b.receive_cq));
  bring_to(one, IBV_QPS_RTS, two->qp_num);
  bring_to(two, IBV_QPS_RTS, one->qp_num);
  CHECK_OK(ibv_req_notify_cq(cq, 0));
  CHECK_OK(Request(IBV_WR_RDMA_WRITE).piece(pair.a.memory, 0, 8).remote(pair.b.memory, 0).post(one));
  CHECK(readable(channel->fd, 5000));
}

CASE("channel.two_queues_on_one") {
  Owned<ibv_comp_channel> channel = make_channel();
  int first_cookie = 0, second_cookie = 0;
  Owned<ibv_cq> first = make_cq(16, channel, &first_cookie);
  Owned<ibv_cq> second = make_cq(16, channel, &second_cookie);
  Pair pair;
  ibv_cq* queues[] = {first, second};
  for (ibv_cq* cq : queues) {
    Owned<ibv_qp> qp = make_qp(pair.pd, qp_wanted(cq, cq));
    bring_to(qp, IBV_QPS_INIT);
    CHECK_OK(post_receive(qp, 1));
    CHECK_OK(ibv_req_notify_cq(cq, 0));
    CHECK_OK(move(qp, IBV_QPS_ERR));
    CHECK(readable(channel->fd, 5000));
    ibv_cq* event_cq = nullptr;
    void* cookie = nullptr;
    CHECK_EQ(ibv_get_cq_event(channel, &event_cq, &cookie), 0);
    CHECK(event_cq == cq);
    CHECK(cookie == cq->cq_context);
    ibv_ack_cq_events(cq, 1);
  }
}

CASE("channel.unread_events_go_with_their_queue") {
  Owned<ibv_comp_channel> channel = make_channel();
  Pair pair;
  {
    Owned<ibv_cq> cq = make_cq(16, channel);
    Owned<ibv_qp> qp = make_qp(pair.pd, qp_wanted(cq, cq));
    bring_to(qp, IBV_QPS_INIT);
    CHECK_OK(post_receive(qp, 1));
    CHECK_OK(ibv_req_notify_cq(cq, 0));
    CHECK_OK(move(qp, IBV_QPS_ERR));
    CHECK(readable(channel->fd, 5000));
  }
  CHECK(!readable(channel->fd, 0));
}

CASE("channel.destroy_waits_for_acknowledgement") {
  EventPair pair;
  CHECK_OK(ibv_req_notify_cq(pair.cq, 0));
  pair.send();
  ibv_cq* event_cq = nullptr;
  void* cookie = nullptr;
  CHECK(pair.event_comes());
  CHECK_EQ(ibv_get_cq_event(pair.channel, &event_cq, &cookie), 0);
  pair.to.reset();
  std::atomic<bool> acknowledged{false};
  std::thread later([&] {
    usleep(100000);
    acknowledged = true;
    ibv_ack_cq_events(event_cq, 1);
  });
  const int result = ibv_destroy_cq(pair.cq.release());
  const bool waited = acknowledged;
  later.join();
  CHECK_OK(result);
  CHECK(waited);
}

CASE("channel.a_thread_waits_in_get_event") {
  need_messages();
  EventPair pair;
  CHECK_OK(ibv_req_notify_cq(pair.cq, 0));
  std::thread waiter([&] {
    ibv_cq* event_cq = nullptr;
    void* cookie = nullptr;
    if (ibv_get_cq_event(pair.channel, &event_cq, &cookie) != 0 || event_cq != pair.cq.get())
      complain("the thread got no event");
    else
      ibv_ack_cq_events(event_cq, 1);
  });
  usleep(20000);
  try {
    pair.send();
  } catch (const std::exception& error) {
    complain(error.what());
    CHECK_OK(post_receive(pair.to, 9));
    CHECK_OK(move(pair.to, IBV_QPS_ERR));  // wakes the thread
  }
  waiter.join();
}

}  // namespace conformance
