// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "libmrc/reliability/sent_packets.h"

namespace mrc {
namespace {

SentPacket packet(uint16_t bytes) {
  SentPacket sent;
  sent.bytes = bytes;
  sent.state = PacketState::kInFlight;
  sent.transmissions = 1;
  return sent;
}

TEST(SentPackets, CountsWhatIsInFlightAndLost) {
  SentPackets sent;
  sent.reset(64, Psn(0xFFFFFE));
  for (int i = 0; i < 4; ++i) sent.add(packet(100));
  EXPECT_EQ(sent.outstanding(), 4u);
  EXPECT_EQ(sent.in_flight_bytes(), 400u);
  EXPECT_TRUE(sent.lose(Psn(0)));
  EXPECT_FALSE(sent.lose(Psn(0)));
  EXPECT_TRUE(sent.deliver(Psn(1)));
  EXPECT_FALSE(sent.deliver(Psn(1)));
  EXPECT_EQ(sent.in_flight(), 2u);
  EXPECT_EQ(sent.in_flight_bytes(), 200u);
  EXPECT_EQ(sent.lost(), 1u);
}

TEST(SentPackets, OldestLossFirst) {
  SentPackets sent;
  sent.reset(64, Psn(0xFFFFF0));
  for (int i = 0; i < 40; ++i) sent.add(packet(1));
  sent.lose(Psn(0xFFFFF0) + 30);
  sent.lose(Psn(0xFFFFF0) + 20);
  EXPECT_EQ(sent.first_lost(), Psn(0xFFFFF0) + 20);
  sent.resend(Psn(0xFFFFF0) + 20, PathId{3}, Plane{1}, 77, 5);
  EXPECT_EQ(sent.first_lost(), Psn(0xFFFFF0) + 30);
  sent.lose(Psn(0xFFFFF0) + 10);
  EXPECT_EQ(sent.first_lost(), Psn(0xFFFFF0) + 10);
  EXPECT_EQ(sent.at(Psn(0xFFFFF0) + 20).transmissions, 2);
}

TEST(SentPackets, ALossThatArrivesAfterAllIsNotSentAgain) {
  SentPackets sent;
  sent.reset(64, Psn(0));
  sent.add(packet(10));
  sent.lose(Psn(0));
  EXPECT_TRUE(sent.deliver(Psn(0)));
  EXPECT_EQ(sent.lost(), 0u);
  EXPECT_EQ(sent.in_flight(), 0u);
  sent.advance(Psn(0));
  EXPECT_EQ(sent.outstanding(), 0u);
}

TEST(SentPackets, FullAtItsCapacity) {
  SentPackets sent;
  sent.reset(64, Psn(7));
  for (int i = 0; i < 64; ++i) sent.add(packet(1));
  EXPECT_TRUE(sent.full());
  sent.deliver(Psn(7));
  sent.advance(Psn(7));
  EXPECT_FALSE(sent.full());
  EXPECT_FALSE(sent.contains(Psn(7)));
  EXPECT_TRUE(sent.contains(Psn(8)));
}

}  // namespace
}  // namespace mrc
