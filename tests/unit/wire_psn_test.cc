// SPDX-License-Identifier: BSD-2-Clause
// PSN arithmetic around the 24-bit wrap, and wire timestamps around theirs.
#include <gtest/gtest.h>

#include "libmrc/wire/psn.h"
#include "libmrc/wire/time.h"
#include "tests/unit/golden/seed.h"

namespace mrc {
namespace {

constexpr int32_t kHalf = 1 << 23;

TEST(Psn, KeepsTwentyFourBits) {
  EXPECT_EQ(Psn(0x1000000), Psn(0));
  EXPECT_EQ(Psn(0xFF123456).value(), 0x123456u);
}

TEST(Psn, CountsAcrossTheWrap) {
  Psn psn(0xFFFFFE);
  ++psn;
  EXPECT_EQ(psn, Psn(0xFFFFFF));
  ++psn;
  EXPECT_EQ(psn, Psn(0));
  EXPECT_EQ(psn - 1, Psn(0xFFFFFF));
  EXPECT_EQ(psn + (-3), Psn(0xFFFFFD));
  EXPECT_EQ(Psn(0xFFFFFF) + 0x1000000, Psn(0xFFFFFF));
}

TEST(Psn, ComparesAcrossTheWrap) {
  EXPECT_LT(Psn(0xFFFFFF), Psn(0));
  EXPECT_GT(Psn(5), Psn(0xFFFFF0));
  EXPECT_LE(Psn(7), Psn(7));
  EXPECT_GE(Psn(7), Psn(7));
  EXPECT_EQ(Psn(0) - Psn(0xFFFFFF), 1);
  EXPECT_EQ(Psn(0xFFFFFF) - Psn(0), -1);
  EXPECT_EQ(Psn(0x7FFFFF) - Psn(0), kHalf - 1);
  EXPECT_EQ(Psn(0x800000) - Psn(0), -kHalf);
}

TEST(Psn, DifferenceUndoesAddition) {
  auto random = golden::seeded_random();
  for (int round = 0; round < 100000; ++round) {
    const Psn from(static_cast<uint32_t>(random()));
    const int32_t distance = static_cast<int32_t>(random() % (2 * kHalf)) - kHalf;
    ASSERT_EQ((from + distance) - from, distance);
    ASSERT_EQ((from + distance) - distance, from);
    ASSERT_EQ(from + distance < from, distance < 0);
    ASSERT_EQ(from + distance > from, distance > 0);
  }
}

TEST(WireTimestamp, TicksAreWhatTheNameSays) {
  EXPECT_EQ(to_wire_timestamp(127, false), 0);
  EXPECT_EQ(to_wire_timestamp(128, false), 1);
  EXPECT_EQ(to_wire_timestamp(1023, true), 0);
  EXPECT_EQ(to_wire_timestamp(1024, true), 1);
  EXPECT_EQ(to_wire_timestamp(Nanoseconds{65536} * 128, false), 0);
  EXPECT_EQ(to_wire_timestamp(Nanoseconds{65535} * 1024, true), 65535);
}

TEST(WireTimestamp, AgeIsRightWithinATickAcrossTheWrap) {
  auto random = golden::seeded_random();
  for (const bool coarse : {false, true}) {
    const Nanoseconds tick = coarse ? 1024 : 128;
    for (int round = 0; round < 100000; ++round) {
      const Nanoseconds sent = random() >> 8;
      const Nanoseconds age = random() % (tick * 65535);
      const Nanoseconds measured = age_of_wire_timestamp(to_wire_timestamp(sent, coarse), sent + age, coarse);
      ASSERT_LT(measured, age + tick);
      ASSERT_GT(measured + tick, age);
    }
  }
}

}  // namespace
}  // namespace mrc
