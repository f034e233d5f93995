// SPDX-License-Identifier: BSD-2-Clause
// Faults that a program injects into its own device by mrcdv.h: each happens as often as it is counted, and
// what is counted is what is missing.   fault_test MRCCTL [gtest's options]
#include <gtest/gtest.h>
#include <poll.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "include/mrc/mrcdv.h"
#include "tests/verbs/provider_fixture.h"

namespace provider_test {
namespace {

std::string g_mrcctl;

class FaultTest : public LoopTest {
 protected:
  uint32_t add(const std::string& fault) {
    uint32_t id = 0;
    EXPECT_EQ(mrcdv_add_fault(context, fault.c_str(), &id), 0) << fault;
    return id;
  }
  uint64_t hits(uint32_t id) {
    std::array<mrcdv_fault, 16> faults{};
    const int count = mrcdv_query_faults(context, faults.data(), 16);
    for (int i = 0; i < count; ++i)
      if (faults[static_cast<size_t>(i)].id == id) return faults[static_cast<size_t>(i)].hits;
    ADD_FAILURE() << "no fault " << id;
    return 0;
  }
  // Of all engines of this process, as mrcctl state tells it.
  uint64_t counter(const std::string& name) {
    FILE* pipe = popen((g_mrcctl + " state").c_str(), "r");
    std::string text;
    for (int c; (c = fgetc(pipe)) != EOF;) text += static_cast<char>(c);
    EXPECT_EQ(pclose(pipe), 0) << text;
    uint64_t sum = 0;
    for (size_t at = 0; (at = text.find(" " + name + "=", at)) != std::string::npos;) {
      at += name.size() + 2;
      sum += std::strtoull(text.c_str() + at, nullptr, 10);
    }
    return sum;
  }
  void write_much(int messages) {
    constexpr uint32_t kMessage = 200'000;
    for (size_t i = 0; i < kMessage; ++i) memory[i] = static_cast<uint8_t>(i * 7);
    for (int i = 0; i < messages; ++i) {
      std::fill(memory.begin() + kThere, memory.begin() + kThere + kMessage, uint8_t{0});
      ibv_sge from = segment(0, kMessage);
      ASSERT_EQ(post(pair[0], write_request(&from, kThere, 1)), 0);
      ASSERT_EQ(poll_one(send_queue).status, IBV_WC_SUCCESS);
      ASSERT_EQ(std::memcmp(memory.data(), memory.data() + kThere, kMessage), 0);
    }
  }
  void expect_event(ibv_event_type wanted) {
    pollfd file{context->async_fd, POLLIN, 0};
    ASSERT_EQ(poll(&file, 1, 10'000), 1);
    ibv_async_event event{};
    ASSERT_EQ(ibv_get_async_event(context, &event), 0);
    EXPECT_EQ(event.event_type, wanted);
    ibv_ack_async_event(&event);
  }
};

TEST_F(FaultTest, WhatIsDroppedIsMissing) {
  const uint64_t sent = counter("frames_sent");
  const uint64_t received = counter("frames_received");
  const uint32_t id = add("drop rate=0.05 opcode=write direction=send seed=3");
  write_much(10);
  EXPECT_EQ(mrcdv_remove_fault(context, id), 0);
  write_much(1);
  std::this_thread::sleep_for(50ms);
  const uint64_t dropped = counter("faults_injected.drop");
  EXPECT_GT(dropped, 5u);
  EXPECT_EQ(counter("frames_sent") - sent - (counter("frames_received") - received), dropped);
}

TEST_F(FaultTest, WhatIsDamagedIsRefused) {
  for (const char* direction : {"send", "receive"}) {
    const uint64_t before = counter("drops_bad_icrc");
    const uint32_t id = add(std::string("corrupt rate=0.05 opcode=write direction=") + direction);
    write_much(10);
    std::this_thread::sleep_for(50ms);
    const uint64_t damaged = hits(id);
    EXPECT_GT(damaged, 5u);
    EXPECT_EQ(counter("drops_bad_icrc") - before, damaged);
    EXPECT_EQ(mrcdv_remove_fault(context, id), 0);
  }
}

TEST_F(FaultTest, EveryKindIsGotOver) {
  for (const char* fault :
       {"duplicate rate=0.1", "delay rate=0.1 delay_us=500", "reorder rate=0.1", "trim rate=0.1 opcode=data",
        "mark rate=0.1", "black-hole plane=1 opcode=write", "drop count=2 opcode=control"}) {
    const uint32_t id = add(fault);
    write_much(5);
    EXPECT_GT(hits(id), 0u) << fault;
    EXPECT_EQ(mrcdv_remove_fault(context, id), 0);
  }
}

TEST_F(FaultTest, TheNthRequestFails) {
  char fault[96];
  std::snprintf(fault, sizeof fault, "request nth=2 status=rem-access-err qpn=%u", pair[0]->qp_num);
  const uint32_t id = add(fault);
  for (const ibv_wc_status wanted : {IBV_WC_SUCCESS, IBV_WC_REM_ACCESS_ERR}) {
    ibv_sge from = segment(0, 8);
    ASSERT_EQ(post(pair[0], write_request(&from, kThere, 1)), 0);
    EXPECT_EQ(poll_one(send_queue).status, wanted);
  }
  EXPECT_EQ(hits(id), 1u);
}

TEST_F(FaultTest, TheNthCallFails) {
  add("call call=reg-mr nth=2 errno=ENOMEM");
  for (const bool works : {true, false, true}) {
    errno = 0;
    ibv_mr* more = ibv_reg_mr(domain, memory.data(), 4096, 0);
    EXPECT_EQ(more != nullptr, works);
    if (more != nullptr)
      EXPECT_EQ(ibv_dereg_mr(more), 0);
    else
      EXPECT_EQ(errno, ENOMEM);
  }
  const uint32_t id = add("call call=modify-qp errno=EINVAL count=1");
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  EXPECT_EQ(ibv_modify_qp(pair[1], &attributes, IBV_QP_STATE), EINVAL);
  EXPECT_EQ(ibv_modify_qp(pair[1], &attributes, IBV_QP_STATE), 0);
  EXPECT_EQ(hits(id), 1u);
}

TEST_F(FaultTest, EventsAreRaised) {
  add("event event=device-fatal");
  expect_event(IBV_EVENT_DEVICE_FATAL);
  add("event event=qp-fatal qpn=" + std::to_string(pair[1]->qp_num));
  expect_event(IBV_EVENT_QP_FATAL);
}

TEST_F(FaultTest, SlowAndFullCompletionQueues) {
  const uint32_t id = add("slow-cq delay_us=200000");
  const auto start = std::chrono::steady_clock::now();
  ibv_sge from = segment(0, 8);
  ASSERT_EQ(post(pair[0], write_request(&from, kThere, 1)), 0);
  EXPECT_EQ(poll_one(send_queue).status, IBV_WC_SUCCESS);
  EXPECT_GE(std::chrono::steady_clock::now() - start, 200ms);
  EXPECT_EQ(mrcdv_remove_fault(context, id), 0);
  add("full-cq count=1");
  ASSERT_EQ(post(pair[0], write_request(&from, kThere, 1)), 0);
  ibv_wc none{};
  EXPECT_EQ(poll_for(send_queue, 1, &none, 100ms), 0);
  expect_event(IBV_EVENT_QP_FATAL);  // whose completion was lost
  expect_event(IBV_EVENT_CQ_ERR);
}

TEST_F(FaultTest, WrongWordsAreRefused) {
  uint32_t id = 0;
  for (const char* wrong :
       {"", "drip", "drop rate=2", "drop rate", "drop plane=16", "delay", "drop opcode=what", "request nth=1",
        "event event=qp-fatal", "call errno=0", "drop colour=red"})
    EXPECT_EQ(mrcdv_add_fault(context, wrong, &id), EINVAL) << wrong;
  EXPECT_EQ(mrcdv_add_fault(context, nullptr, &id), EINVAL);
  EXPECT_EQ(mrcdv_add_fault(nullptr, "drop", &id), EINVAL);
  EXPECT_EQ(mrcdv_remove_fault(context, 4711), ENOENT);
  EXPECT_EQ(mrcdv_query_faults(context, nullptr, -1), -EINVAL);
}

}  // namespace
}  // namespace provider_test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc != 2) {
    std::fprintf(stderr, "usage: fault_test MRCCTL\n");
    return 2;
  }
  provider_test::g_mrcctl = argv[1];
  return RUN_ALL_TESTS();
}
