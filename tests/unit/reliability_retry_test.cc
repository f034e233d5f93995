// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <vector>

#include "libmrc/reliability/retry.h"

namespace mrc {
namespace {

TEST(RetryPolicy, LinearThenDoubling) {
  RetryPolicy retry;
  retry.configure(1000, 2, 3);
  std::vector<Nanoseconds> waits;
  for (;;) {
    waits.push_back(retry.timeout());
    if (!retry.charge()) break;
  }
  EXPECT_EQ(waits, (std::vector<Nanoseconds>{1000, 1000, 1000, 2000, 4000, 8000}));
}

TEST(RetryPolicy, ForEverIsCapped) {
  RetryPolicy retry;
  retry.configure(kSecond, 0, RetryPolicy::kForEver);
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(retry.charge());
  EXPECT_EQ(retry.timeout(), RetryPolicy::kTimeoutMax);
}

TEST(RetryPolicy, ProgressStartsOver) {
  RetryPolicy retry;
  retry.configure(1000, 1, 0);
  EXPECT_TRUE(retry.charge());
  EXPECT_FALSE(retry.charge());
  retry.progress();
  EXPECT_TRUE(retry.charge());
}

TEST(RetryPolicy, ZeroTurnsTheTimerOff) {
  RetryPolicy retry;
  retry.configure(0, 7, 0);
  EXPECT_EQ(retry.timeout(), 0u);
}

}  // namespace
}  // namespace mrc
