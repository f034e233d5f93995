// SPDX-License-Identifier: BSD-2-Clause
// What consumes a receive request: when there is none, when it is too short, and whose turn it is.
#include <gtest/gtest.h>

#include "tests/unit/qp_wire_tap.h"

namespace mrc::test {
namespace {

TEST(Receives, ReceiverNotReadyComesAgain) {
  WirePair pair;
  uint8_t data[100] = {1, 2, 3};
  uint8_t into[100] = {};
  pair.post(pair.a, Operation::kSend, 1, {pair.segment(pair.a, data, 100, 0)});
  pair.ring(pair.a);
  pair.run_for(2 * kMillisecond);
  EXPECT_TRUE(pair.a.sends.empty());
  EXPECT_GT(pair.b.engine->counters().not_ready_sent, 1u);
  EXPECT_EQ(pair.a.engine->counters().paths_demoted, 0u) << "not ready says nothing about paths";
  pair.post_receive(pair.b, 9, {pair.segment(pair.b, into, 100, kLocalWrite)});
  ASSERT_TRUE(pair.run([&] { return !pair.a.sends.empty(); }));
  EXPECT_EQ(pair.poll(pair.a.sends)[0].status, CompletionStatus::kSuccess);
  EXPECT_EQ(0, std::memcmp(data, into, 100));
}

TEST(Receives, ReceiverNotReadyGivesUp) {
  PairOptions options;
  options.rnr_retry = 3;
  WirePair pair(options);
  pair.post(pair.a, Operation::kSend, 1, {});
  pair.ring(pair.a);
  ASSERT_TRUE(pair.run([&] { return !pair.a.sends.empty(); }));
  EXPECT_EQ(pair.poll(pair.a.sends)[0].status, CompletionStatus::kRnrRetryExceeded);
  EXPECT_EQ(pair.b.engine->counters().not_ready_sent, 4u);
}

TEST(Receives, SharedReceivesAndTheirLimit) {
  PairOptions options;
  options.shared_entries = 16;
  options.loss = 0.1;
  options.jitter = true;
  WirePair pair(options);
  std::vector<std::vector<uint8_t>> into(10, std::vector<uint8_t>(3000));
  for (uint64_t i = 0; i < 10; ++i)
    pair.post_receive(pair.b, i, {pair.segment(pair.b, into[i].data(), 3000, kLocalWrite)});
  pair.shared->arm(4);
  auto data = pattern(3000, 1);
  const Segment from = pair.segment(pair.a, data.data(), 3000, 0);
  for (uint64_t i = 0; i < 10; ++i) {
    pair.post(pair.a, Operation::kSendImm, i, {from})->immediate = static_cast<uint32_t>(i);
    pair.ring(pair.a);
  }
  ASSERT_TRUE(pair.run([&] { return pair.b.receives.pushed() == 10; }));
  uint32_t next = 0;
  std::map<uint64_t, int> used;
  for (const Completion& done : pair.poll(pair.b.receives)) {
    EXPECT_EQ(done.immediate, next++);
    ++used[done.work_id];
    EXPECT_EQ(into[done.work_id], data);
  }
  EXPECT_EQ(used.size(), 10u);
  EXPECT_EQ(pair.b.seen.limits, 1);
}

// A message behind others that have not arrived yet takes no request of a shared queue before them: with one
// request left, the first could never be delivered.
TEST(Receives, SharedReceivesAreTakenInOrder) {
  PairOptions options;
  options.shared_entries = 4;
  WirePair pair(options);
  std::vector<uint8_t> into(64);
  pair.post_receive(pair.b, 7, {pair.segment(pair.b, into.data(), 64, kLocalWrite)});
  pair.run_for(kMillisecond);
  for (const uint16_t msn : {1, 0}) {
    EXPECT_EQ(pair.shared->available(), 1u);
    Bth bth;
    bth.opcode = Opcode::kSendOnly;
    bth.destination = pair.b.qp->qpn();
    bth.psn = Psn(5u + msn);
    Craft craft;
    craft.payload.assign(8, static_cast<uint8_t>(msn));
    inject(pair, pair.b, craft, bth, Meth{msn, msn}, Reth{0, MemoryKey{}, 8});
    pair.run_for(5 * kMicrosecond);
  }
  const auto done = pair.poll(pair.b.receives);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].work_id, 7u);
  EXPECT_EQ(into[0], 0);
}

// Whoever finds that the peer is not ready tries with a few packets whether it is, not with all that it has.
TEST(Receives, ANotReadyPeerIsNotFlooded) {
  WirePair pair;
  auto data = pattern(1024, 1);
  std::vector<uint8_t> into(1024);
  const Segment from = pair.segment(pair.a, data.data(), 1024, 0);
  const Segment to = pair.segment(pair.b, into.data(), 1024, kLocalWrite);
  pair.run_for(kMillisecond);
  for (uint64_t i = 0; i < 14; ++i) {
    pair.post(pair.a, Operation::kSend, i, {from});
    pair.ring(pair.a);
  }
  pair.run_for(20 * kMillisecond);
  const uint64_t refused = pair.b.engine->counters().not_ready_sent;
  EXPECT_GT(refused, 5u);
  EXPECT_LT(pair.a.engine->counters().retransmissions_sent, 9 * (refused + 2));
  for (uint64_t i = 0; i < 14; ++i) pair.post_receive(pair.b, i, {to});
  ASSERT_TRUE(pair.run([&] { return pair.a.sends.pushed() == 14; }));
  EXPECT_EQ(pair.b.receives.pushed(), 14u);
}

// A reply proves that its sender has what it replies to. The ACK is lost; what it would have said is in the
// reply.
TEST(Receives, AReplyIsNotReportedBeforeWhatItAnswers) {
  WirePair pair;
  Tap tap(pair.b);
  auto data = pattern(64, 1);
  std::vector<uint8_t> into(64);
  const Segment from_a = pair.segment(pair.a, data.data(), 64, 0);
  const Segment from_b = pair.segment(pair.b, data.data(), 64, 0);
  pair.post_receive(pair.a, 1, {pair.segment(pair.a, into.data(), 64, kLocalWrite)});
  pair.post_receive(pair.b, 1, {pair.segment(pair.b, into.data(), 64, kLocalWrite)});
  pair.run_for(kMillisecond);
  tap.drop = [](const Packet& packet) {
    return packet.bth.opcode == Opcode::kAcknowledge || packet.bth.opcode == Opcode::kSack;
  };
  pair.post(pair.a, Operation::kSend, 5, {from_a});
  pair.ring(pair.a);
  ASSERT_TRUE(pair.run([&] { return pair.b.receives.pushed() == 1; }));
  EXPECT_EQ(pair.a.sends.pushed(), 0u);
  pair.post(pair.b, Operation::kSend, 6, {from_b});
  pair.ring(pair.b);
  ASSERT_TRUE(pair.run([&] { return pair.a.receives.pushed() == 1; }));
  EXPECT_EQ(pair.a.sends.pushed(), 1u);
}

TEST(Receives, AReceiveThatIsTooShort) {
  WirePair pair;
  auto data = pattern(2000, 1);
  std::vector<uint8_t> into(1000, 0xEE);
  pair.post_receive(pair.b, 3, {pair.segment(pair.b, into.data(), 1000, kLocalWrite)});
  pair.post_receive(pair.b, 4, {});
  pair.post(pair.a, Operation::kSend, 1, {pair.segment(pair.a, data.data(), 2000, 0)});
  pair.ring(pair.a);
  ASSERT_TRUE(pair.run([&] { return !pair.a.sends.empty() && pair.b.receives.pushed() == 2; }));
  EXPECT_EQ(pair.poll(pair.a.sends)[0].status, CompletionStatus::kRemoteInvalidRequest);
  const auto received = pair.poll(pair.b.receives);
  EXPECT_EQ(received[0].status, CompletionStatus::kLocalLengthError);
  EXPECT_EQ(received[0].work_id, 3u);
  EXPECT_EQ(received[1].status, CompletionStatus::kFlushed);
  EXPECT_EQ(into, std::vector<uint8_t>(1000, 0xEE));
}

}  // namespace
}  // namespace mrc::test
