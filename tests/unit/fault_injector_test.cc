// SPDX-License-Identifier: BSD-2-Clause
// Things that go wrong on purpose: each kind happens as often as it is counted, to what was chosen and to
// nothing else, and the transport gets over it.
#include "libmrc/fault/fault_injector.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <vector>

#include "tests/unit/qp_wire_pair.h"

namespace mrc::test {
namespace {

constexpr uint32_t kBytes = 200'000;

class Faults : public ::testing::Test {
 protected:
  // Adds a rule to one end; its number is its place.
  void add(End& end, FaultRule rule) {
    std::vector<FaultInjector::Counted>& rules = &end == &pair.a ? rules_a_ : rules_b_;
    hits.push_back(std::make_unique<std::atomic<uint64_t>>(0));
    rule.id = static_cast<uint32_t>(hits.size());
    rules.push_back({rule, hits.back().get()});
    set(end, rules);
  }
  void set(End& end, const std::vector<FaultInjector::Counted>& rules) {
    const FaultInjector::Config config{TransportConfig{}.dscp_trimmed, 0};
    end.engine->set_faults(std::make_unique<FaultInjector>(rules, config), pair.now());
  }
  static FaultRule of_writes(FaultKind kind, double rate, uint8_t direction) {
    FaultRule rule;
    rule.kind = kind;
    rule.rate = static_cast<uint64_t>(rate * static_cast<double>(FaultRule::kAlways));
    rule.direction = direction;
    rule.opcodes = {0, 0, 0, 0};
    for (int opcode = 0xC6; opcode <= 0xCB; ++opcode)
      rule.opcodes[static_cast<size_t>(opcode) / 64] |= uint64_t{1} << opcode % 64;
    return rule;
  }
  // A WRITE of kBytes from a to b; what b then has.
  std::vector<uint8_t> write(CompletionStatus* status = nullptr) {
    std::vector<uint8_t> from = pattern(kBytes, 7);
    std::vector<uint8_t> to(kBytes);
    const Segment target = pair.segment(pair.b, to.data(), kBytes, kLocalWrite | kRemoteWrite);
    SendRequest* request =
        pair.post(pair.a, Operation::kWrite, 1, {pair.segment(pair.a, from.data(), kBytes, 0)});
    request->remote_address = target.address;
    request->remote_key = target.key;
    pair.ring(pair.a);
    EXPECT_TRUE(pair.run([&] { return !pair.a.sends.empty(); }));
    const auto done = WirePair::poll(pair.a.sends);
    EXPECT_EQ(done.size(), 1u);
    if (status != nullptr)
      *status = done[0].status;
    else
      EXPECT_EQ(done[0].status, CompletionStatus::kSuccess);
    return to;
  }
  uint64_t injected(End& end, FaultKind kind) {
    return end.engine->counters().faults_injected[static_cast<size_t>(kind)];
  }

  WirePair pair;
  std::vector<std::unique_ptr<std::atomic<uint64_t>>> hits;
  std::vector<FaultInjector::Counted> rules_a_;
  std::vector<FaultInjector::Counted> rules_b_;
};

TEST_F(Faults, WhatIsDroppedIsWhatThePeerMisses) {
  for (End* end : {&pair.a, &pair.b})
    for (auto& port : end->ports) port->drop = nullptr;
  add(pair.a, of_writes(FaultKind::kDrop, 0.1, FaultRule::kSend));
  EXPECT_EQ(write(), pattern(kBytes, 7));
  pair.run_for(kMillisecond);
  const uint64_t dropped = injected(pair.a, FaultKind::kDrop);
  EXPECT_GT(dropped, 5u);
  EXPECT_EQ(hits[0]->load(), dropped);
  EXPECT_EQ(pair.a.engine->counters().frames_sent - dropped, pair.b.engine->counters().frames_received);
  EXPECT_GT(pair.a.engine->counters().retransmits(), 0u);
}

TEST_F(Faults, WhatIsDamagedIsNotTaken) {
  for (const uint8_t direction : {FaultRule::kSend, FaultRule::kReceive}) {
    End& end = direction == FaultRule::kSend ? pair.a : pair.b;
    add(end, of_writes(FaultKind::kCorrupt, 0.1, direction));
    const uint64_t before = pair.b.engine->counters().drops_bad_icrc;
    EXPECT_EQ(write(), pattern(kBytes, 7));
    pair.run_for(kMillisecond);
    EXPECT_GT(injected(end, FaultKind::kCorrupt), 5u);
    EXPECT_EQ(pair.b.engine->counters().drops_bad_icrc - before, injected(end, FaultKind::kCorrupt));
    end.engine->set_faults(nullptr, pair.now());
  }
}

TEST_F(Faults, DuplicatesAreCountedByThePeer) {
  add(pair.a, of_writes(FaultKind::kDuplicate, 0.2, FaultRule::kSend));
  add(pair.b, of_writes(FaultKind::kDuplicate, 0.2, FaultRule::kReceive));
  EXPECT_EQ(write(), pattern(kBytes, 7));
  pair.run_for(kMillisecond);
  EXPECT_GT(injected(pair.a, FaultKind::kDuplicate), 10u);
  EXPECT_GT(injected(pair.b, FaultKind::kDuplicate), 10u);
  EXPECT_EQ(pair.b.engine->counters().duplicates - pair.a.engine->counters().retransmissions_sent,
            injected(pair.a, FaultKind::kDuplicate) + injected(pair.b, FaultKind::kDuplicate));
}

TEST_F(Faults, TrimmedOnesAreAskedForAgain) {
  add(pair.a, of_writes(FaultKind::kTrim, 0.1, FaultRule::kSend));
  EXPECT_EQ(write(), pattern(kBytes, 7));
  pair.run_for(kMillisecond);
  EXPECT_GT(injected(pair.a, FaultKind::kTrim), 5u);
  EXPECT_EQ(pair.b.engine->counters().trimmed_received, injected(pair.a, FaultKind::kTrim));
  EXPECT_GT(pair.a.engine->counters().retransmits_nack, 0u);
}

TEST_F(Faults, MarkedPathsMissTurns) {
  add(pair.b, of_writes(FaultKind::kMark, 0.1, FaultRule::kReceive));
  EXPECT_EQ(write(), pattern(kBytes, 7));
  EXPECT_GT(injected(pair.b, FaultKind::kMark), 5u);
  EXPECT_GT(pair.a.engine->counters().paths.skipped, 0u);
}

TEST_F(Faults, LateAndOvertakenOnesArrive) {
  for (const FaultKind kind : {FaultKind::kDelay, FaultKind::kReorder})
    for (const uint8_t direction : {FaultRule::kSend, FaultRule::kReceive}) {
      End& end = direction == FaultRule::kSend ? pair.a : pair.b;
      const uint64_t before = injected(end, kind);
      FaultRule rule = of_writes(kind, 0.2, direction);
      rule.delay_ns = 300 * kMicrosecond;
      add(end, rule);
      EXPECT_EQ(write(), pattern(kBytes, 7));
      EXPECT_GT(injected(end, kind), before + 10);
      end.engine->set_faults(nullptr, pair.now());
      (direction == FaultRule::kSend ? rules_a_ : rules_b_).clear();
    }
}

TEST_F(Faults, OnlyWhatWasChosen) {
  FaultRule rule = of_writes(FaultKind::kDrop, 1, FaultRule::kSend);
  rule.psn_first = rule.psn_last = 10;
  rule.count = 1;
  add(pair.a, rule);
  FaultRule plane = of_writes(FaultKind::kBlackHole, 1, FaultRule::kSend);
  plane.planes = 2;
  add(pair.a, plane);
  EXPECT_EQ(write(), pattern(kBytes, 7));
  EXPECT_EQ(injected(pair.a, FaultKind::kDrop), 1u);
  EXPECT_GT(injected(pair.a, FaultKind::kBlackHole), 0u);
  EXPECT_GT(pair.a.engine->counters().paths_demoted, 0u) << "nothing comes through plane 1";
  FaultRule entropy = of_writes(FaultKind::kDrop, 1, FaultRule::kSend);
  entropy.entropy_mask = ~uint32_t{0};
  entropy.entropy = 0x12345678;  // nobody has it
  set(pair.a, {{entropy, nullptr}});
  const uint64_t before = injected(pair.a, FaultKind::kDrop);
  write();
  EXPECT_EQ(injected(pair.a, FaultKind::kDrop), before);
}

TEST_F(Faults, TheNthRequestFails) {
  FaultRule rule;
  rule.kind = FaultKind::kRequest;
  rule.skip = 2;
  rule.count = 1;
  rule.value = static_cast<uint32_t>(CompletionStatus::kRemoteAccessError);
  rule.qpn = pair.a.qp->qpn().value();
  add(pair.a, rule);
  write();
  write();
  CompletionStatus status{};
  write(&status);
  EXPECT_EQ(status, CompletionStatus::kRemoteAccessError);
  EXPECT_EQ(pair.a.qp->state(), QueuePairState::kError);
  EXPECT_EQ(injected(pair.a, FaultKind::kRequest), 1u);
}

TEST_F(Faults, SlowAndFullCompletionQueues) {
  FaultRule slow;
  slow.kind = FaultKind::kSlowCq;
  slow.delay_ns = 50 * kMillisecond;
  add(pair.a, slow);
  const Nanoseconds start = pair.now();
  write();
  EXPECT_GE(pair.now(), start + 50 * kMillisecond);
  EXPECT_EQ(injected(pair.a, FaultKind::kSlowCq), 1u);
  EXPECT_EQ(pair.a.seen.overruns, 0);
  FaultRule full;
  full.kind = FaultKind::kFullCq;
  full.count = 1;
  set(pair.a, {{full, nullptr}});
  std::vector<uint8_t> byte(1);
  SendRequest* request = pair.post(pair.a, Operation::kSend, 1, {pair.segment(pair.a, byte.data(), 1, 0)});
  ASSERT_NE(request, nullptr);
  pair.post_receive(pair.b, 1, {});
  request->bytes = 0;
  request->segment_count = 0;
  pair.ring(pair.a);
  EXPECT_TRUE(pair.run([&] { return pair.a.seen.overruns == 1; }));
  EXPECT_TRUE(pair.a.sends.empty());
  EXPECT_TRUE(pair.a.sends.overrun());
}

// More than can be held back: they come sooner, in their order, and no queue is taken for full.
TEST(SlowCompletions, ComeSoonerWhenTheyAreTooMany) {
  FaultRule slow;
  slow.kind = FaultKind::kSlowCq;
  slow.delay_ns = kSecond;
  Counters counters;
  FaultInjector injector(std::vector<FaultInjector::Counted>{{slow, nullptr}}, {});
  injector.set_counters(&counters);
  CompletionSink sink;
  sink.set_faults(&injector);
  constexpr uint64_t kMany = 2 * HeldCompletions::kMax + 10;
  CompletionQueue queue(kMany);
  for (uint64_t i = 0; i < kMany; ++i) {
    Completion completion;
    completion.work_id = i;
    ASSERT_TRUE(sink.push(&queue, completion));
  }
  EXPECT_FALSE(queue.overrun());
  EXPECT_GE(queue.pushed(), HeldCompletions::kMax);
  EXPECT_LT(queue.pushed(), kMany) << "some are still late";
  injector.set_now(2 * kSecond);
  injector.release(sink);
  const std::vector<Completion> all = WirePair::poll(queue);
  ASSERT_EQ(all.size(), kMany);
  for (uint64_t i = 0; i < kMany; ++i) EXPECT_EQ(all[i].work_id, i);
}

// A rule that is added does not begin those that are there again.
TEST_F(Faults, RulesGoOnWhereTheyWere) {
  FaultRule first = of_writes(FaultKind::kDrop, 1, FaultRule::kSend);
  first.count = 3;
  add(pair.a, first);
  write();
  EXPECT_EQ(hits[0]->load(), 3u);
  add(pair.a, of_writes(FaultKind::kMark, 0.1, FaultRule::kSend));
  write();
  EXPECT_EQ(hits[0]->load(), 3u);
  EXPECT_GT(hits[1]->load(), 0u);
}

}  // namespace
}  // namespace mrc::test
