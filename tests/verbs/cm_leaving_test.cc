// SPDX-License-Identifier: BSD-2-Clause
// A side that leaves as soon as it has what it wanted: the other one must still hear that it was delivered.
#include <fcntl.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "tests/verbs/cm_end.h"
#include "tests/verbs/cm_sides.h"

namespace cm_test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRounds = 8;
constexpr int kHeld_ms = 50;  // a disconnect, at most

// Of both sides, the same clock; enough of it for a pipe.
int milliseconds() {
  return static_cast<int>(
      std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now().time_since_epoch()).count() &
      0x7FFFFFFF);
}

struct ClientEnd : Client, End {
  explicit ClientEnd(uint16_t port) : Client("127.0.0.1", port), End(Client::id) {
    rdma_conn_param param = parameters(0);
    REQUIRE(rdma_connect(Client::id, &param) == 0);
    expect_event(channel, RDMA_CM_EVENT_ESTABLISHED);
  }
};

rdma_cm_id* accept_end(Server& server, std::unique_ptr<End>* end) {
  const Seen request = expect_event(server.channel, RDMA_CM_EVENT_CONNECT_REQUEST);
  *end = std::make_unique<End>(request.id);
  rdma_conn_param param = parameters(0);
  REQUIRE(rdma_accept(request.id, &param) == 0);
  expect_event(server.channel, RDMA_CM_EVENT_ESTABLISHED);
  return request.id;
}

// Accepts one client, takes its message if there is one, says when, and disconnects.
void serve_and_leave(Link& ports, Link& times, bool message) {
  Server server;
  ports.tell(server.port());
  std::unique_ptr<End> end;
  rdma_cm_id* id = accept_end(server, &end);
  if (message) end->wait();
  times.tell(milliseconds());
  REQUIRE(rdma_disconnect(id) == 0);
}

// Verbs alone. The one that receives ends by exit() at once; nothing is closed, or only the device.
TEST(Leaving, WhoExitsHasAcknowledged) {
  for (int round = 0; round < kRounds && !HasFailure(); ++round) {
    Link to_client, to_server;
    const bool closes = round % 2 != 0;
    const auto side = [closes](Link& own, Link& other, bool sends) {
      ibv_context* context = provider_test::open_device();
      REQUIRE(context != nullptr);
      ibv_pd* domain = ibv_alloc_pd(context);
      ibv_cq* queue = ibv_create_cq(context, 16, nullptr, nullptr, 0);
      REQUIRE(domain != nullptr && queue != nullptr);
      static uint8_t memory[64];
      ibv_mr* region = ibv_reg_mr(domain, memory, sizeof memory, IBV_ACCESS_LOCAL_WRITE);
      ibv_qp_init_attr wanted = provider_test::queue_pair_wanted(queue, queue);
      ibv_qp* qp = ibv_create_qp(domain, &wanted);
      REQUIRE(region != nullptr && qp != nullptr);
      ibv_sge segment{reinterpret_cast<uintptr_t>(memory), sizeof memory, region->lkey};
      ibv_recv_wr receive{0, nullptr, &segment, 1};
      ibv_recv_wr* bad_receive;
      other.tell(static_cast<int>(qp->qp_num));
      provider_test::connect(qp, static_cast<uint32_t>(own.hear()));
      REQUIRE(ibv_post_recv(qp, &receive, &bad_receive) == 0);
      other.tell(0);
      own.hear();
      if (sends) {
        ibv_send_wr send{};
        send.sg_list = &segment;
        send.num_sge = 1;
        send.opcode = IBV_WR_SEND;
        send.send_flags = IBV_SEND_SIGNALED;
        ibv_send_wr* bad_send;
        REQUIRE(ibv_post_send(qp, &send, &bad_send) == 0);
      }
      ibv_wc done{};
      while (ibv_poll_cq(queue, 1, &done) == 0) {
      }
      if (done.status != IBV_WC_SUCCESS) std::fprintf(stderr, "%s\n", ibv_wc_status_str(done.status));
      REQUIRE(done.status == IBV_WC_SUCCESS);
      REQUIRE(done.opcode == (sends ? IBV_WC_SEND : IBV_WC_RECV));
      REQUIRE(!closes || ibv_close_device(context) == 0);
    };
    run([&] { side(to_server, to_client, false); }, [&] { side(to_client, to_server, true); });
  }
}

// The client looks for events before it looks for completions, as libraries above do: what it hears first
// must not be the end.
TEST(Leaving, ADisconnectComesBehindTheCompletionsBeforeIt) {
  for (int round = 0; round < kRounds && !HasFailure(); ++round) {
    Link ports, times;
    run([&] { serve_and_leave(ports, times, true); },
        [&] {
          ClientEnd client(static_cast<uint16_t>(ports.hear()));
          REQUIRE(fcntl(client.channel->fd, F_SETFL, O_NONBLOCK) == 0);
          client.send();
          usleep(static_cast<useconds_t>(round) * 500);  // the device works on without this thread
          bool done = false;
          for (rdma_cm_event* event = nullptr; rdma_get_cm_event(client.channel, &event) != 0;) {
            REQUIRE(errno == EAGAIN);
            ibv_wc completion;
            done = client.poll(&completion) || done;
          }
          REQUIRE(done);
        });
  }
}

TEST(Leaving, WhoDoesNotPollHearsOfTheDisconnectAllTheSame) {
  Link ports, times;
  run([&] { serve_and_leave(ports, times, true); },
      [&] {
        ClientEnd client(static_cast<uint16_t>(ports.hear()));
        client.send();
        const int left = times.hear();
        expect_event(client.channel, RDMA_CM_EVENT_DISCONNECTED);
        REQUIRE(milliseconds() - left >= kHeld_ms - 1);
      });
}

// Nothing to poll: nothing to wait for.
TEST(Leaving, ADisconnectWithNothingBeforeItComesAtOnce) {
  Link ports, times;
  int soonest = 1000;
  for (int round = 0; round < kRounds && soonest >= kHeld_ms / 2; ++round) {
    Link took;
    run([&] { serve_and_leave(ports, times, false); },
        [&] {
          ClientEnd client(static_cast<uint16_t>(ports.hear()));
          const int left = times.hear();
          expect_event(client.channel, RDMA_CM_EVENT_DISCONNECTED);
          took.tell(milliseconds() - left);
        });
    ASSERT_FALSE(HasFailure());
    soonest = std::min(soonest, took.hear());
  }
  EXPECT_LT(soonest, kHeld_ms / 2);
}

}  // namespace
}  // namespace cm_test
