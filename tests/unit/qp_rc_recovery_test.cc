// SPDX-License-Identifier: BSD-2-Clause
// Plain RoCEv2 RC under loss, duplication and receivers that are not ready: go-back-N.
#include <gtest/gtest.h>

#include <optional>

#include "tests/unit/qp_mixed_work.h"
#include "tests/unit/qp_rc_pair.h"

namespace mrc::test {
namespace {

TEST(Rc, ASequenceErrorGoesBackOnce) {
  WirePair pair(rc_options());
  Wire sent(pair.a);
  bool lost = false;
  sent.drop = [&](const Packet& packet) { return packet.bth.psn == Psn(8) && !std::exchange(lost, true); };
  auto data = pattern(20 * 1024, 0);
  std::vector<uint8_t> remote(data.size());
  const auto bytes = static_cast<uint32_t>(data.size());
  aim(pair.post(pair.a, Operation::kWrite, 1, {pair.segment(pair.a, data.data(), bytes, 0)}),
      pair.segment(pair.b, remote.data(), bytes, kRemoteWrite));
  pair.ring(pair.a);
  EXPECT_EQ(status_of_one(pair), CompletionStatus::kSuccess);
  EXPECT_EQ(remote, data);
  EXPECT_EQ(pair.b.engine->counters().naks_sent, 1u);
  EXPECT_EQ(pair.b.engine->counters().out_of_sequence, 16u);
  EXPECT_EQ(pair.a.engine->counters().retransmits_sequence, 17u) << "everything from the lost one on";
  EXPECT_EQ(pair.a.engine->counters().retransmits_timeout, 0u);
  EXPECT_EQ(pair.a.qp->retransmits()[static_cast<size_t>(RetransmitCause::kGap)], 17u);
}

TEST(Rc, ALostReadResponseIsAskedForFromTheGap) {
  WirePair pair(rc_options());
  Wire sent(pair.a), answered(pair.b);
  bool lost = false;
  answered.drop = [&](const Packet& packet) {
    return packet.bth.psn == Psn(7) && !std::exchange(lost, true);
  };
  auto remote = pattern(5000, 1);
  std::vector<uint8_t> local(5000);
  const Segment target = pair.segment(pair.b, remote.data(), 5000, kRemoteRead);
  aim(pair.post(pair.a, Operation::kRead, 1, {pair.segment(pair.a, local.data(), 5000, kLocalWrite)}),
      target);
  pair.ring(pair.a);
  EXPECT_EQ(status_of_one(pair), CompletionStatus::kSuccess);
  EXPECT_EQ(local, remote);
  ASSERT_EQ(sent.packets.size(), 2u);
  EXPECT_EQ(sent.packets[1].bth.psn, Psn(7));
  EXPECT_EQ(sent.packets[1].reth.address, target.address + 2048);
  EXPECT_EQ(sent.packets[1].reth.message_bytes, 5000u - 2048u);
  EXPECT_EQ(pair.a.engine->counters().retransmits_timeout, 0u) << "the gap in the response says it";
}

// A WRITE of 40 packets.
CompletionStatus write_40_packets(WirePair& pair) {
  auto data = pattern(40 * 1024, 0);
  std::vector<uint8_t> remote(data.size());
  const auto bytes = static_cast<uint32_t>(data.size());
  aim(pair.post(pair.a, Operation::kWrite, 1, {pair.segment(pair.a, data.data(), bytes, 0)}),
      pair.segment(pair.b, remote.data(), bytes, kRemoteWrite));
  pair.ring(pair.a);
  const CompletionStatus status = status_of_one(pair);
  EXPECT_EQ(remote, data);
  return status;
}

// A peer that is only slow must not be given the whole window again and again.
TEST(Rc, AfterATimeoutOnePacketAsksHowFarThePeerIs) {
  WirePair pair(rc_options());
  Wire sent(pair.a), answered(pair.b);
  answered.drop = [&](const Packet&) { return sent.packets.size() <= 40; };
  EXPECT_EQ(write_40_packets(pair), CompletionStatus::kSuccess);
  EXPECT_EQ(pair.a.engine->counters().retransmits_timeout, 1u);
  ASSERT_EQ(sent.packets.size(), 41u);
  EXPECT_EQ(sent.packets[40].bth.psn, sent.packets[0].bth.psn);
  EXPECT_TRUE(sent.packets[40].bth.ack_request);
}

TEST(Rc, AfterATimeoutAnswersSpeedItUpAgain) {
  WirePair pair(rc_options());
  Wire sent(pair.a);
  sent.drop = [&](const Packet&) { return sent.packets.size() > 20 && sent.packets.size() <= 40; };
  EXPECT_EQ(write_40_packets(pair), CompletionStatus::kSuccess);
  // The first 20 were acknowledged together. One, then 2, 4, 8 and what is left.
  EXPECT_EQ(pair.a.engine->counters().retransmits_timeout, 20u);
  std::vector<size_t> asked;
  for (size_t i = 40; i < sent.packets.size(); ++i)
    if (sent.packets[i].bth.ack_request) asked.push_back(i - 39);
  EXPECT_EQ(asked, (std::vector<size_t>{1, 3, 7, 15, 20}));
}

// Soft-RoCE would take such an ACK for the answer of the atomic.
TEST(Rc, NoAcknowledgementNamesAnAtomic) {
  WirePair pair(rc_options());
  Wire answered(pair.b);
  int lost = 0;
  answered.drop = [&](const Packet& packet) {
    return packet.bth.opcode == Opcode::kRcAtomicAcknowledge && lost++ == 0;
  };
  alignas(8) uint64_t word = 5;
  uint64_t before = 0;
  pair.post_receive(pair.b, 1, {});
  pair.post(pair.a, Operation::kSend, 1, {});
  pair.ring(pair.a);
  aim(pair.post(pair.a, Operation::kFetchAdd, 2, {pair.segment(pair.a, &before, 8, kLocalWrite)}),
      pair.segment(pair.b, &word, 8, kRemoteAtomic))
      ->compare_add = 10;
  pair.ring(pair.a);
  ASSERT_TRUE(pair.run([&] { return pair.a.sends.pushed() == 2; }));
  EXPECT_EQ(word, 15u);
  EXPECT_EQ(before, 5u);
  std::optional<Psn> atomic;
  for (const Packet& packet : answered.packets)
    if (packet.bth.opcode == Opcode::kRcAtomicAcknowledge) atomic = packet.bth.psn;
  ASSERT_TRUE(atomic);
  EXPECT_GT(answered.count(Opcode::kRcAcknowledge), 0u);
  for (const Packet& packet : answered.packets)
    EXPECT_FALSE(packet.bth.opcode == Opcode::kRcAcknowledge && packet.bth.psn == *atomic);
}

TEST(Rc, ALostAcknowledgementIsSentAgain) {
  WirePair pair(rc_options());
  Wire answered(pair.b);
  int lost = 0;
  answered.drop = [&](const Packet&) { return lost++ == 0; };
  pair.post_receive(pair.b, 1, {});
  pair.post(pair.a, Operation::kSend, 1, {});
  pair.ring(pair.a);
  EXPECT_EQ(status_of_one(pair), CompletionStatus::kSuccess);
  EXPECT_EQ(pair.a.engine->counters().retransmits_timeout, 1u);
  EXPECT_EQ(pair.b.engine->counters().duplicates, 1u);
  EXPECT_EQ(pair.b.receives.pushed(), 1u);
}

// IBTA 9.7.5: the result of an atomic is kept, and the atomic not done again.
TEST(Rc, ALostAtomicAcknowledgementIsReplayed) {
  WirePair pair(rc_options());
  Wire answered(pair.b);
  int lost = 0;
  answered.drop = [&](const Packet&) { return lost++ < 3; };
  alignas(8) uint64_t counter = 5;
  uint64_t before[4] = {};
  const Segment target = pair.segment(pair.b, &counter, 8, kRemoteAtomic);
  for (uint64_t i = 0; i < 4; ++i) {
    aim(pair.post(pair.a, Operation::kFetchAdd, i, {pair.segment(pair.a, &before[i], 8, kLocalWrite)}),
        target)
        ->compare_add = 10;
    pair.ring(pair.a);
  }
  ASSERT_TRUE(pair.run([&] { return pair.a.sends.pushed() == 4; }));
  EXPECT_EQ(counter, 45u);
  for (uint64_t i = 0; i < 4; ++i) EXPECT_EQ(before[i], 5 + 10 * i);
  EXPECT_EQ(pair.b.engine->counters().atomics_served, 4u);
}

TEST(Rc, DuplicatesChangeNothing) {
  for (const uint64_t seed : seeds(10)) {
    PairOptions options = rc_options();
    options.seed = seed;
    options.loss = 0.02;
    options.copies = 2;
    options.retry_exponential = RetryPolicy::kForEver;
    options.timeout = kMillisecond;
    mixed_work(options, 100);
    ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed;
  }
}

TEST(Rc, MixUnderLoss) {
  for (const uint64_t seed : seeds(60)) {
    PairOptions options = rc_options();
    options.loss = static_cast<double>(seed % 5) * 0.05;
    options.jitter = seed % 10 == 0;  // one path keeps its order, but nothing may break without
    options.seed = seed;
    options.planes = 1 + seed % 4;
    options.reads_max = static_cast<uint8_t>(1 + seed % 8);
    options.retry_exponential = RetryPolicy::kForEver;
    options.timeout = kMillisecond;
    mixed_work(options, 100);
    ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed;
  }
}

TEST(Rc, AtomicsHappenExactlyOnce) {
  for (const uint64_t seed : seeds(20)) {
    PairOptions options = rc_options();
    options.loss = 0.2;
    options.seed = seed;
    options.retry_exponential = RetryPolicy::kForEver;
    options.timeout = kMillisecond;
    WirePair pair(options);
    alignas(8) uint64_t counter = 1000;
    uint64_t before[50] = {};
    const Segment target = pair.segment(pair.b, &counter, 8, kRemoteAtomic);
    for (uint64_t i = 0; i < 50; ++i) {
      aim(pair.post(pair.a, Operation::kFetchAdd, i, {pair.segment(pair.a, &before[i], 8, kLocalWrite)}),
          target)
          ->compare_add = 7;
      pair.ring(pair.a);
    }
    ASSERT_TRUE(pair.run([&] { return pair.a.sends.pushed() == 50; })) << "seed " << seed;
    EXPECT_EQ(counter, 1000u + 50 * 7) << "seed " << seed;
    for (uint64_t i = 0; i < 50; ++i) EXPECT_EQ(before[i], 1000 + i * 7);
  }
}

TEST(Rc, ReceiverNotReadyComesAgain) {
  WirePair pair(rc_options());
  auto data = pattern(3000, 1);
  std::vector<uint8_t> into(3000);
  pair.post(pair.a, Operation::kSend, 1, {pair.segment(pair.a, data.data(), 3000, 0)});
  pair.ring(pair.a);
  pair.run_for(2 * kMillisecond);
  EXPECT_TRUE(pair.a.sends.empty());
  EXPECT_GT(pair.b.engine->counters().not_ready_sent, 1u);
  pair.post_receive(pair.b, 9, {pair.segment(pair.b, into.data(), 3000, kLocalWrite)});
  EXPECT_EQ(status_of_one(pair), CompletionStatus::kSuccess);
  EXPECT_EQ(into, data);
  EXPECT_EQ(pair.a.engine->counters().retransmits_timeout, 0u);
}

TEST(Rc, ReceiverNotReadyGivesUp) {
  PairOptions options = rc_options();
  options.rnr_retry = 3;
  WirePair pair(options);
  pair.post(pair.a, Operation::kSend, 1, {});
  pair.ring(pair.a);
  EXPECT_EQ(status_of_one(pair), CompletionStatus::kRnrRetryExceeded);
  EXPECT_EQ(pair.b.engine->counters().not_ready_sent, 4u);
}

TEST(Rc, SilenceUsesUpTheRetries) {
  PairOptions options = rc_options();
  options.retry_linear = 3;
  WirePair pair(options);
  Wire sent(pair.a);
  sent.drop = [](const Packet&) { return true; };
  pair.post(pair.a, Operation::kSend, 1, {});
  pair.ring(pair.a);
  EXPECT_EQ(status_of_one(pair), CompletionStatus::kRetryExceeded);
  EXPECT_EQ(sent.packets.size(), 4u);
}

// What is written, sent and read under loss and duplication is what was there.
TEST(Rc, DataArriveUnchanged) {
  for (const uint64_t seed : seeds(20)) {
    PairOptions options = rc_options();
    options.loss = static_cast<double>(seed % 4) * 0.05;
    options.copies = 1 + seed % 2;
    options.seed = seed;
    options.retry_exponential = RetryPolicy::kForEver;
    options.timeout = kMillisecond;
    options.receive_entries = 32;
    WirePair pair(options);
    constexpr uint32_t kBytes = 9000;
    constexpr size_t kEach = 16;
    using Buffers = std::vector<std::vector<uint8_t>>;
    Buffers sent(kEach), written(kEach), there(kEach);
    Buffers received(kEach, std::vector<uint8_t>(kBytes)), target = received, back = received;
    std::mt19937_64 random(seed);
    for (Buffers* buffers : {&sent, &written, &there})
      for (auto& buffer : *buffers) {
        buffer.resize(kBytes);
        for (uint8_t& byte : buffer) byte = static_cast<uint8_t>(random());
      }
    for (size_t i = 0; i < kEach; ++i) {
      pair.post_receive(pair.b, i, {pair.segment(pair.b, received[i].data(), kBytes, kLocalWrite)});
      pair.post(pair.a, Operation::kSend, i, {pair.segment(pair.a, sent[i].data(), kBytes, 0)});
      pair.ring(pair.a);
      aim(pair.post(pair.a, Operation::kWrite, i, {pair.segment(pair.a, written[i].data(), kBytes, 0)}),
          pair.segment(pair.b, target[i].data(), kBytes, kRemoteWrite));
      pair.ring(pair.a);
      aim(pair.post(pair.a, Operation::kRead, i, {pair.segment(pair.a, back[i].data(), kBytes, kLocalWrite)}),
          pair.segment(pair.b, there[i].data(), kBytes, kRemoteRead));
      pair.ring(pair.a);
    }
    ASSERT_TRUE(pair.run([&] { return pair.a.sends.pushed() == 3 * kEach; })) << "seed " << seed;
    EXPECT_EQ(received, sent) << "seed " << seed;
    EXPECT_EQ(target, written) << "seed " << seed;
    EXPECT_EQ(back, there) << "seed " << seed;
    EXPECT_EQ(pair.b.receives.pushed(), kEach);
  }
}

}  // namespace
}  // namespace mrc::test
