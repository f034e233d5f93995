// SPDX-License-Identifier: BSD-2-Clause
// Turns of an engine that has many queue pairs with something to send.
#include <gtest/gtest.h>

#include <cstdint>
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

  ManyInLine() : loop_(1, 1, CongestionAlgorithm::kNone), memory_(2 * kBytes) {
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
  uint32_t sent(uint32_t pair) const { return static_cast<uint32_t>(next_psn(pair) - first_[pair]); }

  test::Loop loop_;
  std::vector<uint8_t> memory_;
  Segment from_;
  Segment to_;
  std::vector<Psn> first_;
};

TEST_F(ManyInLine, AnswersDoNotWaitBehindTheDataOfOthers) {
  const Nanoseconds begin = loop_.now;
  loop_.await(1);
  uint32_t waiting = 0;
  for (uint32_t i = 0; i < kPairs; ++i) waiting += sent(i) == 0;
  EXPECT_GT(waiting, kPairs / 2) << "the first was answered when all had sent, " << loop_.now - begin
                                 << " ns later";
  loop_.await(kPairs - 1);
}

TEST_F(ManyInLine, WhoFindsNoRoomGoesOnWithItsTurn) {
  for (int turn = 0; turn < 100; ++turn) {
    loop_.engine->progress(loop_.now += kMicrosecond);
    uint32_t begun = 0;
    for (uint32_t i = 0; i < kPairs; ++i) begun += sent(i) > 0 && sent(i) < kPackets;
    ASSERT_LE(begun, 16u) << "messages in pieces, in turn " << turn;
  }
  loop_.await(kPairs);
}

}  // namespace
}  // namespace mrc
