// SPDX-License-Identifier: BSD-2-Clause
// Whose turn it is: shares of planes and paths, and the order within a round.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "tests/unit/path_made.h"

namespace mrc {
namespace {

TEST(PathSet, EqualSharesOfPlanesAndPaths) {  // MRC 4.1
  SprayedPaths set = make(4, 8);
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

TEST(PathSet, APlaneThatLostPathsKeepsItsShare) {  // MRC 4.1
  SprayedPaths set = make(4, 8);
  for (const uint16_t dead : {0, 1, 2, 3, 4, 5}) ASSERT_TRUE(set.demote(PathId(dead), 1));
  std::map<uint16_t, int> uses;
  std::map<Plane, int> planes;
  for (int i = 0; i < 32 * 20; ++i) {
    const PathId id = set.select(kAll);
    ++uses[static_cast<uint16_t>(id)];
    ++planes[set.at(id).plane];
  }
  for (const auto& [plane, count] : planes) EXPECT_EQ(count, 160) << int{plane};
  EXPECT_EQ(uses.size(), 26u);
  EXPECT_NEAR(uses[6], uses[7], 4) << "the two that are left take turns";
}

// What breaks a link takes the same paths from many queue pairs at once. If all chose the same others
// instead, those would be too full for all of them.
TEST(PathSet, SetsThatLostTheSamePathsTakeDifferentOnesInstead) {
  constexpr int kSets = 256;
  constexpr int kRounds = 2;
  std::map<uint16_t, int> uses;
  std::map<int, int> parts;  // of the list: eight paths behind the same first hop
  for (uint64_t seed = 1; seed <= kSets; ++seed) {
    SprayedPaths set = make(1, 64, 1, seed);
    for (const uint16_t dead : {13, 38, 39, 43}) ASSERT_TRUE(set.demote(PathId(dead), 1));
    for (int i = 0; i < 64 * kRounds; ++i) {
      const PathId id = set.select(kAll);
      ++uses[static_cast<uint16_t>(id)];
      ++parts[static_cast<uint16_t>(id) / 8];
    }
  }
  EXPECT_EQ(uses.size(), 60u);
  const double even = 64.0 / 60 * kSets * kRounds;
  for (const auto& [id, count] : uses) EXPECT_LT(count, 1.1 * even) << id;
  for (const int whole : {0, 2, 3, 6, 7}) EXPECT_NEAR(parts[whole], 8 * even, 0.02 * 8 * even) << whole;
}

TEST(PathSet, EveryRunOfPlanesMeetsEachPlaneOnce) {
  SprayedPaths set = make(8, 4);
  for (int round = 0; round < 20; ++round) {
    std::set<Plane> seen;
    for (int i = 0; i < 8; ++i) seen.insert(set.at(set.select(kAll)).plane);
    EXPECT_EQ(seen.size(), 8u);
  }
}

// MRC 12.R5 [P]: paths behind the same first hop are neighbours in the list, and that hop sees even traffic.
TEST(PathSet, EveryRunOfTurnsMeetsEachPartOfTheListOnce) {
  for (const uint32_t planes : {1u, 2u}) {
    SprayedPaths set = make(planes, 64);
    for (int round = 0; round < 40; ++round) {
      std::vector<std::vector<uint16_t>> turns(planes);
      for (uint32_t i = 0; i < 64 * planes; ++i) {
        const PathId id = set.select(kAll);
        const Plane plane = set.at(id).plane;
        turns[plane].push_back(static_cast<uint16_t>(static_cast<uint16_t>(id) - plane * 64));
      }
      for (const auto& of_plane : turns) {
        for (const size_t parts : {2u, 8u, 64u}) {
          for (size_t begin = 0; begin < 64; begin += parts) {
            std::set<size_t> met;
            for (size_t i = begin; i < begin + parts; ++i) met.insert(of_plane[i] / (64 / parts));
            ASSERT_EQ(met.size(), parts) << "turns from " << begin << " of round " << round;
          }
        }
      }
    }
  }
}

// A port that is full whenever the same path would be next must not keep that path from its turn.
TEST(PathSet, AFullPortCostsItsPathsNoTurn) {
  SprayedPaths set = make(2, 8);
  std::map<uint16_t, int> uses;
  for (int i = 0; i < 8 * 16; ++i) {
    const PathId id = set.select(i % 4 == 0 ? PlaneMask{2} : kAll);
    if (set.at(id).plane == 0) ++uses[static_cast<uint16_t>(id)];
  }
  ASSERT_EQ(uses.size(), 8u);
  const auto [least, most] = std::minmax_element(
      uses.begin(), uses.end(), [](auto& one, auto& other) { return one.second < other.second; });
  EXPECT_LE(most->second - least->second, 1);
}

TEST(PathSet, TheOrderIsDrawnAnewNowAndThen) {
  SprayedPaths set = make(1, 64);
  const auto round = [&] {
    std::vector<uint16_t> order;
    for (int i = 0; i < 64; ++i) order.push_back(static_cast<uint16_t>(set.select(kAll)));
    return order;
  };
  std::set<std::vector<uint16_t>> orders;
  for (int i = 0; i < 160; ++i) orders.insert(round());
  EXPECT_EQ(orders.size(), 10u);
}

// A number that is no power of two has no even parts, but still every path has its turn in every round.
TEST(PathSet, EveryPathHasOneTurnInARound) {
  for (const uint32_t paths : {1u, 3u, 5u, 13u, 33u, 100u, 255u}) {
    SprayedPaths set = make(1, paths);
    for (int round = 0; round < 40; ++round) {
      std::set<PathId> met;
      for (uint32_t i = 0; i < paths; ++i) met.insert(set.select(kAll));
      ASSERT_EQ(met.size(), paths);
    }
  }
}

TEST(PathSet, SetsAreNotInStep) {  // MRC 4.1: queue pairs must not be phase-locked
  SprayedPaths a = make(4, 16, 1, 1);
  SprayedPaths b = make(4, 16, 1, 2);
  int same = 0;
  for (int i = 0; i < 640; ++i) same += a.select(kAll) == b.select(kAll);
  EXPECT_LT(same, 64);
}

// [P] What goes a second time takes the better one of two turns: a path whose answers are late has few of
// them.
TEST(PathSet, OfTwoTurnsTheOneWhoseAnswersComeSooner) {
  SprayedPaths set = make(1, 16);
  const PathId late{3}, later{4};
  const auto uses = [&set](auto select) {
    std::map<uint16_t, int> uses;
    for (int i = 0; i < 1600; ++i) ++uses[static_cast<uint16_t>(select(set))];
    return uses;
  };
  const auto sooner = [](SprayedPaths& of) { return of.select_sooner(kAll); };
  for (int i = 0; i < 8; ++i)
    for (uint16_t id = 0; id < 16; ++id)
      set.answered_after(PathId{id}, PathId{id} == later ? 200 : PathId{id} == late ? 20 : 3);
  std::map<uint16_t, int> again = uses(sooner);
  EXPECT_EQ(again[4], 0);
  EXPECT_LT(again[3], 40);
  EXPECT_EQ(again.size(), 16u);
  for (const auto& [id, count] : uses([](SprayedPaths& of) { return of.select(kAll); }))
    EXPECT_EQ(count, 100);
  // Its queue has gone.
  for (int i = 0; i < 32; ++i) {
    set.answered_after(late, 3);
    set.answered_after(later, 0);
  }
  again = uses(sooner);
  EXPECT_GT(again[4], 50);
}

TEST(PathSet, SourceRoutesStayEvenWhateverIsLate) {
  std::vector<EvEntry> entries;
  for (uint32_t i = 0; i < 16; ++i) entries.push_back({.entropy = Entropy{i}, .has_outer = true});
  PathSetConfig config;
  config.paths_per_plane = 16;
  SprayedPaths set;
  set.reset(config, entries, 1);
  for (int i = 0; i < 8; ++i) set.answered_after(PathId{3}, 200);
  std::map<uint16_t, int> uses;
  for (int i = 0; i < 160; ++i) ++uses[static_cast<uint16_t>(set.select_sooner(1))];
  for (const auto& [id, count] : uses) EXPECT_EQ(count, 10) << id;
}

}  // namespace
}  // namespace mrc
