// SPDX-License-Identifier: BSD-2-Clause
// One interface for all controllers: what goes in flight comes out again, whichever it is.
#include <gtest/gtest.h>

#include "libmrc/congestion/controller.h"
#include "libmrc/peer/peer_table.h"

namespace mrc {
namespace {

constexpr uint64_t kPacket = 4096;

CongestionController make(CongestionAlgorithm algorithm) {
  CongestionConfig config;
  config.algorithm = algorithm;
  config.window_bytes = 10 * kPacket;
  config.nscc = nscc_defaults(100'000'000'000, 12 * kMicrosecond, 4096, true);
  CongestionController controller;
  controller.reset(config, 0, 1);
  return controller;
}

class EveryController : public testing::TestWithParam<CongestionAlgorithm> {};

TEST_P(EveryController, TakesBackWhatWasSent) {
  CongestionController controller = make(GetParam());
  EXPECT_EQ(controller.algorithm(), GetParam());
  for (int i = 0; i < 7; ++i) controller.on_sent(0, kPacket);
  EXPECT_EQ(controller.inflight(), 7 * kPacket);
  SackSignal sack;
  sack.now = 1;
  sack.newly_bytes = kPacket;
  controller.on_sack(sack);
  controller.on_trim_nack(2, kPacket, false);
  controller.on_trim_nack(3, kPacket, true);
  controller.on_resource_nack(kPacket);
  controller.on_loss(kPacket);
  controller.on_timeout(kPacket);
  EXPECT_EQ(controller.inflight(), kPacket);
  controller.forget(kPacket);
  EXPECT_EQ(controller.inflight(), 0u);
  EXPECT_TRUE(controller.may_send(kSecond));
}

TEST_P(EveryController, ClosesAndAsksForAnAnswer) {  // MRC 3.1, 5.1
  CongestionController controller = make(GetParam());
  EXPECT_FALSE(controller.wants_answer(kPacket));
  bool wanted = false;
  while (controller.may_send(0)) {
    wanted = controller.wants_answer(kPacket);
    controller.on_sent(0, kPacket);
  }
  EXPECT_TRUE(wanted) << "the last packet before the window closed";
  EXPECT_GE(controller.inflight(), controller.cwnd());
  EXPECT_LT(controller.inflight(), controller.cwnd() + 5 * kPacket);
  EXPECT_EQ(controller.next_send_at(), kNever);
}

INSTANTIATE_TEST_SUITE_P(All, EveryController,
                         testing::Values(CongestionAlgorithm::kNone, CongestionAlgorithm::kNscc,
                                         CongestionAlgorithm::kReceiverAware));

TEST(FixedController, NeverMoves) {
  CongestionController controller = make(CongestionAlgorithm::kNone);
  for (int i = 0; i < 100; ++i) controller.on_loss(kPacket);
  EXPECT_EQ(controller.cwnd(), 10 * kPacket);
  EXPECT_EQ(controller.nscc(), nullptr);
}

// Found by the soak, seed 59992: six connections, three of them to one host, whose wire was full of what was
// left of trimmed packets; each was repeated at once, none arrived in 60 ms.
TEST(FixedController, GivesWayWhenAllIsTrimmed) {
  CongestionController controller = make(CongestionAlgorithm::kNone);
  const auto trim = [&](uint64_t packets) {
    for (uint64_t i = 0; i < packets; ++i) {
      controller.on_sent(0, kPacket);
      controller.on_trim_nack(0, kPacket, true);
    }
  };
  const auto arrive = [&] {
    controller.on_sent(0, kPacket);
    SackSignal sack;
    sack.newly_bytes = kPacket;
    controller.on_sack(sack);
  };
  trim(9);
  arrive();
  trim(9);
  EXPECT_EQ(controller.cwnd(), 10 * kPacket) << "some arrive";
  arrive();
  trim(10);
  EXPECT_EQ(controller.cwnd(), 5 * kPacket);
  trim(100);
  EXPECT_LE(controller.cwnd(), kPacket);
  EXPECT_TRUE(controller.may_send(0)) << "one at a time it goes on";
  for (int i = 0; i < 20; ++i) arrive();
  EXPECT_EQ(controller.cwnd(), 10 * kPacket) << "and then as before";
}

TEST(CongestionController, ShowsTheNsccInside) {
  EXPECT_NE(make(CongestionAlgorithm::kNscc).nscc(), nullptr);
  EXPECT_NE(make(CongestionAlgorithm::kReceiverAware).nscc(), nullptr);
}

// MRC 5.1, 11.20: one controller per peer address and traffic class.
TEST(PeerTable, OneControllerPerPeerAndClass) {
  PeerTable table;
  CongestionConfig config;
  IpAddress one;
  one.bytes[15] = 1;
  IpAddress two;
  two.bytes[15] = 2;
  Peer* first = table.acquire(one, 0, 0, config, 0, 1);
  EXPECT_EQ(table.acquire(one, 0, 0, config, 0, 1), first);
  Peer* other_class = table.acquire(one, 26, 0, config, 0, 1);
  Peer* other_peer = table.acquire(two, 0, 0, config, 0, 1);
  EXPECT_NE(other_class, first);
  Peer* other_profile = table.acquire(one, 0, 7, config, 0, 1);
  EXPECT_NE(other_profile, first);
  table.release(other_profile);
  EXPECT_NE(other_peer, first);
  EXPECT_NE(other_class->index, first->index);
  first->controller.on_sent(0, 1000);
  EXPECT_EQ(other_class->controller.inflight(), 0u);
  table.release(first);
  table.release(first);
  int left = 0;
  for (const IpAddress& address : {one, two}) table.for_each_of(address, [&left](Peer&) { ++left; });
  EXPECT_EQ(left, 2);
}

}  // namespace
}  // namespace mrc
