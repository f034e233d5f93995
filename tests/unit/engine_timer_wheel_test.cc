// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "libmrc/engine/timer_wheel.h"

namespace mrc {
namespace {

constexpr Nanoseconds kTick = 4096;

TEST(TimerWheel, FiresOnceAndNotEarly) {
  TimerWheel wheel(4);
  wheel.set(2, 10'000);
  EXPECT_EQ(wheel.take_due(9'999), TimerWheel::kNone);
  EXPECT_EQ(wheel.take_due(10'000), 2u);
  EXPECT_EQ(wheel.take_due(20'000), TimerWheel::kNone);
  EXPECT_EQ(wheel.next_deadline(), kNever);
}

TEST(TimerWheel, FarDeadlinesWait) {
  TimerWheel wheel(2);
  wheel.set(0, 10 * kSecond);
  for (Nanoseconds now = 0; now < 10 * kSecond; now += kMillisecond)
    ASSERT_EQ(wheel.take_due(now), TimerWheel::kNone);
  EXPECT_EQ(wheel.take_due(10 * kSecond), 0u);
}

TEST(TimerWheel, LongJumpLosesNothing) {
  TimerWheel wheel(100);
  for (uint32_t i = 0; i < 100; ++i) wheel.set(i, (i + 1) * kMillisecond);
  int fired = 0;
  while (wheel.take_due(5 * kSecond) != TimerWheel::kNone) ++fired;
  EXPECT_EQ(fired, 100);
}

TEST(TimerWheel, CancelledDoesNotFire) {
  TimerWheel wheel(2);
  wheel.set(0, 100);
  wheel.cancel(0);
  wheel.cancel(1);
  EXPECT_EQ(wheel.take_due(kSecond), TimerWheel::kNone);
}

// Against a list of deadlines: nothing early, nothing later than a tick, following next_deadline().
TEST(TimerWheel, AgreesWithAModel) {
  const char* given = std::getenv("MRC_SEED");
  const uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 0) : 4711;
  std::printf("seed %llu (set MRC_SEED to repeat)\n", static_cast<unsigned long long>(seed));
  std::mt19937_64 random(seed);
  TimerWheel wheel(64);
  std::vector<Nanoseconds> model(64, kNever);
  Nanoseconds now = 123'456'789;
  for (int step = 0; step < 100'000; ++step) {
    const auto timer = static_cast<uint32_t>(random() % 64);
    if (random() % 3 != 0 && model[timer] == kNever) {
      model[timer] = now + random() % (random() % 10 == 0 ? 100 * kMillisecond : 300 * kMicrosecond);
      wheel.set(timer, model[timer]);
    } else if (random() % 8 == 0) {
      model[timer] = kNever;
      wheel.cancel(timer);
    }
    const Nanoseconds next = wheel.next_deadline();
    const Nanoseconds earliest = *std::min_element(model.begin(), model.end());
    ASSERT_LE(next, std::max(earliest, now) == kNever ? kNever : std::max(earliest, now) + kTick);
    now = random() % 2 == 0 && next != kNever ? std::max(now, next) : now + random() % (50 * kMicrosecond);
    for (uint32_t due; (due = wheel.take_due(now)) != TimerWheel::kNone;) {
      ASSERT_LE(model[due], now);
      model[due] = kNever;
    }
    for (const Nanoseconds deadline : model)
      ASSERT_GT(deadline + kTick < deadline ? kNever : deadline + kTick, now);
  }
}

}  // namespace
}  // namespace mrc
