// SPDX-License-Identifier: BSD-2-Clause
// Priority flow control: thresholds and times of pauses, nothing lost, and whom it harms.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/sim/test/harness.h"

namespace mrc::sim {
namespace {

constexpr uint32_t kXoff = 30'000;
constexpr uint32_t kXon = 20'000;

// `senders` hosts at a leaf with one more, to which they send.
TopologyConfig star(uint32_t senders) {
  TopologyConfig config = one_leaf();
  config.hosts_per_leaf = senders + 1;
  config.pause = {kXoff, kXon};
  return config;
}

void send_many(Fabric& fabric, uint32_t from, uint32_t to, uint32_t frames) {
  FrameSpec spec;
  spec.from = from;
  spec.to = to;
  for (uint32_t i = 0; i < frames; ++i) send_frame(fabric, spec);
}

Channel& up(Fabric& fabric, uint32_t host) {
  return fabric.channel(fabric.host_link(host, 0).up_channel);
}

TEST(Pause, ThereIsNoneUnlessItIsAskedFor) {
  Fabric fabric(one_leaf(), 1);
  EXPECT_EQ(fabric.pause_control(), nullptr);
  EXPECT_EQ(fabric.pause_totals().pauses, 0u);
}

// Two at full rate into one: what comes by each grows by half of what it sends. It is told to pause with the
// frame that is too much, and hears it when a pause frame has come back; likewise when it may go on.
TEST(Pause, BeginsAndEndsAtItsThresholds) {
  Fabric fabric(star(2), 1);
  FrameSpec small;  // so that nothing comes and goes at the same time
  small.to = 2;
  small.payload = 400;
  send_frame(fabric, small);
  send_many(fabric, 0, 2, 200);
  send_many(fabric, 1, 2, 200);
  Channel& channel = up(fabric, 0);
  const auto bytes = [&] { return fabric.pause_control()->bytes(channel.id()); };
  const Picoseconds way_back = channel.wire_time(PauseControl::kPauseFrameBytes) + channel.delay();
  const auto run_until = [&](auto condition) {
    while (!condition() && fabric.step(kPerSecond)) {
    }
    return fabric.now();
  };
  const Picoseconds too_much = run_until([&] { return bytes() > kXoff; });
  EXPECT_FALSE(channel.paused());
  EXPECT_EQ(run_until([&] { return channel.paused(); }), too_much + way_back);
  const Picoseconds little = run_until([&] { return bytes() <= kXon; });
  EXPECT_TRUE(channel.paused());
  EXPECT_EQ(run_until([&] { return !channel.paused(); }), little + way_back);
  EXPECT_EQ(channel.counters().pauses, 1u);
  EXPECT_EQ(channel.paused_time(), little - too_much);
}

// Fifteen to one. With as much room for all of them and no pauses, it overflows; with pauses nothing is lost,
// and no more is kept than there is room.
TEST(Pause, LosesNothingWhereQueuesWouldOverflow) {
  constexpr uint32_t kSenders = 15;
  constexpr uint32_t kFrames = 300;
  const auto send_all = [](Fabric& fabric) {
    for (uint32_t from = 0; from < kSenders; ++from) send_many(fabric, from, kSenders, kFrames);
    fabric.run_until(100 * kPerMillisecond);
  };
  Fabric fabric(star(kSenders), 1);
  Recorder recorder(fabric);
  send_all(fabric);
  const uint32_t headroom = PauseControl::headroom_bytes(up(fabric, 0));
  EXPECT_EQ(fabric.core().trace.gone(), 0u);
  EXPECT_EQ(recorder.arrivals.size(), size_t{kSenders} * kFrames);
  EXPECT_EQ(fabric.pause_totals().channels, kSenders);
  EXPECT_GT(fabric.pause_control()->bytes_peak(), kXoff);
  EXPECT_LE(fabric.pause_control()->bytes_peak(), kXoff + headroom);
  for (uint32_t from = 0; from < kSenders; ++from)
    EXPECT_EQ(fabric.pause_control()->bytes(up(fabric, from).id()), 0u);
  EXPECT_EQ(fabric.frames_inside(), 0u);

  TopologyConfig without = star(kSenders);
  without.pause = {};
  without.last_hop.data_bytes_max = kSenders * (kXoff + headroom);
  Fabric dropping(without, 1);
  send_all(dropping);
  EXPECT_GT(dropping.core().trace.count(Fate::kDropQueue), 0u);
}

// The headroom is what it takes: with frames of all sizes and traffic in both directions, so that pauses
// wait for frames on the wire back, the limit is never reached.
TEST(Pause, HeadroomIsEnoughWithTrafficBothWays) {
  TopologyConfig config = star(8);
  config.host_delay = 300 * kPerNanosecond;
  Fabric fabric(config, 1);
  Random random(7);
  uint64_t sent = 0;
  for (uint32_t i = 0; i < 4000; ++i) {
    FrameSpec spec;
    spec.from = static_cast<uint32_t>(random.below(9));
    spec.to = random.chance(0.7) ? (spec.from == 8 ? 0 : 8) : (spec.from + 1) % 8;
    if (spec.from == spec.to) continue;
    spec.payload = static_cast<uint32_t>(random.between(1, 1024) * 4);
    send_frame(fabric, spec);
    ++sent;
  }
  fabric.run_until(100 * kPerMillisecond);
  EXPECT_GT(fabric.pause_totals().pauses, 20u);
  EXPECT_EQ(fabric.core().trace.count(Fate::kDelivered), sent);
  EXPECT_EQ(fabric.core().trace.gone(), 0u);
}

TEST(Pause, PriorityFramesPassAPausedChannel) {
  Fabric fabric(one_leaf(), 1);
  Recorder recorder(fabric);
  up(fabric, 0).set_paused(true);
  send_frame(fabric, {});
  FrameSpec control;
  control.dscp = Dscp::kControl;
  control.entropy = 0xC001;
  send_frame(fabric, control);
  fabric.run_until(kPerMillisecond);
  ASSERT_EQ(recorder.arrivals.size(), 1u);
  EXPECT_EQ(recorder.arrivals[0].entropy, control.entropy);
  up(fabric, 0).set_paused(false);
  fabric.run_until(2 * kPerMillisecond);
  EXPECT_EQ(recorder.arrivals.size(), 2u);
  EXPECT_EQ(up(fabric, 0).paused_time(), kPerMillisecond);
}

TEST(Pause, PriorityFramesAreNotCounted) {
  Fabric fabric(star(2), 1);
  FrameSpec control;
  control.to = 2;
  control.dscp = Dscp::kControl;
  for (uint32_t i = 0; i < 200; ++i) {
    for (control.from = 0; control.from < 2; ++control.from) send_frame(fabric, control);
  }
  fabric.run_until(kPerMillisecond);
  EXPECT_EQ(fabric.pause_totals().pauses, 0u);
  EXPECT_EQ(fabric.pause_control()->bytes_peak(), 0u);
}

// Three hosts of leaf 0 to host 4 behind leaf 1, by one spine with links for all of them; and host 3 to host
// 5, which nobody else sends to. Returns when the last of its frames was there.
Picoseconds victim_done(bool paused, PauseTotals* totals) {
  TopologyConfig config = two_tiers(1);
  config.hosts_per_leaf = 4;
  config.spine_gigabits = 400;
  if (paused) config.pause = {kXoff, kXon};
  Fabric fabric(config, 1);
  Recorder recorder(fabric);
  for (uint32_t from = 0; from < 3; ++from) send_many(fabric, from, 4, 1000);
  send_many(fabric, 3, 5, 300);
  fabric.run_until(10 * kPerMillisecond);
  *totals = fabric.pause_totals();
  Picoseconds last = 0;
  for (const Arrival& arrival : recorder.arrivals)
    if (arrival.host == 5) last = std::max(last, arrival.time);
  EXPECT_EQ(recorder.arrivals.size(), 3300u);
  return last;
}

// The known harm: the link between the switches is paused for the sake of host 4, and with it what goes to
// host 5, although all of its links have room.
TEST(Pause, AVictimSuffersOnAPausedSharedLink) {
  PauseTotals without;
  PauseTotals with;
  const auto free = static_cast<double>(victim_done(false, &without));
  const auto held = static_cast<double>(victim_done(true, &with));
  EXPECT_EQ(without.pauses, 0u);
  EXPECT_GT(with.between, 0u) << "congestion did not spread";
  EXPECT_GT(held, 2 * free);
}

// What was queued for a dead link is gone and counts no more: nobody stays paused.
TEST(Pause, ADeadLinkLetsGoWhatItHeld) {
  Fabric fabric(star(2), 1);
  FaultPlan faults(fabric);
  const Link link = fabric.host_link(2, 0);
  faults.link_down(link, 10 * kPerMicrosecond, 20 * kPerMicrosecond);
  send_many(fabric, 0, 2, 400);
  send_many(fabric, 1, 2, 400);
  fabric.run_until(10 * kPerMillisecond);
  EXPECT_GT(fabric.core().trace.count(Fate::kLostDown), 0u);
  EXPECT_GT(fabric.pause_totals().pauses, 0u);
  EXPECT_EQ(fabric.core().trace.count(Fate::kDropQueue), 0u);
  EXPECT_EQ(fabric.frames_inside(), 0u);
  for (uint32_t from = 0; from < 2; ++from) {
    EXPECT_FALSE(up(fabric, from).paused());
    EXPECT_EQ(fabric.pause_control()->bytes(up(fabric, from).id()), 0u);
  }
}

TEST(Pause, IsTheSameTwice) {
  uint64_t hashes[2] = {};
  for (uint64_t& hash : hashes) {
    TopologyConfig config = star(6);
    config.last_hop.ecn_min_bytes = 10'000;
    config.last_hop.ecn_max_bytes = 90'000;
    config.last_hop.ecn_max_share = 0.5;
    Fabric fabric(config, 3);
    for (uint32_t from = 0; from < 6; ++from) send_many(fabric, from, 6, 200);
    fabric.run_until(10 * kPerMillisecond);
    EXPECT_GT(fabric.core().trace.count(Fate::kMarked), 0u);
    hash = fabric.core().trace.hash();
  }
  EXPECT_EQ(hashes[0], hashes[1]);
}

// RED as DCQCN wants it: at most a share below Kmax, all from there on.
TEST(Pause, MarksAtMostItsShareBelowTheMaximum) {
  TopologyConfig config = one_leaf();
  config.hosts_per_leaf = 3;
  config.last_hop.ecn_min_bytes = 1;
  config.last_hop.ecn_max_bytes = 1u << 30;  // never reached
  config.last_hop.ecn_max_share = 0;
  Fabric fabric(config, 1);
  send_many(fabric, 0, 2, 200);
  send_many(fabric, 1, 2, 200);
  fabric.run_until(kPerMillisecond);
  EXPECT_EQ(fabric.core().trace.count(Fate::kMarked), 0u);
  config.last_hop.ecn_max_bytes = 2;  // always reached
  Fabric marking(config, 1);
  send_many(marking, 0, 2, 200);
  send_many(marking, 1, 2, 200);
  marking.run_until(kPerMillisecond);
  EXPECT_GT(marking.core().trace.count(Fate::kMarked), 390u);
}

}  // namespace
}  // namespace mrc::sim
