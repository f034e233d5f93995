// SPDX-License-Identifier: BSD-2-Clause
// The simulator itself: equal seeds give equal runs, and its faults really happen.
#include "tests/sim/soak.h"

#include <gtest/gtest.h>

namespace mrc::sim {
namespace {

TEST(Soak, SameSeedSameTrace) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const SoakResult first = run_soak_seed(seed);
    const SoakResult second = run_soak_seed(seed);
    EXPECT_EQ(first.trace, second.trace) << "seed " << seed;
    EXPECT_EQ(first.frames, second.frames) << "seed " << seed;
    EXPECT_EQ(first.virtual_ns, second.virtual_ns) << "seed " << seed;
  }
}

TEST(Soak, DifferentSeedsDiffer) {
  EXPECT_NE(run_soak_seed(1).trace, run_soak_seed(2).trace);
}

TEST(Soak, FaultsCauseRetransmissions) {
  uint64_t retransmits = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) retransmits += run_soak_seed(seed).retransmits;
  EXPECT_GT(retransmits, 100u);
}

}  // namespace
}  // namespace mrc::sim
