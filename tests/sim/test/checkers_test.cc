// SPDX-License-Identifier: BSD-2-Clause
// The checkers of the soak, fed with histories that break one rule each: every one must be seen and named.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>

#include "tests/sim/soak/coverage.h"
#include "tests/sim/test/harness.h"
#include "tests/sim/workload/checked_flow.h"
#include "tests/sim/workload/connection.h"

namespace mrc::sim {
namespace {

OperationSet only(const char* names) {
  OperationSet set = 0;
  EXPECT_TRUE(parse_operations(names, &set));
  return set;
}

// A flow between two hosts that is posted, and runs only if the test lets it.
class Checkers : public testing::Test {
 protected:
  void open(const char* operations) {
    FlowConfig config;
    config.messages = 4;
    config.operations = only(operations);
    flow_ = std::make_unique<CheckedFlow>(config, 7);
    ConnectionConfig connection;
    for (EndConfig& end : connection.end) {
      end.send_completions = &queues_.emplace_back(64);
      end.receive_completions = &queues_.emplace_back(64);
    }
    Host& from = fabric_.add_host(0, {});
    Host& to = fabric_.add_host(1, {});
    const QueuePairs pairs = connect(from, to, connection);
    flow_->open(from, to, *pairs.end[0], *pairs.end[1], connection.domain);
    flow_->post_receives();
    flow_->post_sends();
  }
  // Lets the network do its work, and hands over nothing.
  void transfer() { fabric_.run_until(fabric_.now() + 20 * kPerMillisecond); }
  std::vector<Completion> completions(size_t queue) {
    std::vector<Completion> all(64);
    all.resize(queues_[queue].poll(all));
    return all;
  }
  static Completion success(uint64_t work_id, CompletionKind kind) {
    Completion completion;
    completion.work_id = work_id;
    completion.kind = kind;
    return completion;
  }
  void expect_failure(const char* what) {
    EXPECT_NE(flow_->failure().find(what), std::string::npos) << "it says: " << flow_->failure();
    EXPECT_NE(flow_->failure().find("h0 > h1"), std::string::npos) << "where: " << flow_->failure();
  }

  Fabric fabric_{one_leaf(), 1};
  std::deque<CompletionQueue> queues_;
  std::unique_ptr<CheckedFlow> flow_;
};

TEST_F(Checkers, WhatIsRightPasses) {
  open("send");
  transfer();
  for (const Completion& completion : completions(3)) EXPECT_TRUE(flow_->on_received(completion));
  for (const Completion& completion : completions(0)) EXPECT_TRUE(flow_->on_sent(completion));
  EXPECT_TRUE(flow_->done());
  EXPECT_TRUE(flow_->check_memory()) << flow_->failure();
}

TEST_F(Checkers, ACompletionBeforeItsData) {
  open("write");
  uint64_t first_signaled = 0;  // whichever it is, nothing has been sent
  while (first_signaled < 3 && !flow_->is_signaled(first_signaled)) ++first_signaled;
  EXPECT_FALSE(flow_->on_sent(success(first_signaled, CompletionKind::kRdmaWrite)));
  expect_failure("completed before its data were there");
}

TEST_F(Checkers, ACompletionOutOfOrder) {
  open("write");
  transfer();
  EXPECT_FALSE(flow_->on_sent(completions(0).back()));
  expect_failure("send completion out of order");
}

TEST_F(Checkers, ACompletionBeforeThePeerWasTold) {
  open("send_imm");
  transfer();
  EXPECT_FALSE(flow_->on_sent(completions(0).front()));
  expect_failure("completed before the peer was told");
}

TEST_F(Checkers, ImmediatesInAnotherOrder) {
  open("write_imm");
  transfer();
  std::vector<Completion> told = completions(3);
  std::swap(told[0].immediate, told[1].immediate);
  EXPECT_FALSE(flow_->on_received(told[0]));
  expect_failure("immediate out of order");
}

TEST_F(Checkers, ReceiveRequestsInAnotherOrder) {
  open("send");
  transfer();
  EXPECT_FALSE(flow_->on_received(completions(3).back()));
  expect_failure("receive requests used out of order");
}

TEST_F(Checkers, AnErrorThatWasNotAllowed) {
  open("write");
  Completion failed = success(0, CompletionKind::kRdmaWrite);
  failed.status = CompletionStatus::kRetryExceeded;
  EXPECT_FALSE(flow_->on_sent(failed));
  expect_failure("send completion with status");
}

TEST_F(Checkers, AByteThatIsWrittenOnceMore) {
  open("write");
  transfer();
  for (const Completion& completion : completions(0)) EXPECT_TRUE(flow_->on_sent(completion));
  flow_->target().data()[flow_->target().bytes() / 2] ^= 1;
  EXPECT_FALSE(flow_->check_memory());
  expect_failure("of the target is wrong");
}

TEST_F(Checkers, AByteOutsideTheRegion) {
  open("write");
  flow_->target().data()[flow_->target().bytes()] ^= 1;
  EXPECT_FALSE(flow_->check_memory());
  expect_failure("memory outside the target region was written");
}

TEST_F(Checkers, AnAtomicThatHappensTwice) {
  open("fetch_add");
  transfer();
  for (const Completion& completion : completions(0)) EXPECT_TRUE(flow_->on_sent(completion));
  EXPECT_TRUE(flow_->check_memory()) << flow_->failure();
  for (size_t cell = 0; cell < 4; ++cell) ++flow_->target().data()[cell * 8];
  EXPECT_FALSE(flow_->check_memory());
  expect_failure("of the target is wrong");
}

TEST(Coverage, NamesWhatWasNeverMet) {
  const std::string missing = Coverage{}.missing();
  EXPECT_EQ(std::count(missing.begin(), missing.end(), ' '), Coverage::kItems);
  for (const char* item : {"compare_swap", "loss", "gray_link", "switch_dead", "host_pause", "always_skip",
                           "3_tiers", "srv6", "echo_port_high"})
    EXPECT_NE(missing.find(std::string(" ") + item), std::string::npos) << item;
}

// What a host reads is met by whoever speaks MRC to one of the other reading, and by nobody else.
TEST(Coverage, CountsReadingsThatWereSpoken) {
  SoakPlan plan;
  PlannedConnection connection{};
  connection.host[1] = 1;
  plan.connections.push_back(connection);
  plan.interop[1].echo_port_first = true;
  Fabric fabric(one_leaf(), 1);
  const FaultPlan faults(fabric);
  const auto missing = [&] {
    Coverage coverage;
    coverage.note(plan, faults, 0, 0, false);
    return coverage.missing();
  };
  EXPECT_NE(missing().find(" echo_port_high"), std::string::npos) << "nothing was drawn";
  plan.readings_drawn = true;
  EXPECT_EQ(missing().find(" echo_port_"), std::string::npos);
  EXPECT_NE(missing().find(" no_pad"), std::string::npos) << "both pad";
  plan.connections[0].plain_rc = true;
  EXPECT_NE(missing().find(" echo_port_high"), std::string::npos) << "RC has no echo";
}

}  // namespace
}  // namespace mrc::sim
