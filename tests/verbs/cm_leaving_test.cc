// SPDX-License-Identifier: BSD-2-Clause
// A side that leaves as soon as it has what it wanted: the other one must still hear that it was delivered.
#include <infiniband/verbs.h>

#include "tests/verbs/cm_sides.h"
#include "tests/verbs/provider_fixture.h"

namespace cm_test {
namespace {

constexpr int kRounds = 8;

// Verbs alone. The one that receives returns from main() at once; nothing is closed.
TEST(Leaving, WhoExitsHasAcknowledged) {
  for (int round = 0; round < kRounds && !HasFailure(); ++round) {
    Link to_client, to_server;
    const auto side = [](Link& own, Link& other, bool sends) {
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
    };
    run([&] { side(to_server, to_client, false); }, [&] { side(to_client, to_server, true); });
  }
}

}  // namespace
}  // namespace cm_test
