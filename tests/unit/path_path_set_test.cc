// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "libmrc/path/path_set.h"

namespace mrc {
namespace {

PathSet make(uint32_t planes, uint32_t paths, uint32_t min_active = 1, uint64_t seed = 1) {
  PathSetConfig config;
  config.planes = planes;
  config.paths_per_plane = paths;
  config.min_active = min_active;
  PathSet set;
  set.reset(config, seed);
  return set;
}

constexpr PlaneMask kAll = 0xFFFF;

TEST(PathSet, EqualSharesOfPlanesAndPaths) {  // MRC 4.1
  PathSet set = make(4, 8);
  std::map<uint16_t, int> uses;
  std::map<Plane, int> planes;
  for (int i = 0; i < 32 * 10; ++i) {
    const PathId id = set.select(kAll);
    ++uses[static_cast<uint16_t>(id)];
    ++planes[set.at(id).plane];
  }
  EXPECT_EQ(uses.size(), 32u);
  for (const auto& [id, count] : uses) EXPECT_EQ(count, 10) << id;
  for (const auto& [plane, count] : planes) EXPECT_EQ(count, 80);
}

TEST(PathSet, EveryRunOfPlanesMeetsEachPlaneOnce) {
  PathSet set = make(8, 4);
  for (int round = 0; round < 20; ++round) {
    std::set<Plane> seen;
    for (int i = 0; i < 8; ++i) seen.insert(set.at(set.select(kAll)).plane);
    EXPECT_EQ(seen.size(), 8u);
  }
}

TEST(PathSet, EntropyValuesAreDistinct) {
  PathSet set = make(16, 256, 1, 99);
  std::set<uint32_t> values;
  for (size_t i = 0; i < set.size(); ++i) values.insert(static_cast<uint32_t>(set.at(PathId(i)).entropy));
  EXPECT_EQ(values.size(), set.size());
}

TEST(PathSet, SetsAreNotInStep) {  // MRC 4.1: queue pairs must not be phase-locked
  PathSet a = make(4, 16, 1, 1);
  PathSet b = make(4, 16, 1, 2);
  int same = 0;
  for (int i = 0; i < 640; ++i) same += a.select(kAll) == b.select(kAll);
  EXPECT_LT(same, 64);
}

TEST(PathSet, SkipMissesOneTurn) {  // MRC 4.3
  PathSet set = make(1, 4);
  const PathId marked = set.select(kAll);
  set.skip_once(marked);
  EXPECT_EQ(set.at(marked).state, PathState::kSkip);
  std::map<uint16_t, int> uses;
  for (int i = 0; i < 11; ++i) ++uses[static_cast<uint16_t>(set.select(kAll))];
  EXPECT_GE(uses[static_cast<uint16_t>(marked)], 1);
  EXPECT_EQ(set.at(marked).state, PathState::kGood);
}

TEST(PathSet, AllMarkedStillSends) {
  PathSet set = make(2, 2);
  for (int i = 0; i < 4; ++i) set.skip_once(PathId(i));
  EXPECT_NE(set.select(kAll), kNoPath);
}

TEST(PathSet, ADemotedPathIsNotUsed) {
  PathSet set = make(2, 4);
  EXPECT_TRUE(set.demote(PathId{3}, 100));
  EXPECT_FALSE(set.demote(PathId{3}, 100));
  EXPECT_EQ(set.active(), 7u);
  for (int i = 0; i < 100; ++i) EXPECT_NE(set.select(kAll), PathId{3});
}

TEST(PathSet, NeverBelowTheFloor) {  // MRC 4.2, ev_min_active
  PathSet set = make(2, 4, 3);
  for (int round = 0; round < 5; ++round)
    for (int i = 0; i < 8; ++i) set.demote(PathId(i), static_cast<Nanoseconds>(round * 8 + i));
  EXPECT_EQ(set.active(), 3u);
}

TEST(PathSet, AtTheFloorTheLongestOutComesBack) {
  PathSet set = make(1, 3, 2);
  EXPECT_TRUE(set.demote(PathId{0}, 1));
  EXPECT_TRUE(set.demote(PathId{1}, 2));
  EXPECT_EQ(set.at(PathId{0}).state, PathState::kGood);
  EXPECT_EQ(set.at(PathId{1}).state, PathState::kAssumedBad);
  EXPECT_EQ(set.active(), 2u);
}

TEST(PathSet, ProbesBringAPathBackAndRelapseCostsMore) {  // MRC 4.5 [P]
  PathSet set = make(1, 4);
  Nanoseconds now = 0;
  auto answers_needed = [&] {
    int answers = 0;
    while (set.at(PathId{2}).state == PathState::kAssumedBad) {
      now = set.next_probe();
      EXPECT_EQ(set.take_due_probe(now), PathId{2});
      set.probe_answered(PathId{2}, now);
      ++answers;
    }
    return answers;
  };
  set.demote(PathId{2}, now);
  EXPECT_EQ(answers_needed(), 3);
  set.demote(PathId{2}, now);
  EXPECT_EQ(answers_needed(), 6);
  EXPECT_EQ(set.next_probe(), kNever);
}

TEST(PathSet, UnansweredProbesBackOff) {
  PathSet set = make(1, 2);
  set.demote(PathId{0}, 0);
  Nanoseconds last = 0;
  Nanoseconds gap = 0;
  for (int i = 0; i < 40; ++i) {
    const Nanoseconds now = set.next_probe();
    gap = now - last;
    last = now;
    ASSERT_EQ(set.take_due_probe(now), PathId{0});
  }
  EXPECT_GE(gap, kSecond);
  EXPECT_LE(gap, 2 * kSecond);
}

TEST(PathSet, OnlyUsablePlanes) {
  PathSet set = make(4, 2);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(set.at(set.select(0b0100)).plane, 2);
  set.demote(PathId{4}, 0);
  set.demote(PathId{5}, 0);
  EXPECT_EQ(set.active_planes(), 0b1011u);
  EXPECT_EQ(set.select(0b0100), kNoPath);
}

}  // namespace
}  // namespace mrc
