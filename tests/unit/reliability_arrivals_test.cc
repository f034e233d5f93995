// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "libmrc/reliability/arrivals_by_path.h"

namespace mrc {
namespace {

constexpr size_t kPaths = 8;

TEST(ArrivalsByPath, KnowsTheNewestOfEachPath) {
  ArrivalsByPath arrivals;
  EXPECT_EQ(arrivals.of(PathId{3}), 0u);
  EXPECT_TRUE(arrivals.note(PathId{3}, 10, kPaths));
  EXPECT_FALSE(arrivals.note(PathId{3}, 10, kPaths)) << "it is said again by the next SACK";
  EXPECT_FALSE(arrivals.note(PathId{3}, 9, kPaths));
  EXPECT_TRUE(arrivals.note(PathId{7}, 9, kPaths)) << "another path";
  EXPECT_TRUE(arrivals.note(PathId{3}, 12, kPaths));
  EXPECT_EQ(arrivals.of(PathId{3}), 12u);
  EXPECT_EQ(arrivals.of(PathId{7}), 9u);
  EXPECT_EQ(arrivals.of(PathId{0}), 0u);
  EXPECT_EQ(arrivals.newest(), 12u);
  arrivals.clear();
  EXPECT_EQ(arrivals.of(PathId{3}), 0u);
  EXPECT_EQ(arrivals.newest(), 0u);
}

// Others who send by the same paths count on while one is idle.
TEST(ArrivalsByPath, NumbersMayGoOnForEver) {
  ArrivalsByPath arrivals;
  std::array<uint64_t, kPaths> newest{};
  uint64_t order = 0;
  uint64_t draw = 1;
  for (int step = 0; step < 20'000; ++step) {
    draw = draw * 6364136223846793005u + 1442695040888963407u;
    order += 1 + (draw >> 33) % (step % 100 == 0 ? uint64_t{1} << 33 : uint64_t{1} << 22);
    const size_t path = (draw >> 20) % 16;
    if (path >= kPaths) continue;
    ASSERT_TRUE(arrivals.note(PathId(path), order, kPaths));
    ASSERT_FALSE(arrivals.note(PathId(path), order - 1, kPaths));
    newest[path] = order;
    for (uint16_t i = 0; i < kPaths; ++i) {
      const uint64_t known = arrivals.of(PathId{i});
      if (known == newest[i]) continue;
      ASSERT_EQ(known, 0u) << "forgotten, but never taken for another";
      ASSERT_GE(order - newest[i], uint64_t{1} << 31);
    }
  }
  EXPECT_EQ(arrivals.newest(), order == 0 ? 0 : *std::max_element(newest.begin(), newest.end()));
}

}  // namespace
}  // namespace mrc
