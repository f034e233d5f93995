// SPDX-License-Identifier: BSD-2-Clause
// Every operation between two engines: SEND, READ, atomics, windows, fences, errors. What is about receive
// requests is in qp_receives_test.cc.
#include <gtest/gtest.h>

#include "tests/unit/qp_mixed_work.h"
#include "tests/unit/qp_wire_tap.h"

namespace mrc::test {
namespace {

TEST(Operations, SendScattersIntoTheReceive) {
  WirePair pair;
  auto data = pattern(5000, 3);
  std::vector<uint8_t> first(1500), second(4000);
  pair.post_receive(pair.b, 77,
                    {pair.segment(pair.b, first.data(), 1500, kLocalWrite),
                     pair.segment(pair.b, second.data(), 4000, kLocalWrite)});
  pair.post(pair.a, Operation::kSendImm, 1, {pair.segment(pair.a, data.data(), 5000, 0)})->immediate = 0xABCD;
  pair.ring(pair.a);
  ASSERT_TRUE(pair.run([&] { return !pair.a.sends.empty() && !pair.b.receives.empty(); }));
  const auto sent = pair.poll(pair.a.sends);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].status, CompletionStatus::kSuccess);
  EXPECT_EQ(sent[0].kind, CompletionKind::kSend);
  const auto received = pair.poll(pair.b.receives);
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].work_id, 77u);
  EXPECT_EQ(received[0].byte_count, 5000u);
  EXPECT_EQ(received[0].immediate, 0xABCDu);
  EXPECT_EQ(received[0].kind, CompletionKind::kReceive);
  EXPECT_EQ(0, std::memcmp(first.data(), data.data(), 1500));
  EXPECT_EQ(0, std::memcmp(second.data(), data.data() + 1500, 3500));
  EXPECT_EQ(second[3500], 0);
}

TEST(Operations, EmptySend) {
  WirePair pair;
  pair.post_receive(pair.b, 5, {});
  pair.post(pair.a, Operation::kSend, 1, {});
  pair.ring(pair.a);
  ASSERT_TRUE(pair.run([&] { return !pair.a.sends.empty() && !pair.b.receives.empty(); }));
  EXPECT_EQ(pair.poll(pair.b.receives)[0].byte_count, 0u);
}

TEST(Operations, ReadFetchesRemoteMemory) {
  WirePair pair;
  auto remote = pattern(10'001, 9);
  std::vector<uint8_t> local(10'001);
  const Segment target = pair.segment(pair.b, remote.data(), 10'001, kRemoteRead);
  const Segment mine = pair.segment(pair.a, local.data(), 10'001, kLocalWrite);
  SendRequest* read = pair.post(pair.a, Operation::kRead, 1, {mine});
  read->remote_address = target.address;
  read->remote_key = target.key;
  pair.ring(pair.a);
  ASSERT_TRUE(pair.run([&] { return !pair.a.sends.empty(); }));
  const auto done = pair.poll(pair.a.sends);
  EXPECT_EQ(done[0].status, CompletionStatus::kSuccess);
  EXPECT_EQ(done[0].kind, CompletionKind::kRdmaRead);
  EXPECT_EQ(done[0].byte_count, 10'001u);
  EXPECT_EQ(local, remote);
}

TEST(Operations, AReadSeesTheWriteBeforeIt) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    PairOptions options;
    options.loss = 0.05;
    options.jitter = true;
    options.seed = seed;
    WirePair pair(options);
    std::vector<uint8_t> remote(20'000, 0);
    auto data = pattern(20'000, static_cast<uint8_t>(seed));
    std::vector<uint8_t> back(20'000);
    const Segment target = pair.segment(pair.b, remote.data(), 20'000, kRemoteRead | kRemoteWrite);
    SendRequest* write =
        pair.post(pair.a, Operation::kWrite, 1, {pair.segment(pair.a, data.data(), 20'000, 0)});
    write->remote_address = target.address;
    write->remote_key = target.key;
    pair.ring(pair.a);
    SendRequest* read =
        pair.post(pair.a, Operation::kRead, 2, {pair.segment(pair.a, back.data(), 20'000, kLocalWrite)});
    read->remote_address = target.address;
    read->remote_key = target.key;
    pair.ring(pair.a);
    ASSERT_TRUE(pair.run([&] { return pair.a.sends.pushed() == 2; })) << "seed " << seed;
    EXPECT_EQ(back, data) << "seed " << seed;
  }
}

// Data may come before the way back to the sender is known (a neighbour that has not answered yet).
TEST(Operations, AnswersFindTheirNextHopLater) {
  PairOptions options;
  options.planes = 4;
  options.b_reaches_a = false;
  WirePair pair(options);
  auto data = pattern(20'000, 5);
  std::vector<uint8_t> remote(20'000);
  const Segment target = pair.segment(pair.b, remote.data(), 20'000, kRemoteWrite);
  SendRequest* write =
      pair.post(pair.a, Operation::kWrite, 1, {pair.segment(pair.a, data.data(), 20'000, 0)});
  write->remote_address = target.address;
  write->remote_key = target.key;
  pair.ring(pair.a);
  pair.run_for(2 * kMillisecond);
  EXPECT_TRUE(pair.a.sends.empty());
  for (auto& port : pair.b.ports) port->reachable = true;
  ASSERT_TRUE(pair.run([&] { return !pair.a.sends.empty(); }));
  EXPECT_EQ(pair.poll(pair.a.sends)[0].status, CompletionStatus::kSuccess);
  EXPECT_EQ(remote, data);
}

// WRITEs to one place, which partly overlap: whatever way they come, the last of them is what remains.
TEST(Operations, TheLastWriteWins) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    PairOptions options;
    options.loss = 0.05;
    options.jitter = true;
    options.planes = 4;
    options.seed = seed;
    WirePair pair(options);
    constexpr uint32_t kBytes = 9'000;
    std::vector<uint8_t> remote(2 * kBytes, 0), expected(2 * kBytes, 0);
    const Segment target = pair.segment(pair.b, remote.data(), 2 * kBytes, kRemoteWrite);
    std::vector<std::vector<uint8_t>> data;
    for (uint32_t i = 0; i < 40; ++i) {
      const uint32_t offset = i * 97 % 3 == 0 ? 0 : static_cast<uint32_t>(seed * 131 + i * 577) % kBytes;
      const uint32_t bytes = kBytes - i * 211 % 8'000;
      data.push_back(pattern(bytes, static_cast<uint8_t>(i * 7 + 1)));
      std::copy(data.back().begin(), data.back().end(), expected.begin() + offset);
      SendRequest* write =
          pair.post(pair.a, Operation::kWrite, i, {pair.segment(pair.a, data.back().data(), bytes, 0)});
      write->remote_address = target.address + offset;
      write->remote_key = target.key;
      pair.ring(pair.a);
    }
    ASSERT_TRUE(pair.run([&] { return pair.a.sends.pushed() == 40; })) << "seed " << seed;
    EXPECT_EQ(remote, expected) << "seed " << seed;
  }
}

// IBTA 10.3.1.4: who is ready to receive answers READs and atomics, although it cannot send yet.
TEST(Operations, APeerThatOnlyReceivesAnswers) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    PairOptions options;
    options.b_sends = false;
    options.loss = seed % 2 == 0 ? 0.1 : 0;
    options.jitter = true;
    options.seed = seed;
    WirePair pair(options);
    auto remote = pattern(5000, 1);
    std::vector<uint8_t> local(5000);
    alignas(8) uint64_t word = 7;
    uint64_t before = 0;
    const Segment target = pair.segment(pair.b, remote.data(), 5000, kRemoteRead);
    for (uint64_t id = 1; id <= 40; ++id) {
      SendRequest* read =
          pair.post(pair.a, Operation::kRead, id, {pair.segment(pair.a, local.data(), 5000, kLocalWrite)});
      read->remote_address = target.address;
      read->remote_key = target.key;
      pair.ring(pair.a);
    }
    const Segment counter = pair.segment(pair.b, &word, 8, kRemoteAtomic);
    SendRequest* add =
        pair.post(pair.a, Operation::kFetchAdd, 41, {pair.segment(pair.a, &before, 8, kLocalWrite)});
    add->remote_address = counter.address;
    add->remote_key = counter.key;
    add->compare_add = 2;
    pair.ring(pair.a);
    ASSERT_TRUE(pair.run([&] { return pair.a.sends.pushed() == 41; })) << "seed " << seed;
    for (const Completion& done : pair.poll(pair.a.sends)) EXPECT_EQ(done.status, CompletionStatus::kSuccess);
    EXPECT_EQ(local, remote);
    EXPECT_EQ(word, 9u);
    EXPECT_EQ(before, 7u);
    EXPECT_EQ(pair.b.qp->state(), QueuePairState::kReadyToReceive);

    // It may begin to send later; its stream goes on where the answers left it.
    QueuePairAttributes send;
    send.state = QueuePairState::kReadyToSend;
    send.send_psn = Psn(0xFFFFF8);
    send.timeout = options.timeout;
    ASSERT_TRUE(pair.b.engine->modify(*pair.b.qp, send, 0));
    pair.post_receive(pair.a, 5, {});
    pair.post(pair.b, Operation::kSend, 6, {});
    pair.ring(pair.b);
    ASSERT_TRUE(pair.run([&] { return !pair.a.receives.empty() && !pair.b.sends.empty(); }));
    EXPECT_EQ(pair.poll(pair.b.sends)[0].status, CompletionStatus::kSuccess);
  }
}

// The reader goes on as soon as it has an answer. If its acknowledgements are lost, the peer cannot forget
// the answers and has no room for more; that is no error.
TEST(Operations, AnswersThatNobodyAcknowledgesHoldUpButDoNotBreak) {
  PairOptions options;
  options.reads_max = 64;
  WirePair pair(options);
  bool deaf = true;
  for (auto& port : pair.a.ports)
    port->drop = [&](const PipePort::Frame& frame) {
      Packet packet;
      return deaf && decode(frame, &packet) == DecodeError::kNone &&
             (packet.bth.opcode == Opcode::kSack || packet.bth.opcode == Opcode::kAcknowledge);
    };
  auto remote = pattern(64, 1);
  std::vector<uint8_t> local(64);
  const Segment target = pair.segment(pair.b, remote.data(), 64, kRemoteRead);
  const Segment mine = pair.segment(pair.a, local.data(), 64, kLocalWrite);
  uint64_t posted = 0;
  const auto keep_reading = [&](uint64_t wanted) {
    while (posted < 600) {
      SendRequest* read = pair.post(pair.a, Operation::kRead, posted, {mine});
      if (read == nullptr) break;
      read->remote_address = target.address;
      read->remote_key = target.key;
      pair.ring(pair.a);
      ++posted;
    }
    return pair.a.sends.pushed() >= wanted;
  };
  EXPECT_FALSE(pair.run([&] { return keep_reading(600); }, 3 * kMillisecond)) << "it was not held up";
  EXPECT_GT(pair.a.sends.pushed(), 128u);
  deaf = false;
  ASSERT_TRUE(pair.run([&] { return keep_reading(600); }));
  for (const Completion& done : pair.poll(pair.a.sends)) EXPECT_EQ(done.status, CompletionStatus::kSuccess);
}

// Between two requests: the first is done when the window appears, the second already finds it gone.
TEST(Operations, WindowsAreBoundAndInvalidatedInTheirTurn) {
  for (const Transport transport : {Transport::kMrc, Transport::kRc}) {
    PairOptions options;
    options.transport = transport;
    WirePair pair(options);
    uint8_t there[8] = {};
    uint8_t here[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    MemoryTable& memory = pair.a.engine->memory();
    const Segment region = pair.segment(pair.a, there, 8, kLocalWrite | kWindowBind);
    const MemoryKey window = memory.add_window(WirePair::kDomain, MemoryKind::kKeyedWindow);
    const Segment mine = pair.segment(pair.a, here, 8, 0);
    pair.post_receive(pair.b, 1, {});
    pair.post_receive(pair.b, 2, {});
    pair.post(pair.a, Operation::kSend, 1, {});
    pair.ring(pair.a);
    pair.post(pair.a, Operation::kBindWindow, 2, {})
        ->set_binding({window, region.key, region.address, 8, kRemoteWrite, false});
    pair.ring(pair.a);
    pair.post(pair.a, Operation::kSend, 3, {});
    pair.ring(pair.a);
    ASSERT_TRUE(pair.run([&] { return pair.a.sends.pushed() == 3; }));
    auto done = pair.poll(pair.a.sends);
    EXPECT_EQ(done[1].kind, CompletionKind::kBindWindow);
    for (const Completion& each : done) EXPECT_EQ(each.status, CompletionStatus::kSuccess);
    SendRequest* write = pair.post(pair.b, Operation::kWrite, 1, {pair.segment(pair.b, here, 8, 0)});
    write->remote_address = region.address;
    write->remote_key = window;
    pair.ring(pair.b);
    ASSERT_TRUE(pair.run([&] { return !pair.b.sends.empty(); }));
    EXPECT_EQ(pair.poll(pair.b.sends)[0].status, CompletionStatus::kSuccess);
    EXPECT_EQ(0, std::memcmp(here, there, 8));
    pair.post(pair.a, Operation::kLocalInvalidate, 4, {})->immediate = static_cast<uint32_t>(window);
    pair.ring(pair.a);
    pair.post(pair.a, Operation::kLocalInvalidate, 5, {})->immediate = static_cast<uint32_t>(window);
    pair.ring(pair.a);
    pair.post(pair.a, Operation::kWrite, 6, {mine});
    pair.ring(pair.a);
    ASSERT_TRUE(pair.run([&] { return pair.a.sends.pushed() == 6; }));
    done = pair.poll(pair.a.sends);
    EXPECT_EQ(done[0].status, CompletionStatus::kSuccess);
    EXPECT_EQ(done[0].kind, CompletionKind::kLocalInvalidate);
    EXPECT_EQ(done[1].status, CompletionStatus::kWindowBindError) << "it is invalid already";
    EXPECT_EQ(done[2].status, CompletionStatus::kFlushed);
  }
}

TEST(Operations, AtomicsHappenExactlyOnce) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    PairOptions options;
    options.loss = 0.15;
    options.jitter = true;
    options.seed = seed;
    WirePair pair(options);
    alignas(8) uint64_t counter = 1000;
    uint64_t before[50] = {};
    const Segment target = pair.segment(pair.b, &counter, 8, kRemoteAtomic);
    for (int i = 0; i < 50; ++i) {
      SendRequest* add =
          pair.post(pair.a, Operation::kFetchAdd, i, {pair.segment(pair.a, &before[i], 8, kLocalWrite)});
      add->remote_address = target.address;
      add->remote_key = target.key;
      add->compare_add = 7;
      pair.ring(pair.a);
    }
    ASSERT_TRUE(pair.run([&] { return pair.a.sends.pushed() == 50; })) << "seed " << seed;
    EXPECT_EQ(counter, 1000u + 50 * 7) << "seed " << seed;
    for (uint64_t i = 0; i < 50; ++i) EXPECT_EQ(before[i], 1000 + i * 7);
    for (const Completion& done : pair.poll(pair.a.sends)) EXPECT_EQ(done.status, CompletionStatus::kSuccess);
  }
}

TEST(Operations, CompareAndSwap) {
  WirePair pair;
  alignas(8) uint64_t word = 42;
  uint64_t before[2] = {};
  const Segment target = pair.segment(pair.b, &word, 8, kRemoteAtomic);
  const uint64_t compare[2] = {41, 42};
  for (int i = 0; i < 2; ++i) {
    SendRequest* swap =
        pair.post(pair.a, Operation::kCompareSwap, i, {pair.segment(pair.a, &before[i], 8, kLocalWrite)});
    swap->remote_address = target.address;
    swap->remote_key = target.key;
    swap->compare_add = compare[i];
    swap->swap = 99 + i;
    pair.ring(pair.a);
  }
  ASSERT_TRUE(pair.run([&] { return pair.a.sends.pushed() == 2; }));
  EXPECT_EQ(before[0], 42u);
  EXPECT_EQ(before[1], 42u);
  EXPECT_EQ(word, 100u);
}

TEST(Operations, AnUnalignedAtomicIsRefused) {
  WirePair pair;
  alignas(8) uint64_t words[2] = {1, 2};
  uint64_t before = 0;
  const Segment target = pair.segment(pair.b, words, 16, kRemoteAtomic);
  SendRequest* add =
      pair.post(pair.a, Operation::kFetchAdd, 1, {pair.segment(pair.a, &before, 8, kLocalWrite)});
  add->remote_address = target.address + 4;
  add->remote_key = target.key;
  pair.ring(pair.a);
  ASSERT_TRUE(pair.run([&] { return !pair.a.sends.empty(); }));
  EXPECT_EQ(pair.poll(pair.a.sends)[0].status, CompletionStatus::kRemoteInvalidRequest);
  EXPECT_EQ(words[0], 1u);
}

// Whoever has received the last message may leave at once: the sender must still hear that it arrived.
TEST(Operations, WhoLeavesAcknowledgesFirst) {
  for (const Transport transport : {Transport::kMrc, Transport::kMrcStrict, Transport::kRc}) {
    for (const QueuePairState to : {QueuePairState::kError, QueuePairState::kReset}) {
      SCOPED_TRACE(testing::Message() << static_cast<int>(transport) << " " << static_cast<int>(to));
      PairOptions options;
      options.transport = transport;
      WirePair pair(options);
      pair.run_for(kMillisecond);  // they know each other
      auto data = pattern(100, 1);
      std::vector<uint8_t> there(100);
      const Segment target = pair.segment(pair.b, there.data(), 100, kLocalWrite | kRemoteWrite);
      pair.post_receive(pair.b, 7, {target});
      SendRequest* request =
          pair.post(pair.a, Operation::kWriteImm, 1, {pair.segment(pair.a, data.data(), 100, 0)});
      request->remote_address = target.address;
      request->remote_key = target.key;
      pair.ring(pair.a);
      ASSERT_TRUE(pair.run([&] { return !pair.b.receives.empty(); }));
      QueuePairAttributes leave;
      leave.state = to;
      ASSERT_TRUE(pair.b.engine->modify(*pair.b.qp, leave, pair.now()));
      ASSERT_TRUE(pair.run([&] { return !pair.a.sends.empty(); }));
      EXPECT_EQ(pair.poll(pair.a.sends)[0].status, CompletionStatus::kSuccess);
    }
  }
}

TEST(Operations, FenceWaitsForReads) {
  WirePair pair;
  alignas(8) uint64_t remote = 5;
  uint64_t local = 0;
  const Segment target = pair.segment(pair.b, &remote, 8, kRemoteRead | kRemoteWrite);
  const Segment mine = pair.segment(pair.a, &local, 8, kLocalWrite);
  SendRequest* read = pair.post(pair.a, Operation::kRead, 1, {mine});
  read->remote_address = target.address;
  read->remote_key = target.key;
  pair.ring(pair.a);
  // The fenced write sends what the read brought.
  SendRequest* write = pair.post(pair.a, Operation::kWrite, 2, {mine});
  write->flags |= kFence;
  write->remote_address = target.address;
  write->remote_key = target.key;
  pair.ring(pair.a);
  ASSERT_TRUE(pair.run([&] { return pair.a.sends.pushed() == 2; }));
  EXPECT_EQ(remote, 5u);
  EXPECT_EQ(local, 5u);
}

TEST(Operations, StrictModeRefusesWhatMrcDoesNotHave) {
  PairOptions options;
  options.transport = Transport::kMrcStrict;
  for (const Operation operation : {Operation::kSend, Operation::kRead, Operation::kFetchAdd}) {
    WirePair pair(options);
    uint64_t word = 0;
    pair.post_receive(pair.b, 1, {});
    pair.post(pair.a, operation, 1, {pair.segment(pair.a, &word, 8, kLocalWrite)});
    pair.ring(pair.a);
    ASSERT_TRUE(pair.run([&] { return !pair.a.sends.empty(); }));
    EXPECT_EQ(pair.poll(pair.a.sends)[0].status, CompletionStatus::kLocalQpOperationError);
  }
}

TEST(Operations, StrictModeEndsOnAnImmediateWithoutReceive) {  // MRC 2
  PairOptions options;
  options.transport = Transport::kMrcStrict;
  WirePair pair(options);
  pair.post(pair.a, Operation::kWriteImm, 1, {});
  pair.ring(pair.a);
  ASSERT_TRUE(pair.run([&] { return !pair.a.sends.empty(); }));
  EXPECT_EQ(pair.poll(pair.a.sends)[0].status, CompletionStatus::kRemoteOperationError);
  EXPECT_EQ(pair.b.qp->state(), QueuePairState::kError);
}

TEST(Operations, AccessErrorsAreReportedInOrder) {
  PairOptions options;
  options.loss = 0.05;
  options.jitter = true;
  WirePair pair(options);
  std::vector<uint8_t> remote(30'000, 0x11);
  auto data = pattern(30'000, 0);
  const Segment target = pair.segment(pair.b, remote.data(), 30'000, kRemoteWrite);
  const Segment from = pair.segment(pair.a, data.data(), 30'000, 0);
  for (uint64_t i = 0; i < 3; ++i) {
    SendRequest* write = pair.post(pair.a, Operation::kWrite, i, {from});
    write->remote_address = target.address;
    write->remote_key = i == 1 ? MemoryKey{0x1234567} : target.key;
    pair.ring(pair.a);
  }
  ASSERT_TRUE(pair.run([&] { return pair.a.sends.pushed() == 3; }));
  const auto done = pair.poll(pair.a.sends);
  EXPECT_EQ(done[0].status, CompletionStatus::kSuccess);
  EXPECT_EQ(done[1].status, CompletionStatus::kRemoteAccessError);
  EXPECT_EQ(done[2].status, CompletionStatus::kFlushed);
  EXPECT_EQ(remote, data) << "the first write is complete";
  EXPECT_EQ(pair.a.qp->state(), QueuePairState::kError);
  EXPECT_EQ(pair.b.qp->state(), QueuePairState::kError);
}

TEST(Operations, AReadWithoutTheRight) {
  PairOptions options;
  options.access = kRemoteWrite;
  WirePair pair(options);
  uint64_t remote = 1, local = 7;
  const Segment target = pair.segment(pair.b, &remote, 8, kRemoteRead);
  SendRequest* read = pair.post(pair.a, Operation::kRead, 1, {pair.segment(pair.a, &local, 8, kLocalWrite)});
  read->remote_address = target.address;
  read->remote_key = target.key;
  pair.ring(pair.a);
  ASSERT_TRUE(pair.run([&] { return !pair.a.sends.empty(); }));
  EXPECT_EQ(pair.poll(pair.a.sends)[0].status, CompletionStatus::kRemoteAccessError);
  EXPECT_EQ(local, 7u);
}

TEST(Operations, DrainFinishesWhatWasStartedOnly) {
  WirePair pair;
  std::vector<uint8_t> data(100'000);
  std::vector<uint8_t> remote(100'000);
  const Segment from = pair.segment(pair.a, data.data(), 100'000, 0);
  const Segment target = pair.segment(pair.b, remote.data(), 100'000, kRemoteWrite);
  auto write = [&](uint64_t id) {
    SendRequest* request = pair.post(pair.a, Operation::kWrite, id, {from});
    request->remote_address = target.address;
    request->remote_key = target.key;
    pair.ring(pair.a);
  };
  write(1);
  pair.run_for(3 * kMicrosecond);
  QueuePairAttributes drain;
  drain.state = QueuePairState::kDraining;
  ASSERT_TRUE(pair.a.engine->modify(*pair.a.qp, drain, 3 * kMicrosecond));
  write(2);
  ASSERT_TRUE(pair.run([&] { return pair.a.seen.events[QueuePairEvent::kDrained] == 1; }));
  EXPECT_EQ(pair.a.sends.pushed(), 1u);
  QueuePairAttributes back;
  back.state = QueuePairState::kReadyToSend;
  ASSERT_TRUE(pair.a.engine->modify(*pair.a.qp, back, kSecond));
  ASSERT_TRUE(pair.run([&] { return pair.a.sends.pushed() == 2; }));
}

// All operations in both directions, small queues, loss and reordering: everything completes in order.
TEST(Operations, MixUnderLoss) {
  for (const uint64_t seed : seeds(100)) {
    PairOptions options;
    options.loss = static_cast<double>(seed % 5) * 0.05;
    options.jitter = seed % 2 == 0;
    options.seed = seed;
    options.planes = 1 + seed % 4;
    options.reads_max = static_cast<uint8_t>(1 + seed % 8);
    mixed_work(options);
    ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace mrc::test
