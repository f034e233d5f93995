// SPDX-License-Identifier: BSD-2-Clause
// The provider's clock, on a machine whose counter and clock do what they are told, and on this one.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include "providers/mrc/verbs/clock.h"

namespace mrc::provider {
namespace {

struct Machine {
  Nanoseconds time = 1'000 * kSecond;
  uint64_t count = 5'000'000;
  uint64_t counts_per_microsecond = 1050;
  bool even = true;
  Nanoseconds interrupted = 0;  // for so long between a look at the clock and one at the counter
  unsigned looks = 0;
  unsigned questions = 0;

  void run(Nanoseconds span) {
    time += span;
    count += span * counts_per_microsecond / kMicrosecond;
  }
};

struct FakeSource {
  Machine* machine;
  uint64_t counts() const { return machine->count; }
  bool is_even() const {
    ++machine->questions;
    return machine->even;
  }
  Nanoseconds time() const {
    ++machine->looks;
    const Nanoseconds now = machine->time;
    machine->run(std::exchange(machine->interrupted, 0));
    return now;
  }
};

class CountedClockTest : public testing::Test {
 protected:
  // Until the counter's rate is known.
  void learn() {
    for (int i = 0; i < 100; ++i) {
      machine_.run(100 * kMicrosecond);
      clock_.now();
    }
    machine_.looks = 0;
  }
  // Behind by no more than what it is slow by between two looks.
  void expect_right() {
    const Nanoseconds now = clock_.now();
    EXPECT_LE(now, machine_.time);
    EXPECT_GE(now + 150, machine_.time);
    EXPECT_GE(now, last_);
    last_ = now;
  }

  Machine machine_;
  CountedClock<FakeSource> clock_{FakeSource{&machine_}};
  Nanoseconds last_ = 0;
};

TEST_F(CountedClockTest, IsTheSystemsUntilTheRateIsKnown) {
  for (int i = 0; i < 40; ++i) {
    machine_.run(100 * kMicrosecond);
    EXPECT_EQ(clock_.now(), machine_.time);
  }
  EXPECT_EQ(machine_.looks, 40U);
}

TEST_F(CountedClockTest, LooksTenTimesInAMillisecond) {
  for (const uint64_t rate : {25, 1050, 3000}) {
    machine_.counts_per_microsecond = rate;
    CountedClock<FakeSource> clock{FakeSource{&machine_}};
    for (int i = 0; i < 100; ++i) {
      machine_.run(100 * kMicrosecond);
      clock.now();
    }
    machine_.looks = 0;
    for (int i = 0; i < 1000; ++i) {
      machine_.run(kMicrosecond);
      EXPECT_LE(clock.now(), machine_.time);
      EXPECT_GE(clock.now() + 150, machine_.time);
    }
    EXPECT_GE(machine_.looks, 9U) << rate;
    EXPECT_LE(machine_.looks, 11U) << rate;
  }
}

// The system's clock is slewed by up to 500 millionths, either way, for as long as it takes.
TEST_F(CountedClockTest, NeverGoesBackWhileTheSystemsIsSlewed) {
  learn();
  for (int i = 0; i < 100'000; ++i) {
    machine_.run(2000);
    machine_.time -= 1;
    expect_right();
  }
  for (int i = 0; i < 100'000; ++i) {
    machine_.run(2000);
    machine_.time += 1;
    expect_right();
  }
}

// Who measures, or sets the clock, may have no CPU for a while between its two readings, whichever they are.
TEST_F(CountedClockTest, InterruptionsLeaveItRight) {
  for (unsigned calls = 0; calls < 200; ++calls) {
    machine_ = {};
    CountedClock<FakeSource> clock{FakeSource{&machine_}};
    for (unsigned i = 0; i < 400; ++i) {
      machine_.run(50 * kMicrosecond);
      if (i == calls) machine_.interrupted = 2 * kMillisecond;
      clock.now();
    }
    machine_.interrupted = 0;
    for (int i = 0; i < 1000; ++i) {
      machine_.run(kMicrosecond);
      const Nanoseconds now = clock.now();
      ASSERT_LE(now, machine_.time) << calls;
      ASSERT_GE(now + 150, machine_.time) << calls;
    }
  }
}

TEST_F(CountedClockTest, ACounterThatRanOnWhileTheMachineSleptIsCorrected) {
  learn();
  expect_right();
  machine_.count += 3'600'000'000'000;
  expect_right();
  machine_.run(kMicrosecond);
  expect_right();
}

TEST_F(CountedClockTest, ACounterThatStartsAgainIsCorrected) {
  learn();
  expect_right();
  machine_.time += kSecond;
  machine_.count = 17;
  expect_right();
  machine_.run(kMicrosecond);
  expect_right();
}

TEST_F(CountedClockTest, AnUnevenCounterIsNotUsed) {
  machine_.even = false;
  for (int i = 0; i < 1000; ++i) {
    machine_.run(100 * kMicrosecond);
    machine_.count *= 3;
    EXPECT_EQ(clock_.now(), machine_.time);
  }
  EXPECT_EQ(machine_.questions, 1U);
}

TEST_F(CountedClockTest, ACounterThatStandsStillIsNotUsed) {
  machine_.counts_per_microsecond = 0;
  for (int i = 0; i < 1000; ++i) {
    machine_.run(100 * kMicrosecond);
    EXPECT_EQ(clock_.now(), machine_.time);
  }
}

// Real threads, real time: each sees time go on, and none is ahead of the system's.
TEST(ProviderClockTest, AgreesWithTheSystemsInEveryThread) {
  std::atomic<unsigned> wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&wrong] {
      const Nanoseconds until = monotonic_now() + 50 * kMillisecond;
      while (monotonic_now() < until) {
        const Nanoseconds before = monotonic_now();
        const Nanoseconds now = clock_now();
        const Nanoseconds after = monotonic_now();
        // Late by what it lags, and by how long the thread that set it was kept from doing so.
        if (now > after || now + kMillisecond < before) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0U);
}

}  // namespace
}  // namespace mrc::provider
