// SPDX-License-Identifier: BSD-2-Clause
// The soak itself: equal seeds give equal runs, its faults really happen, and its checkers see what they
// must.
#include "tests/sim/soak/soak.h"

#include <gtest/gtest.h>

#include "tests/sim/soak/soak_plan.h"

namespace mrc::sim {
namespace {

TEST(Soak, SameSeedSameTrace) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    const SoakResult first = run_soak_seed(seed);
    const SoakResult second = run_soak_seed(seed);
    EXPECT_EQ(first.trace, second.trace) << "seed " << seed;
    EXPECT_EQ(first.frames, second.frames) << "seed " << seed;
    EXPECT_EQ(first.virtual_time, second.virtual_time) << "seed " << seed;
  }
}

TEST(Soak, DifferentSeedsDiffer) {
  EXPECT_NE(run_soak_seed(1).trace, run_soak_seed(2).trace);
}

TEST(Soak, FaultsCauseLossAndRetransmissions) {
  SoakResult sum;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const SoakResult result = run_soak_seed(seed);
    EXPECT_TRUE(result.ok) << "seed " << seed << ": " << result.failure;
    sum.retransmits += result.retransmits;
    sum.frames_gone += result.frames_gone;
    sum.errors += result.errors;
  }
  EXPECT_GT(sum.retransmits, 1000u);
  EXPECT_GT(sum.frames_gone, 1000u);
  EXPECT_GT(sum.errors, 0u);  // some seeds cut a host off
}

TEST(Soak, PlansCoverWhatTheyShould) {
  uint32_t tiers[4] = {};
  uint32_t planes[9] = {};
  uint32_t cut_off = 0;
  uint32_t v4 = 0;
  bool kinds[16] = {};
  for (uint64_t seed = 1; seed <= 600; ++seed) {
    const SoakPlan plan = draw_soak_plan(seed, enabled_operations());
    ASSERT_GE(plan.topology.host_count(), 2u);
    ASSERT_LE(plan.topology.host_count(), 16u);
    ++tiers[plan.topology.tiers];
    ++planes[plan.topology.planes];
    if (plan.cut_off != kNoHost) ++cut_off;
    if (plan.host.v4) ++v4;
    Fabric fabric(plan.topology, 1);
    FaultPlan faults(fabric);
    draw_faults(plan, fabric, &faults);
    for (const Fault& fault : faults.faults()) kinds[static_cast<size_t>(fault.kind)] = true;
  }
  for (int i = 1; i <= 3; ++i) EXPECT_GT(tiers[i], 50u);
  for (int i = 1; i <= 8; ++i) EXPECT_GT(planes[i], 10u);
  EXPECT_GT(cut_off, 5u);
  EXPECT_GT(v4, 100u);
  for (size_t i = 0; i <= static_cast<size_t>(FaultKind::kHostPause); ++i)
    EXPECT_TRUE(kinds[i]) << to_string(static_cast<FaultKind>(i));
}

}  // namespace
}  // namespace mrc::sim
