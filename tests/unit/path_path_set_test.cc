// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "tests/unit/path_made.h"

namespace mrc {
namespace {

TEST(PathSet, TheUsualFloorIsAQuarterOfWhatThereIs) {
  // Far fewer paths than the configuration asks for: a network with one spine per plane more than one.
  PathSetConfig config;
  config.planes = 2;
  config.paths_per_plane = 32;
  std::vector<EvEntry> entries;
  for (uint32_t i = 0; i < 8; ++i)
    entries.push_back(
        {.entropy = make_entropy(static_cast<Plane>(i / 4), i % 4), .plane = static_cast<Plane>(i / 4)});
  SprayedPaths set;
  set.reset(config, entries, 1);
  for (uint16_t dead = 0; dead < 6; ++dead) EXPECT_TRUE(set.demote(PathId(dead), 1)) << dead;
  EXPECT_EQ(set.active(), 2u);
}

TEST(PathSet, EntropyValuesAreDistinct) {
  SprayedPaths set = make(16, 256, 1, 99);
  std::set<uint32_t> values;
  for (size_t i = 0; i < set.size(); ++i) values.insert(static_cast<uint32_t>(set.at(PathId(i)).entropy));
  EXPECT_EQ(values.size(), set.size());
}

TEST(PathSet, SkipMissesOneTurn) {  // MRC 4.3
  SprayedPaths set = make(1, 4);
  const PathId marked = set.select(kAll);
  set.skip_once(marked);
  EXPECT_EQ(set.at(marked).state, PathState::kSkip);
  std::map<uint16_t, int> uses;
  for (int i = 0; i < 11; ++i) ++uses[static_cast<uint16_t>(set.select(kAll))];
  EXPECT_GE(uses[static_cast<uint16_t>(marked)], 1);
  EXPECT_EQ(set.at(marked).state, PathState::kGood);
}

// The more often a path is marked, the more turns it misses; answers without a mark bring it back.
TEST(PathSet, MarksInARowMissMoreTurns) {  // MRC 4.2: how long SKIP lasts is ours to say
  SprayedPaths set = make(1, 2);
  const PathId busy{0};
  const auto uses = [&](bool marked) {
    int count = 0;
    for (int i = 0; i < 300; ++i) {
      const PathId id = set.select(kAll);
      set.marked(id, marked && id == busy);
      count += id == busy ? 1 : 0;
    }
    return count;
  };
  EXPECT_LT(uses(true), 20) << "one turn per mark would leave a third of all packets on it";
  EXPECT_GT(uses(true), 0) << "it is still tried now and then";
  uses(false);
  EXPECT_GT(uses(false), 140) << "forgotten";
}

// By setting, as MRC's informative algorithm has it: one turn, however often it was marked or trimmed.
TEST(PathSet, SkipMayBeOneTurnForAll) {
  PathSetConfig config;
  config.paths_per_plane = 4;
  config.mark_skip_turns_max = 1;
  SprayedPaths set;
  set.reset(config, 1);
  const PathId busy{1};
  int uses = 0;
  for (int i = 0; i < 700; ++i) {
    const PathId id = set.select(kAll);
    set.marked(id, id == busy);
    uses += id == busy ? 1 : 0;
  }
  EXPECT_NEAR(uses, 100, 15) << "every second turn of its own: one packet of seven";
  set.trimmed(busy);
  uses = 0;
  for (int i = 0; i < 7; ++i) uses += set.select(kAll) == busy ? 1 : 0;  // in two rounds
  EXPECT_EQ(uses, 1);
}

TEST(PathSet, ATrimMissesEightTurns) {  // MRC 4.3: the UEC balancer makes it four marks
  SprayedPaths set = make(1, 4);
  set.trimmed(PathId{1});
  for (int i = 0; i < 7 * 3; ++i) EXPECT_NE(set.select(kAll), PathId{1});
  int uses = 0;
  for (int i = 0; i < 20; ++i) uses += set.select(kAll) == PathId{1} ? 1 : 0;
  EXPECT_GT(uses, 0);
}

TEST(PathSet, AllMarkedStillSends) {
  SprayedPaths set = make(2, 2);
  for (int i = 0; i < 4; ++i) set.skip_once(PathId(i));
  EXPECT_NE(set.select(kAll), kNoPath);
}

// MRC 4.3: which one then, is ours to say. Of many the one that is marked less; but no path of a few is the
// best for all packets until its marks are known.
TEST(PathSet, OfManyThatAreAllMarkedTheWorstAreUsedLeast) {
  constexpr uint16_t kPaths = 64;
  constexpr uint16_t kWorse = kPaths / 4;
  SprayedPaths set = make(1, kPaths);
  for (uint16_t id = 0; id < kPaths; ++id)
    for (int marks = id < kWorse ? 3 : 1; marks > 0; --marks) set.trimmed(PathId(id));
  int worse = 0;
  for (int i = 0; i < 2 * kPaths; ++i) worse += static_cast<uint16_t>(set.select(kAll)) < kWorse ? 1 : 0;
  EXPECT_LT(worse, 2 * kWorse / 4);

  SprayedPaths few = make(1, 4);
  for (const uint16_t id : {0, 1, 2, 3}) few.trimmed(PathId(id));
  for (int marks = 0; marks < 2; ++marks) few.trimmed(PathId(0));
  int uses = 0;
  for (int i = 0; i < 16; ++i) uses += few.select(kAll) == PathId(0) ? 1 : 0;
  EXPECT_NEAR(uses, 4, 2);
}

TEST(PathSet, ADemotedPathIsNotUsed) {
  SprayedPaths set = make(2, 4);
  EXPECT_TRUE(set.demote(PathId{3}, 100));
  EXPECT_FALSE(set.demote(PathId{3}, 100));
  EXPECT_EQ(set.active(), 7u);
  for (int i = 0; i < 100; ++i) EXPECT_NE(set.select(kAll), PathId{3});
}

TEST(PathSet, NeverBelowTheFloor) {  // MRC 4.2, ev_min_active
  SprayedPaths set = make(2, 4, 3);
  for (int round = 0; round < 5; ++round)
    for (int i = 0; i < 8; ++i) set.demote(PathId(i), static_cast<Nanoseconds>(round * 8 + i));
  EXPECT_EQ(set.active(), 3u);
}

TEST(PathSet, AtTheFloorTheLongestOutComesBack) {
  SprayedPaths set = make(1, 3, 2);
  EXPECT_TRUE(set.demote(PathId{0}, 1));
  EXPECT_TRUE(set.demote(PathId{1}, 2));
  EXPECT_EQ(set.at(PathId{0}).state, PathState::kGood);
  EXPECT_EQ(set.at(PathId{1}).state, PathState::kAssumedBad);
  EXPECT_EQ(set.active(), 2u);
}

TEST(PathSet, ProbesBringAPathBackAndRelapseCostsMore) {  // MRC 4.5 [P]
  SprayedPaths set = make(1, 4);
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
  SprayedPaths set = make(1, 2);
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
  SprayedPaths set = make(4, 2);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(set.at(set.select(0b0100)).plane, 2);
  set.demote(PathId{4}, 0);
  set.demote(PathId{5}, 0);
  EXPECT_EQ(set.active_planes(), 0b1011u);
  EXPECT_EQ(set.select(0b0100), kNoPath);
}

// The controller's word about one path: the profile as it is, but for this. How many paths changed.
size_t told(PathSet& set, PathId which, bool denied) {
  std::vector<EvEntry> entries(set.size());
  for (size_t i = 0; i < set.size(); ++i) {
    const Path& path = set.at(PathId(i));
    entries[path.profile_index] = {
        .entropy = path.entropy, .plane = path.plane, .denied = path.state == PathState::kDenied};
  }
  entries[set.at(which).profile_index].denied = denied;
  return set.follow(std::make_shared<const std::vector<EvEntry>>(entries), 12);
}

// ------------------------------------------------------------------------------------------------- backups

SprayedPaths make_with_backups(uint32_t planes, uint32_t paths, uint32_t backups, uint64_t seed = 1) {
  PathSetConfig config;
  config.planes = planes;
  config.paths_per_plane = paths;
  config.backups_per_plane = backups;
  SprayedPaths set;
  set.reset(config, seed);
  return set;
}

std::map<Plane, int> in_use_by_plane(const PathSet& set) {
  std::map<Plane, int> count;
  for (size_t i = 0; i < set.size(); ++i) count[set.at(PathId(i)).plane] += set.at(PathId(i)).in_use();
  return count;
}

TEST(PathSet, ManyPathsInEqualSharesWithBackups) {  // MRC 4.1: 128-256 EVs per QP
  SprayedPaths set = make_with_backups(8, 32, 8);
  EXPECT_EQ(set.size(), 8u * 40);
  EXPECT_EQ(set.active(), 256u);
  for (const auto& [plane, count] : in_use_by_plane(set)) EXPECT_EQ(count, 32);
  std::set<uint16_t> used;
  for (int i = 0; i < 256; ++i) used.insert(static_cast<uint16_t>(set.select(kAll)));
  EXPECT_EQ(used.size(), 256u);
}

TEST(PathSet, ABackupOfTheSamePlaneTakesOver) {  // MRC 4.5: never across planes
  SprayedPaths set = make_with_backups(4, 4, 2);
  for (int round = 0; round < 2; ++round) {
    PathId bad = set.select(kAll);
    while (set.at(bad).plane != 2) bad = set.select(kAll);
    EXPECT_TRUE(set.demote(bad, 0));
    EXPECT_EQ(set.active(), 16u);
    for (const auto& [plane, count] : in_use_by_plane(set)) EXPECT_EQ(count, 4);
  }
  PathId bad = set.select(kAll);
  while (set.at(bad).plane != 2) bad = set.select(kAll);
  set.demote(bad, 0);
  EXPECT_EQ(in_use_by_plane(set)[2], 3) << "no backup of this plane is left, and none of another helps";
  EXPECT_EQ(in_use_by_plane(set)[1], 4);
}

TEST(PathSet, WhoComesBackFillsAGapOrWaits) {
  SprayedPaths set = make_with_backups(1, 2, 1);
  PathId backup = kNoPath;
  for (uint16_t i = 0; i < 3; ++i)
    if (!set.at(PathId{i}).in_use()) backup = PathId{i};
  const PathId first = set.select(kAll);
  set.demote(first, 0);
  EXPECT_TRUE(set.at(backup).in_use());
  while (set.at(first).state == PathState::kAssumedBad) set.probe_answered(first, 1);
  EXPECT_EQ(set.at(first).state, PathState::kGood);
  EXPECT_FALSE(set.at(first).in_use()) << "its place is taken: it is the backup now";
  set.demote(backup, 2);
  EXPECT_TRUE(set.at(first).in_use());
}

TEST(PathSet, TakesTheListOfAProfile) {
  std::vector<EvEntry> entries;
  for (uint32_t i = 0; i < 12; ++i) {
    EvEntry entry;
    entry.entropy = Entropy{100 + i};
    entry.plane = static_cast<Plane>(i % 2);
    entry.has_outer = true;
    entry.outer_destination.bytes[15] = static_cast<uint8_t>(i);
    entries.push_back(entry);
  }
  entries.push_back({.entropy = Entropy{999}, .plane = 7});  // there is no such plane
  PathSetConfig config;
  config.planes = 2;
  config.paths_per_plane = 4;
  SprayedPaths set;
  set.reset(config, entries, 5);
  EXPECT_EQ(set.size(), 12u);
  EXPECT_EQ(set.active(), 8u) << "the rest are backups";
  const PathId id = set.find(Entropy{107}, 1);
  ASSERT_NE(id, kNoPath);
  EXPECT_TRUE(set.at(id).has_outer);
  EXPECT_EQ(set.way(set.at(id)).outer_destination.bytes[15], 7);
  EXPECT_EQ(set.at(id).profile_index, 7);
  EXPECT_EQ(set.find(Entropy{107}, 0), kNoPath);
}

TEST(PathSet, SharesAreEqualEvenIfTheListIsNot) {
  std::vector<EvEntry> entries;
  for (uint32_t i = 0; i < 6; ++i) entries.push_back({.entropy = Entropy{i}, .plane = 0});
  for (uint32_t i = 0; i < 2; ++i) entries.push_back({.entropy = Entropy{i}, .plane = 1});
  PathSetConfig config;
  config.planes = 2;
  SprayedPaths set;
  set.reset(config, entries, 1);
  EXPECT_EQ(in_use_by_plane(set)[0], 2);
  EXPECT_EQ(in_use_by_plane(set)[1], 2);
}

TEST(PathSet, DifferentSetsUseDifferentPaths) {  // MRC 4.1: random choice inside a plane
  std::vector<EvEntry> entries;
  for (uint32_t i = 0; i < 64; ++i) entries.push_back({.entropy = Entropy{i}, .plane = 0});
  PathSetConfig config;
  config.paths_per_plane = 8;
  std::set<uint32_t> used;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SprayedPaths set;
    set.reset(config, entries, seed);
    for (int i = 0; i < 8; ++i) used.insert(static_cast<uint32_t>(set.at(set.select(kAll)).entropy));
  }
  EXPECT_GT(used.size(), 55u);
}

TEST(PathSet, AnEmptyListIsNoCrash) {
  SprayedPaths set;
  set.reset(PathSetConfig{}, std::vector<EvEntry>{}, 1);
  EXPECT_EQ(set.select(kAll), kNoPath);
  EXPECT_EQ(set.control_path(0), kNoPath);
  EXPECT_EQ(set.take_due_probe(100), kNoPath);
  EXPECT_EQ(set.take_reverse_probe(100), kNoPath);
}

// ---------------------------------------------------------------------------------------- ports, MRC 4.6

TEST(PathSet, APortGoesDownAndComesBackAtOnce) {
  SprayedPaths set = make(4, 4);
  set.port_down(1);
  EXPECT_EQ(set.active(), 12u);
  EXPECT_EQ(set.active_planes(), 0b1101u);
  for (int i = 0; i < 50; ++i) EXPECT_NE(set.at(set.select(kAll)).plane, 1);
  set.port_up(1, 100);
  EXPECT_EQ(set.active(), 16u);
  std::set<Plane> seen;
  for (int i = 0; i < 16; ++i) seen.insert(set.at(set.select(kAll)).plane);
  EXPECT_EQ(seen.size(), 4u);
}

TEST(PathSet, APlaneNeedsBothEnds) {  // PORT_STATUS_UPDATE
  SprayedPaths set = make(4, 4);
  set.set_remote_ports(0b0111, 1);
  set.port_down(0);
  EXPECT_EQ(set.port_planes(), 0b0110u);
  EXPECT_EQ(set.active(), 8u);
  set.set_remote_ports(0b1111, 2);
  EXPECT_EQ(set.port_planes(), 0b1110u);
  set.port_up(0, 3);
  EXPECT_EQ(set.active(), 16u);
  set.set_remote_ports(0, 4);
  EXPECT_EQ(set.select(kAll), kNoPath) << "no way left";
}

TEST(PathSet, WhatAPortTakesWithItIsNoLoss) {
  SprayedPaths set = make(2, 4);
  set.port_down(1);
  EXPECT_FALSE(set.lost(PathId{5}, 1, 10, 100));
  EXPECT_EQ(set.at(PathId{5}).state, PathState::kGood);
  set.port_up(1, 200);
  EXPECT_FALSE(set.lost(PathId{5}, 2, 150, 300)) << "sent before the port was back, found missing later";
  EXPECT_TRUE(set.lost(PathId{5}, 3, 250, 300));
}

TEST(PathSet, PathsGivenUpWhenTheLinkBeganToFailReturnWithThePort) {
  SprayedPaths set = make(2, 4);
  for (uint16_t i = 4; i < 8; ++i) set.demote(PathId{i}, 10);
  set.port_down(1);
  EXPECT_EQ(set.next_probe(), kNever) << "nothing to probe on a port that is down";
  set.port_up(1, 100);
  EXPECT_EQ(set.active(), 8u);
  EXPECT_EQ(set.at(PathId{5}).probe_successes_needed, Path::kProbeSuccesses) << "that was no relapse";
}

TEST(PathSet, TheFloorShrinksWithThePorts) {  // MRC 4.2 with ports down
  SprayedPaths set = make(4, 4, 12);
  EXPECT_EQ(set.floor(), 12u);
  set.port_down(0);
  set.port_down(1);
  EXPECT_EQ(set.floor(), 6u);
  for (uint16_t i = 8; i < 16; ++i) set.demote(PathId{i}, i);
  EXPECT_EQ(set.active(), 6u) << "what is left still loses bad paths, and not too many";
  EXPECT_NE(set.select(kAll), kNoPath);
}

TEST(PathSet, ALostPortCallsBadPathsBackToKeepTheFloor) {
  SprayedPaths set = make(2, 2, 1);
  set.demote(PathId{2}, 1);
  set.demote(PathId{3}, 2);
  set.probe_answered(PathId{3}, 3);
  EXPECT_EQ(set.active(), 2u);
  set.port_down(0);
  EXPECT_EQ(set.active(), 1u);
  EXPECT_EQ(set.select(kAll), PathId{3}) << "the one that answered a probe";
  EXPECT_EQ(told(set, PathId{3}, true), 1u);
  EXPECT_EQ(set.select(kAll), PathId{2}) << "and then what there is";
}

// ----------------------------------------------------------------------------------- controller, MRC 4.7

TEST(PathSet, TheControllerDeniesAndAllows) {
  SprayedPaths set = make(1, 4, 4);
  EXPECT_EQ(told(set, PathId{2}, true), 1u);
  EXPECT_EQ(told(set, PathId{2}, true), 0u);
  EXPECT_EQ(set.active(), 3u) << "also below the floor";
  for (int i = 0; i < 50; ++i) EXPECT_NE(set.select(kAll), PathId{2});
  EXPECT_FALSE(set.lost(PathId{2}, 1, 10, 10));
  EXPECT_FALSE(set.probe_answered(PathId{2}, 11));
  EXPECT_EQ(set.at(PathId{2}).state, PathState::kDenied) << "only the controller ends it";
  EXPECT_EQ(told(set, PathId{2}, false), 1u);
  EXPECT_EQ(set.active(), 4u);
}

// MRC 12.C2: a profile that has changed, entry by entry; the same value on another port is another EV.
TEST(PathSet, FollowsTheProfileItWasMadeOf) {
  PathSetConfig config;
  config.planes = 2;
  config.paths_per_plane = 8;
  std::vector<EvEntry> entries;
  for (uint32_t i = 0; i < 8; ++i)
    for (Plane plane : {Plane{0}, Plane{1}}) entries.push_back({.entropy = Entropy{100 + i}, .plane = plane});
  SprayedPaths set;
  set.reset(config, entries, 1);
  entries[6].denied = true;  // value 103 on plane 0
  EXPECT_EQ(set.follow(std::make_shared<const std::vector<EvEntry>>(entries), 5), 1u);
  EXPECT_EQ(set.follow(std::make_shared<const std::vector<EvEntry>>(entries), 5), 0u) << "nothing is new";
  EXPECT_EQ(set.active(), 15u);
  const auto uses = [&](uint32_t value, Plane plane) {
    for (int i = 0; i < 400; ++i) {
      const Path& path = set.at(set.select(3));
      if (path.entropy == Entropy{value} && path.plane == plane) return true;
    }
    return false;
  };
  EXPECT_FALSE(uses(103, 0));
  EXPECT_TRUE(uses(103, 1));
  entries[6].denied = false;
  entries[2].entropy = Entropy{999};  // was value 101 on plane 0
  EXPECT_EQ(set.follow(std::make_shared<const std::vector<EvEntry>>(entries), 6), 2u);
  EXPECT_EQ(set.active(), 16u);
  EXPECT_TRUE(uses(103, 0));
  EXPECT_TRUE(uses(999, 0));
  EXPECT_FALSE(uses(101, 0));
}

TEST(PathSet, ABackupReplacesADeniedPath) {
  SprayedPaths set = make_with_backups(1, 4, 1);
  const PathId denied = set.select(kAll);
  told(set, denied, true);
  EXPECT_EQ(set.active(), 4u);
}

TEST(PathSet, AProfileCanDenyFromTheStart) {
  std::vector<EvEntry> entries;
  for (uint32_t i = 0; i < 4; ++i) entries.push_back({.entropy = Entropy{i}, .plane = 0, .denied = i == 1});
  PathSetConfig config;
  config.paths_per_plane = 3;
  SprayedPaths set;
  set.reset(config, entries, 3);
  EXPECT_EQ(set.active(), 3u);
  EXPECT_EQ(set.at(PathId{1}).state, PathState::kDenied);
  EXPECT_FALSE(set.at(PathId{1}).in_use());
}

TEST(PathSet, EventsTellWhatHappenedAndCountDrops) {
  PathSetConfig config;
  constexpr uint16_t kRoom = PathSet::kEventsMax;
  config.paths_per_plane = 2 * kRoom;
  config.event_mask = kPathEventGood | kPathEventAssumedBad;
  SprayedPaths set;
  set.reset(config, 1);
  PathEvent event;
  EXPECT_FALSE(set.take_event(&event));
  set.demote(PathId{3}, 1);
  while (set.at(PathId{3}).state == PathState::kAssumedBad) set.probe_answered(PathId{3}, 2);
  ASSERT_TRUE(set.take_event(&event));
  EXPECT_EQ(event.path, PathId{3});
  EXPECT_EQ(event.state, PathState::kAssumedBad);
  ASSERT_TRUE(set.take_event(&event));
  EXPECT_EQ(event.state, PathState::kGood);
  EXPECT_EQ(event.dropped, 0u);
  for (uint16_t i = 0; i < kRoom + 3; ++i) ASSERT_TRUE(set.demote(PathId{i}, 3)) << i;
  EXPECT_EQ(set.events_dropped(), 3u);
  for (uint16_t i = 0; i < kRoom; ++i) ASSERT_TRUE(set.take_event(&event)) << i;
  EXPECT_FALSE(set.take_event(&event));
  ASSERT_TRUE(set.demote(PathId{kRoom + 3}, 4));
  ASSERT_TRUE(set.take_event(&event));
  EXPECT_EQ(event.dropped, 3u) << "said with the next one that fits";
}

TEST(PathSet, OnlyEventsThatWereAskedFor) {
  PathSetConfig config;
  config.event_mask = kPathEventGood;
  SprayedPaths set;
  set.reset(config, 1);
  set.demote(PathId{3}, 1);
  PathEvent event;
  EXPECT_FALSE(set.take_event(&event));
}

// --------------------------------------------------------------------------------- ECN common mode, MRC 5.4

TEST(PathSet, MarksOfOnePathAreItsOwn) {
  SprayedPaths set = make(1, 8);
  for (int i = 0; i < 100; ++i) set.marked(PathId(i % 8), i % 4 == 0);
  EXPECT_FALSE(set.marks_are_common());
  set.marked(PathId{2}, true);
  EXPECT_EQ(set.at(PathId{2}).state, PathState::kSkip);
}

TEST(PathSet, WhenNearlyAllAreMarkedMarksSayNothing) {
  SprayedPaths set = make(1, 8);
  for (int i = 0; i < 200; ++i) set.marked(PathId(i % 8), i % 16 != 0);
  EXPECT_TRUE(set.marks_are_common());
  for (int i = 0; i < 64; ++i) set.select(kAll);  // forgives what was marked before
  for (int i = 0; i < 8; ++i) {
    set.marked(PathId(i), true);
    EXPECT_EQ(set.at(PathId(i)).state, PathState::kGood);
  }
  for (int i = 0; i < 20; ++i) set.marked(PathId{0}, false);
  EXPECT_FALSE(set.marks_are_common());
  set.marked(PathId{2}, true);
  EXPECT_EQ(set.at(PathId{2}).state, PathState::kSkip);
}

// ------------------------------------------------------------------------------------ reverse set, MRC 4.5

TEST(PathSet, ControlPacketsTakeAPathThatWorks) {
  SprayedPaths set = make(2, 8);
  set.delivered(PathId{11}, 1);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(set.control_path(1), PathId{11});
  std::set<uint16_t> spread;
  for (int i = 0; i < 64; ++i) spread.insert(static_cast<uint16_t>(set.control_path(1)));
  EXPECT_GT(spread.size(), 4u) << "too long ago: spread over all";
  set.probe_answered(PathId{13}, 5);
  EXPECT_EQ(set.control_path(1), PathId{13}) << "refreshed by a probe";
  set.demote(PathId{13}, 6);
  EXPECT_NE(set.control_path(1), PathId{13});
}

TEST(PathSet, ControlPacketsGoBackByThePathOnWhichThePeerWasHeard) {
  SprayedPaths set = make(4, 4);
  const Path& heard = set.at(PathId{14});
  for (int i = 0; i < 200; ++i) EXPECT_EQ(set.control_path(heard.plane, heard.entropy), PathId{14});
  set.delivered(PathId{13}, 1);
  EXPECT_EQ(set.control_path(heard.plane, heard.entropy), PathId{13})
      << "one that is known to work is better";
  const Path& elsewhere = set.at(PathId{0});
  EXPECT_EQ(set.at(set.control_path(heard.plane, elsewhere.entropy)).plane, heard.plane);
}

TEST(PathSet, ControlPacketsStayOnTheirPlane) {
  SprayedPaths set = make(4, 4);
  set.delivered(PathId{1}, 1);
  for (int i = 0; i < 200; ++i) EXPECT_EQ(set.at(set.control_path(3)).plane, 3);
}

TEST(PathSet, ReverseProbesOnlyWithoutNewsOfOurOwn) {
  SprayedPaths set = make(2, 4);
  set.set_rtt(12 * kMicrosecond);
  EXPECT_NE(set.take_reverse_probe(kSecond), kNoPath) << "data came in, and we know nothing";
  EXPECT_EQ(set.take_reverse_probe(kSecond + 10), kNoPath) << "not for every packet";
  set.delivered(PathId{2}, 1);
  EXPECT_EQ(set.take_reverse_probe(kSecond + kMillisecond), kNoPath) << "our own data tell";
  std::set<Plane> planes;
  for (int i = 2; i < 40; ++i) {
    const PathId id = set.take_reverse_probe(kSecond + i * kMillisecond);
    ASSERT_NE(id, kNoPath);
    planes.insert(set.at(id).plane);
  }
  EXPECT_EQ(planes.size(), 2u);
}

}  // namespace
}  // namespace mrc
