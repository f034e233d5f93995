// SPDX-License-Identifier: BSD-2-Clause
// Path health under loss: a bad path leaves at once, uniform loss changes nothing, a dead plane is left
// alone. MRC 4.2, 4.5.
#include <gtest/gtest.h>

#include "tests/unit/path_flow_model.h"

namespace mrc {
namespace {

PathSetConfig config(uint32_t planes, uint32_t paths, uint32_t backups, uint32_t floor,
                     Nanoseconds probe_interval = kMillisecond) {
  PathSetConfig config;
  config.planes = planes;
  config.paths_per_plane = paths;
  config.backups_per_plane = backups;
  config.min_active = floor;
  config.probe_interval = probe_interval;
  return config;
}

TEST(PathHealth, OnACleanNetworkTheFirstLossTakesThePathOut) {  // MRC 4.5
  SprayedPaths set;
  set.reset(config(2, 4, 0, 1), 1);
  for (uint64_t order = 1; order <= 8; ++order) set.delivered(PathId(order % 8), order);
  EXPECT_TRUE(set.lost(PathId{3}, 9, 0, 100));
  EXPECT_EQ(set.at(PathId{3}).state, PathState::kAssumedBad);
}

TEST(PathHealth,
     NorDoesItHelpThatThePathCarriesSomethingLater) {  // MRC 4.5: one loss that is shown by its path
  SprayedPaths set;
  set.reset(config(2, 4, 0, 1), 1);
  for (uint64_t order = 1; order <= 24; ++order)
    if (order != 11) set.delivered(PathId(order % 8), order);
  EXPECT_TRUE(set.lost(PathId{3}, 11, 0, 100));
  EXPECT_EQ(set.at(PathId{3}).state, PathState::kAssumedBad);
}

TEST(PathHealth, OneBadPathOf16IsOutWithin2Rtt) {  // MRC 8, 5.2.4: 20 % on one of 2 x 8 EVs
  FlowModel model;
  model.reset(config(8, 2, 0, 4));
  const Entropy bad = model.paths.at(PathId{5}).entropy;
  model.loss = [=](const Path& path, Nanoseconds now) {
    return path.entropy == bad && now > kMillisecond ? 0.2 : 0;
  };
  model.run(20 * kMillisecond);
  EXPECT_LE(model.first_out_by[5], model.first_lost_by[5] + 2 * model.rtt);
  EXPECT_LT(model.lost, 40u) << "over several returns";
  EXPECT_EQ(model.paths.active_planes(), 0xFFu);
}

TEST(PathHealth, UniformLossDoesNotShrinkTheSet) {
  for (const double rate : {0.001, 0.01, 0.05}) {
    FlowModel model;
    model.reset(config(8, 16, 0, 32));
    model.loss = [=](const Path&, Nanoseconds) { return rate; };
    model.run(10 * kMillisecond);
    EXPECT_GE(model.active_min, 118u) << rate;
    EXPECT_LT(model.demoted, 40u) << rate;
    EXPECT_NEAR(model.paths.loss_rate(), rate, 0.6 * rate);
  }
}

TEST(PathHealth, WithBackupsUniformLossCostsNothing) {
  FlowModel model;
  model.reset(config(8, 16, 16, 32));
  model.loss = [](const Path&, Nanoseconds) { return 0.01; };
  model.run(10 * kMillisecond);
  EXPECT_EQ(model.active_min, 128u);
}

TEST(PathHealth, HeavyUniformLossKeepsHalfOfTheSet) {
  FlowModel model;
  model.reset(config(8, 16, 0, 32));
  model.loss = [](const Path&, Nanoseconds) { return 0.3; };
  model.run(10 * kMillisecond);
  EXPECT_GE(model.active_min, 60u);
  EXPECT_EQ(model.paths.active_planes(), 0xFFu);
}

TEST(PathHealth, ABlackHoledPathGetsNothingAfter3Rtt) {
  for (const double usual : {0.0, 0.001, 0.01}) {
    FlowModel model;
    model.reset(config(8, 16, 0, 32));
    const Entropy dead = model.paths.at(PathId{77}).entropy;
    model.loss = [=](const Path& path, Nanoseconds now) {
      return path.entropy == dead && now > kMillisecond ? 1 : usual;
    };
    model.run(10 * kMillisecond);
    EXPECT_LE(model.last_sent_by[77], kMillisecond + 3 * model.rtt) << usual;
  }
}

TEST(PathHealth, APathWithAnOverduePacketIsLeftAloneUntilItIsSettled) {
  SprayedPaths set;
  set.reset(config(2, 4, 0, 1), 1);
  const auto turns = [&set](PathId id) {
    int count = 0;
    for (int i = 0; i < 80; ++i) count += set.select(3) == id ? 1 : 0;
    return count;
  };
  EXPECT_EQ(turns(PathId{3}), 10);
  set.overdue(PathId{3});
  EXPECT_EQ(turns(PathId{3}), 0);
  EXPECT_TRUE(set.at(PathId{3}).in_use());
  set.delivered(PathId{3}, 1);  // it was only late
  EXPECT_EQ(turns(PathId{3}), 10);
  // With losses on all paths one loss does not take this one out, but it does settle the matter.
  for (uint64_t order = 2; order < 300; order += 2) {
    const auto id = PathId(order % 8);
    set.delivered(id, order + 1);
    set.lost(id, order, 0, 100);
    if (set.at(id).state == PathState::kAssumedBad) set.port_down(set.at(id).plane);
    set.port_up(set.at(id).plane, 0);
  }
  set.overdue(PathId{3});
  EXPECT_FALSE(set.lost(PathId{3}, 301, 200, 300));
  EXPECT_GT(turns(PathId{3}), 5);
  // If all have one, the next packet goes out nevertheless.
  for (uint16_t id = 0; id < 8; ++id) set.overdue(PathId{id});
  EXPECT_NE(set.select(3), kNoPath);
}

// The path of answers may be the one that broke. Whoever asks again has not heard them.
TEST(PathHealth, QuestionsMakeThePathOfAnswersDoubtful) {
  SprayedPaths set;
  set.reset(config(1, 8, 0, 1), 1);
  set.delivered(PathId{6}, 1);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(set.control_path(0), PathId{6}) << "seen to work";
  const Entropy heard = set.at(PathId{2}).entropy;
  EXPECT_EQ(set.control_path(0, heard, true), PathId{6}) << "once more";
  EXPECT_EQ(set.control_path(0, heard, true), PathId{2}) << "not seen since";
  int back = 0;
  for (int i = 0; i < 64; ++i) back += set.control_path(0, heard, true) == PathId{2} ? 1 : 0;
  EXPECT_GT(back, 16) << "by the path on which it came";
  EXPECT_LT(back, 60) << "but by others as well";
  EXPECT_EQ(set.control_path(0, heard), PathId{2}) << "what is not a question goes where it came from";
  set.delivered(PathId{6}, 2);
  EXPECT_EQ(set.control_path(0, heard), PathId{6}) << "seen again";
}

TEST(PathHealth, QuestionsTakeMarkedPathsToo) {
  SprayedPaths set;
  set.reset(config(1, 2, 0, 1), 1);
  for (int i = 0; i < 6; ++i) set.marked(PathId{1}, true);
  ASSERT_EQ(set.at(PathId{1}).state, PathState::kSkip);
  int asked[2] = {};
  for (int i = 0; i < 10; ++i) ++asked[static_cast<size_t>(set.next_in_use(1))];
  EXPECT_EQ(asked[0], 5);
  EXPECT_EQ(asked[1], 5);
  EXPECT_TRUE(set.demote(PathId{0}, 1));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(set.next_in_use(1), PathId{1}) << "only what is in use";
  EXPECT_EQ(set.next_in_use(0), kNoPath);
}

TEST(PathHealth, ABlackHoledPlaneIsLeftAlone) {
  for (const uint32_t backups : {0u, 16u}) {
    FlowModel model;
    model.reset(config(8, 16, backups, 32));
    model.loss = [](const Path& path, Nanoseconds now) {
      return path.plane == 3 && now > kMillisecond && now < 5 * kMillisecond ? 1 : 0;
    };
    model.run(5 * kMillisecond);
    // Two round trips of one plane are 73 packets; nothing after that, and no backup is thrown after it.
    EXPECT_LT(model.lost, 80u);
    EXPECT_EQ(model.paths.active_planes(), 0xF7u);
    EXPECT_EQ(model.paths.active(), 112u) << "the others are as before";
    model.run(15 * kMillisecond);
    EXPECT_EQ(model.paths.active(), 128u) << "probes brought it back";
  }
}

TEST(PathHealth, ABlackHoledPlaneUnderLossIsFoundToo) {
  FlowModel model;
  model.reset(config(8, 16, 0, 32));
  model.loss = [](const Path& path, Nanoseconds now) {
    return path.plane == 3 && now > 5 * kMillisecond ? 1 : 0.01;
  };
  model.run(10 * kMillisecond);
  Nanoseconds last = 0;
  for (size_t i = 0; i < model.paths.size(); ++i)
    if (model.paths.at(PathId(i)).plane == 3) last = std::max(last, model.last_sent_by[i]);
  EXPECT_LT(last, 5 * kMillisecond + 3 * model.rtt);
  EXPECT_GE(model.paths.active(), 105u)
      << "the loss of one plane is not blamed on the others, nor excuses it";
}

TEST(PathHealth, AtTheFloorDeadPathsGetFewTurns) {  // MRC 4.2: the floor holds, but 7 of 8 planes are dead
  FlowModel model;
  model.reset(config(8, 16, 0, 32));
  model.loss = [](const Path& path, Nanoseconds now) {
    return path.plane != 3 && now > kMillisecond ? 1 : 0;
  };
  model.run(2 * kMillisecond);
  const uint64_t sent = model.sent;
  const uint64_t lost = model.lost;
  model.run(10 * kMillisecond);
  EXPECT_EQ(model.paths.active(), 32u);
  EXPECT_GE(model.active_min, 32u);
  EXPECT_LT(static_cast<double>(model.lost - lost) / static_cast<double>(model.sent - sent), 0.08);
}

TEST(PathHealth, AtTheFloorAGrayPathIsNotSwappedForADeadOne) {
  SprayedPaths set;
  set.reset(config(1, 4, 0, 2), 1);
  set.demote(PathId{0}, 1);
  set.demote(PathId{1}, 2);
  set.delivered(PathId{2}, 20);
  EXPECT_FALSE(set.lost(PathId{2}, 10, 5, 30)) << "it delivers, the others are silent";
  EXPECT_EQ(set.at(PathId{2}).state, PathState::kGood);
}

TEST(PathHealth, AtTheFloorAPathThatAnswersProbesTakesOver) {
  SprayedPaths set;
  set.reset(config(1, 4, 0, 2), 1);
  set.demote(PathId{0}, 1);
  set.demote(PathId{1}, 2);
  set.probe_answered(PathId{1}, 3);
  EXPECT_TRUE(set.demote(PathId{2}, 4));
  EXPECT_EQ(set.at(PathId{1}).state, PathState::kGood);
  EXPECT_EQ(set.at(PathId{0}).state, PathState::kAssumedBad) << "though it has been out longer";
}

TEST(PathHealth, WhenEverythingWasDeadEverythingComesBack) {
  FlowModel model;
  model.reset(config(8, 16, 0, 32, 50 * kMicrosecond));
  model.loss = [](const Path&, Nanoseconds now) {
    return now > kMillisecond && now < 3 * kMillisecond ? 1 : 0;
  };
  model.run(3 * kMillisecond);
  EXPECT_GE(model.active_min, 32u);
  EXPECT_EQ(model.stuck, 0u);
  const uint64_t lost = model.lost;
  model.run(6 * kMillisecond);
  EXPECT_EQ(model.lost, lost);
  EXPECT_EQ(model.paths.active(), 128u);
}

TEST(PathHealth, OldLossesDoNotCountAgainstAPathThatCameBack) {
  SprayedPaths set;
  set.reset(config(1, 4, 0, 1), 1);
  EXPECT_TRUE(set.demote(PathId{1}, 100));
  for (int i = 0; i < 3; ++i) set.probe_answered(PathId{1}, 200);
  ASSERT_EQ(set.at(PathId{1}).state, PathState::kGood);
  EXPECT_FALSE(set.lost(PathId{1}, 2, 20, 300)) << "sent before it came back";
  EXPECT_TRUE(set.lost(PathId{1}, 3, 250, 300));
}

TEST(PathHealth, RelapsesAreForgottenInTime) {  // flap damping
  SprayedPaths set;
  set.reset(config(1, 4, 0, 1), 1);
  for (int i = 0; i < 2; ++i) {
    set.demote(PathId{1}, 0);
    while (set.at(PathId{1}).state == PathState::kAssumedBad) set.probe_answered(PathId{1}, 1);
  }
  EXPECT_EQ(set.at(PathId{1}).probe_successes_needed, 12);
  for (uint64_t order = 1; order <= Path::kForgetDeliveries; ++order) set.delivered(PathId{1}, order);
  EXPECT_EQ(set.at(PathId{1}).probe_successes_needed, 6);
}

TEST(PathHealth, ProbesScaleWithTheRoundTrip) {  // MRC 4.5 [P]: max(1 ms, 4 RTT); the first one at once
  SprayedPaths set;
  set.reset(config(1, 4, 0, 1), 1);
  set.set_rtt(10 * kMillisecond);
  set.demote(PathId{1}, 0);
  EXPECT_GE(set.next_probe(), 10 * kMillisecond);
  EXPECT_LT(set.next_probe(), 20 * kMillisecond + 1);
  const Nanoseconds first = set.next_probe();
  ASSERT_EQ(set.take_due_probe(first), PathId{1});
  EXPECT_GE(set.next_probe(), first + 40 * kMillisecond);
}

// While a plane is out the others have its load and long queues; its own probes are answered at once.
TEST(PathHealth, ProbesThatAreAnsweredSoonComeSoonAgain) {
  SprayedPaths set;
  set.reset(config(1, 4, 0, 1), 1);
  set.set_rtt(60 * kMillisecond);
  set.demote(PathId{1}, 0);
  Nanoseconds now = set.next_probe();
  const Nanoseconds begin = now;
  Nanoseconds answered = now;
  while (set.at(PathId{1}).state == PathState::kAssumedBad) {
    ASSERT_EQ(set.take_due_probe(now), PathId{1});
    answered = now + 100 * kMicrosecond;
    set.probe_answered(PathId{1}, answered, false, 100 * kMicrosecond);
    now = std::max(answered, std::min(set.next_probe(), kSecond));
  }
  EXPECT_LT(answered - begin, 5 * kMillisecond);
}

TEST(PathHealth, AMarkedProbeAnswerLeadsToSkip) {  // MRC 4.2
  SprayedPaths set;
  set.reset(config(1, 4, 0, 1), 1);
  set.demote(PathId{1}, 0);
  for (int i = 0; i < 3; ++i) set.probe_answered(PathId{1}, 1, true);
  EXPECT_EQ(set.at(PathId{1}).state, PathState::kSkip);
}

}  // namespace
}  // namespace mrc
