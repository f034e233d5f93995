// SPDX-License-Identifier: BSD-2-Clause
// One end of a connection of rdma_cm that moves data.
#pragma once

#include <infiniband/verbs.h>
#include <rdma/rdma_verbs.h>

#include <cstdint>
#include <vector>

#include "tests/verbs/cm_sides.h"
#include "tests/verbs/provider_fixture.h"

namespace cm_test {

// Memory, a completion queue and a queue pair of an id, with one receive posted.
struct End {
  static constexpr size_t kBytes = 2048;  // of a message
  std::vector<uint8_t> memory = std::vector<uint8_t>(2 * kBytes);
  ibv_mr* region = nullptr;
  ibv_cq* queue = nullptr;
  rdma_cm_id* id = nullptr;

  explicit End(rdma_cm_id* id) : id(id) {
    REQUIRE((queue = ibv_create_cq(id->verbs, 64, nullptr, nullptr, 0)) != nullptr);
    ibv_qp_init_attr wanted = provider_test::queue_pair_wanted(queue, queue);
    REQUIRE(rdma_create_qp(id, nullptr, &wanted) == 0);
    REQUIRE((region = rdma_reg_msgs(id, memory.data(), memory.size())) != nullptr);
    REQUIRE(rdma_post_recv(id, nullptr, memory.data(), kBytes, region) == 0);
  }
  void send() { REQUIRE(rdma_post_send(id, nullptr, memory.data(), 64, region, IBV_SEND_SIGNALED) == 0); }
  // False: there is none.
  bool poll(ibv_wc* done) {
    const int count = ibv_poll_cq(queue, 1, done);
    REQUIRE(count >= 0);
    REQUIRE(count == 0 || done->status == IBV_WC_SUCCESS);
    return count == 1;
  }
  void wait() {
    ibv_wc done;
    while (!poll(&done)) {
    }
  }
};

}  // namespace cm_test
