// SPDX-License-Identifier: BSD-2-Clause
// [P] NSCC with less than a packet at a time: senders take turns.
#include <gtest/gtest.h>

#include "libmrc/congestion/nscc.h"
#include "tests/unit/congestion_nscc_signals.h"

namespace mrc {
namespace {

Nscc at_floor(uint64_t seed) {
  Nscc nscc;
  nscc.reset(reference(), seed);
  set_window(nscc, kPacket);
  return nscc;
}

// Sends and trims one packet; says how long it has to wait then.
Nanoseconds refuse(Nscc& nscc, Nanoseconds now) {
  nscc.on_sent(now, kPacket);
  nscc.on_trim_nack(now, kPacket, true);
  return nscc.next_send_at() > now ? nscc.next_send_at() - now : 0;
}

TEST(NsccTurns, WhoIsRefusedItsOnlyPacketWaitsLongerAndLonger) {
  Nanoseconds first = 0;
  Nanoseconds fifth = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Nscc nscc = at_floor(seed);
    first += refuse(nscc, kRtt) / 200;
    for (int i = 2; i < 5; ++i) refuse(nscc, i * kMillisecond);
    fifth += refuse(nscc, 5 * kMillisecond) / 200;
    EXPECT_FALSE(nscc.may_send(5 * kMillisecond));
    EXPECT_TRUE(nscc.may_send(nscc.next_send_at()));
    for (int i = 6; i < 100; ++i) EXPECT_LE(refuse(nscc, i * kMillisecond), 32 * 21 * kMicrosecond);
  }
  // A round trip with its queue is 21 us: once, and 15 times, which is the most.
  EXPECT_NEAR(static_cast<double>(first), 21'000, 4'000);
  EXPECT_NEAR(static_cast<double>(fifth), 15 * 21'000, 15 * 4'000);
}

TEST(NsccTurns, WhatMeetsNoQueueEndsThem) {
  Nscc nscc = at_floor(7);
  for (int i = 1; i <= 5; ++i) refuse(nscc, i * kMillisecond);
  Nanoseconds now = 10 * kMillisecond;
  for (int i = 0; i < 2; ++i, now += kMillisecond) {
    EXPECT_TRUE(nscc.turns().waiting());
    EXPECT_EQ(nscc.cwnd(), kPacket) << "one packet is too much";
    nscc.on_sent(now, kPacket);
    nscc.on_sack(sack(now + kRtt, kPacket, 0));
  }
  EXPECT_FALSE(nscc.turns().waiting());
  EXPECT_TRUE(nscc.may_send(now));
}

// The smaller share grows by more, so they become equal.
TEST(NsccTurns, SharesBecomeEqual) {
  Nscc few = at_floor(3);
  Nscc many = at_floor(4);
  for (int i = 1; i <= 5; ++i) refuse(few, i * kMillisecond);
  refuse(many, kMillisecond);
  Nanoseconds now = 10 * kMillisecond;
  for (int i = 0; i < 400; ++i, now += kMillisecond)
    for (Nscc* nscc : {&few, &many}) {
      if (i % 3 == 0) {
        refuse(*nscc, now);
        continue;
      }
      nscc->on_sent(now, kPacket);
      nscc->on_sack(sack(now + kRtt, kPacket, 18 * kMicrosecond));
    }
  EXPECT_NEAR(few.turns().share() / many.turns().share(), 1, 0.05);
}

TEST(NsccTurns, TrimsOfTheFirstWindowAreNoRefusal) {
  Nscc nscc;
  nscc.reset(reference(), 5);
  nscc.on_sent(0, 60 * kPacket);
  for (int i = 0; i < 60; ++i) nscc.on_trim_nack(100 * kMicrosecond, kPacket, true);
  EXPECT_EQ(nscc.cwnd(), kPacket);
  EXPECT_FALSE(nscc.turns().waiting());
}

TEST(NsccTurns, NotWhereSomebodyElseSeesToIt) {
  Nscc nscc = at_floor(0);
  for (int i = 1; i < 5; ++i) EXPECT_EQ(refuse(nscc, i * kMillisecond), 0u);
}

TEST(NsccTurns, FairIncreaseBeginsSmallAfterThem) {
  Nscc calm = at_floor(1);
  Nscc crowded = at_floor(2);
  calm.on_sack(sack(0, 0, 0));  // its measurements begin
  for (int i = 1; i <= 2; ++i) refuse(crowded, i * kRtt);
  for (Nanoseconds now = kMillisecond; crowded.turns().waiting(); now += kMillisecond) {
    crowded.on_sent(now, kPacket);
    crowded.on_sack(sack(now + kRtt, kPacket, 0));
  }
  for (Nscc* nscc : {&calm, &crowded}) {
    const uint64_t before = nscc->cwnd();
    nscc->on_sent(kSecond, kPacket);
    nscc->on_sack(sack(kSecond + kRtt, kPacket, 10 * kMicrosecond));
    if (nscc == &calm)
      EXPECT_GT(nscc->cwnd() - before, 4 * kPacket);
    else
      EXPECT_LT(nscc->cwnd() - before, kPacket);
  }
}

}  // namespace
}  // namespace mrc
