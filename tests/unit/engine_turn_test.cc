// SPDX-License-Identifier: BSD-2-Clause
// Turns of an engine that has many queue pairs, with something to send or to be told.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "tests/unit/engine_loop.h"

namespace mrc {
namespace {

TEST(EngineTurn, FullPortsAreNotAskedByEveryQueuePair) {
  constexpr uint32_t kPairs = 200;
  test::Loop loop(1, 1, CongestionAlgorithm::kNone);
  for (uint32_t i = 0; i < kPairs; ++i) loop.add_pair(2);
  std::vector<uint8_t> memory(2 * 4096);
  const Segment from = loop.segment(memory.data(), 8192);
  const Segment to{from.address + 4096, 64, from.key};
  const auto post_all = [&] {
    for (uint32_t i = 0; i < kPairs; ++i) loop.post(*loop.qps[2 * i], Operation::kWrite, from, to, 64);
  };
  post_all();
  loop.await(kPairs);  // what they ask each other at the start is over, too
  test::LoopPort& port = *loop.ports[0];
  port.full = true;
  post_all();
  for (int turn = 0; turn < 10; ++turn) {
    port.asked = 0;
    loop.engine->progress(loop.now += kMicrosecond);
    EXPECT_LT(port.asked, kPairs / 2)
        << "a turn that can send nothing costs as much as there are queue pairs";
  }
  port.full = false;
  loop.await(kPairs);  // and nobody was left out
}

// Many queue pairs, each with a message that is larger than what ports take at once.
class ManyInLine : public ::testing::Test {
 protected:
  static constexpr uint32_t kPairs = 200;
  static constexpr uint32_t kPackets = 24;  // of a message
  static constexpr uint32_t kBytes = kPackets * 4096;

  explicit ManyInLine(bool on_host = false)
      : loop_(1, 1, CongestionAlgorithm::kNone, false, on_host), memory_(2 * kBytes) {
    for (uint32_t i = 0; i < kPairs; ++i) loop_.add_pair(2);
    const Segment all = loop_.segment(memory_.data(), 2 * kBytes);
    from_ = {all.address, kBytes, all.key};
    to_ = {all.address + kBytes, kBytes, all.key};
    post_all(64);  // what they ask each other at the start is over then
    loop_.await(kPairs);
    for (uint32_t i = 0; i < kPairs; ++i) first_.push_back(next_psn(i));
    post_all(kBytes);
  }
  void post_all(uint32_t bytes) {
    for (uint32_t i = 0; i < kPairs; ++i) loop_.post(*loop_.qps[2 * i], Operation::kWrite, from_, to_, bytes);
  }
  Psn next_psn(uint32_t pair) const { return loop_.qps[2 * pair]->mrc()->requester().sent().next(); }
  uint32_t begun() const {
    uint32_t count = 0;
    for (uint32_t i = 0; i < kPairs; ++i) count += sent(i) > 0 && sent(i) < kPackets ? 1 : 0;
    return count;
  }
  uint32_t sent(uint32_t pair) const { return static_cast<uint32_t>(next_psn(pair) - first_[pair]); }

  test::Loop loop_;
  std::vector<uint8_t> memory_;
  Segment from_;
  Segment to_;
  std::vector<Psn> first_;
};

// The same by links to other processes of the host.
class ManyInLineOnOneHost : public ManyInLine {
 protected:
  ManyInLineOnOneHost() : ManyInLine(true) {}
};

TEST_F(ManyInLineOnOneHost, AnswersDoNotWaitBehindTheDataOfOthers) {
  const Nanoseconds begin = loop_.now;
  loop_.await(1);
  uint32_t waiting = 0;
  for (uint32_t i = 0; i < kPairs; ++i) waiting += sent(i) == 0;
  EXPECT_GT(waiting, kPairs / 2) << "the first was answered when all had sent, " << loop_.now - begin
                                 << " ns later";
  loop_.await(kPairs - 1);
}

TEST_F(ManyInLineOnOneHost, WhoFindsNoRoomGoesOnWithItsTurn) {
  for (int turn = 0; turn < 100; ++turn) {
    loop_.engine->progress(loop_.now += kMicrosecond);
    ASSERT_LE(begun(), 20u) << "messages in pieces, in turn " << turn;
  }
  loop_.await(kPairs);
}

TEST_F(ManyInLine, NobodySendsAllOfATurnThatDoesNotFitBeforeTheOthers) {
  uint32_t most = 0;
  for (int turn = 0; turn < 100; ++turn) {
    loop_.engine->progress(loop_.now += kMicrosecond);
    most = std::max(most, begun());
  }
  EXPECT_GT(most, 32u) << "packets to one destination went in one burst";
  loop_.await(kPairs);
}

// Two planes, one of which loses its link.
class PortNews : public ::testing::Test {
 protected:
  static constexpr uint32_t kPairs = 100;

  PortNews() : loop_(2, 4, CongestionAlgorithm::kNone), memory_(2 * 4096) {
    for (uint32_t i = 0; i < kPairs; ++i) loop_.add_pair(16);
    from_ = loop_.segment(memory_.data(), 8192);
    to_ = {from_.address + 4096, 64, from_.key};
    post_all();
    loop_.await(kPairs);
  }
  void post_all() {
    for (uint32_t i = 0; i < kPairs; ++i) loop_.post(*loop_.qps[2 * i], Operation::kWrite, from_, to_, 64);
  }
  void turn() { loop_.engine->progress(loop_.now += kMillisecond); }
  uint32_t told(PlaneMask ports) const {
    uint32_t count = 0;
    for (const QueuePair* qp : loop_.qps) count += qp->mrc()->ports_known() == ports ? 1 : 0;
    return count;
  }

  test::Loop loop_;
  std::vector<uint8_t> memory_;
  Segment from_;
  Segment to_;
};

TEST_F(PortNews, ATurnTellsAFew) {
  loop_.ports[1]->up = false;
  turn();
  EXPECT_GT(told(0b01), 0u);
  EXPECT_LT(told(0b01), kPairs / 2) << "a turn costs as much as there are queue pairs";
  for (uint32_t before = told(0b01); before < 2 * kPairs; before = told(0b01)) {
    ASSERT_LE(loop_.engine->next_deadline(), loop_.now + kMillisecond) << "the rest would wait for ever";
    turn();
    ASSERT_GT(told(0b01), before);
  }
  loop_.ports[1]->up = true;
  for (int i = 0; i < 20; ++i) turn();
  EXPECT_EQ(told(0b11), 2 * kPairs);
}

TEST_F(PortNews, NobodyIsLeftOutWhenOthersGoMeanwhile) {
  loop_.ports[1]->up = false;
  for (size_t first = 0; first < 40; first += 2) {
    turn();
    // Connected to each other: both, or the other would ask for it for ever.
    for (size_t i = first; i < first + 2; ++i) loop_.engine->destroy(loop_.qps[i]);
  }
  loop_.qps.erase(loop_.qps.begin(), loop_.qps.begin() + 40);
  for (int i = 0; i < 20; ++i) turn();
  EXPECT_EQ(told(0b01), loop_.qps.size());
}

TEST_F(PortNews, NoDataGoByAPortThatIsDown) {
  loop_.ports[1]->up = false;
  turn();
  const uint64_t carried = loop_.ports[1]->carried();
  post_all();
  loop_.engine->progress(loop_.now += kMicrosecond);
  EXPECT_LT(told(0b01), kPairs) << "so many have been told that nothing is tried here";
  loop_.await(kPairs);
  // Somebody asks by it whether it is down at the peer, too.
  EXPECT_LT(loop_.ports[1]->carried() - carried, 5);
}

// However many peers there are, a turn tells no more of them than it sends frames.
TEST(PortAnnouncements, GoToAFewPeersInATurn) {
  constexpr uint32_t kPeers = 500;
  test::Loop loop(2, 4, CongestionAlgorithm::kNone);
  for (uint32_t i = 0; i < kPeers; ++i) {
    loop.destination = IpAddress::v4(10, 1, static_cast<uint8_t>(i / 256), static_cast<uint8_t>(i % 256));
    loop.add_pair(1);
  }
  for (int i = 0; i < 100; ++i) loop.engine->progress(loop.now += kMillisecond);
  const uint64_t& sent = loop.engine->counters().port_updates_sent;
  ASSERT_EQ(sent, 0u);
  loop.ports[1]->up = false;
  for (uint64_t before = 0; before < kPeers; before = sent) {
    loop.engine->progress(loop.now += 100 * kMicrosecond);
    ASSERT_GT(sent, before) << "the rest would wait for ever";
    ASSERT_LE(sent - before, kBurst) << "a turn costs as much as there are peers";
    ASSERT_TRUE(sent == kPeers || loop.engine->next_deadline() <= loop.now + kMicrosecond);
  }
  EXPECT_EQ(sent, kPeers) << "once each";
}

// Counted when something happens to a path, and the same as if they were counted now.
TEST_F(PortNews, PathsAreCounted) {
  const auto expect_all = [&] {
    uint32_t active = 0;
    uint32_t all = 0;
    std::set<const PathSet*> sets;
    for (const QueuePair* qp : loop_.qps) {
      if (!qp->connected() || !sets.insert(&qp->paths()).second) continue;
      active += static_cast<uint32_t>(qp->paths().active());
      all += static_cast<uint32_t>(qp->paths().places());
    }
    EXPECT_EQ(loop_.engine->paths().active, active);
    EXPECT_EQ(loop_.engine->paths().all, all);
  };
  expect_all();
  EXPECT_EQ(loop_.engine->paths().active, 2 * 4u);
  loop_.ports[1]->up = false;
  for (int i = 0; i < 20; ++i) {
    turn();
    expect_all();
  }
  EXPECT_EQ(loop_.engine->paths().active, 4u);
  loop_.ports[1]->up = true;
  loop_.ports[0]->drop_every = 3;
  post_all();
  for (int i = 0; i < 100; ++i) {
    loop_.engine->progress(loop_.now += 50 * kMicrosecond);
    expect_all();
  }
  loop_.ports[0]->drop_every = 0;
  QueuePairAttributes attributes;
  attributes.state = QueuePairState::kError;
  for (size_t i = 0; i < 10; ++i) ASSERT_TRUE(loop_.engine->modify(*loop_.qps[i], attributes, loop_.now));
  attributes.state = QueuePairState::kReset;
  for (size_t i = 5; i < 20; ++i) ASSERT_TRUE(loop_.engine->modify(*loop_.qps[i], attributes, loop_.now));
  expect_all();
  for (size_t i = 2; i < 24; ++i) loop_.engine->destroy(loop_.qps[i]);
  loop_.qps.erase(loop_.qps.begin() + 2, loop_.qps.begin() + 24);
  expect_all();
  while (!loop_.qps.empty()) {
    loop_.engine->destroy(loop_.qps.back());
    loop_.qps.pop_back();
  }
  expect_all();
}

// Its queues are allocated while others have the lock, who may create queue pairs, too.
TEST(EngineCreates, NobodyGetsTheNumberOfOneThatIsBeingMade) {
  EngineConfig config;
  config.qpn_count = 2;
  test::LoopPort port;
  Port* const ports[] = {&port};
  test::Deaf deaf;
  Engine engine(config, ports, &deaf);
  CompletionQueue completions(4);
  QueuePairConfig wanted;
  wanted.send_completions = wanted.receive_completions = &completions;
  const auto birth = engine.begin_create(wanted);
  ASSERT_TRUE(birth);
  QueuePair* other = engine.create(wanted);
  ASSERT_NE(other, nullptr);
  EXPECT_NE(other->qpn(), birth->qpn);
  EXPECT_EQ(engine.create(wanted), nullptr) << "there are two numbers";
  EXPECT_EQ(engine.find(birth->qpn), nullptr) << "packets come before it is there";
  EXPECT_EQ(engine.queue_pairs(), 1u);
  QueuePair* made = engine.end_create(*birth, engine.make(*birth, wanted));
  EXPECT_EQ(engine.find(birth->qpn), made);
  const std::unique_ptr<QueuePair> gone = engine.take_out(other);
  EXPECT_EQ(gone.get(), other) << "to be freed later";
  const auto again = engine.begin_create(wanted);
  ASSERT_TRUE(again);
  EXPECT_EQ(engine.end_create(*again, nullptr), nullptr) << "there was no memory";
  EXPECT_NE(engine.create(wanted), nullptr);
}

}  // namespace
}  // namespace mrc
