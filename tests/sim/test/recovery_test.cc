// SPDX-License-Identifier: BSD-2-Clause
// What the engine does about losses and congestion, one thing at a time, in networks that are small enough to
// tell causes apart.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/sim/scenarios/two_hosts.h"

namespace mrc::sim {
namespace {

StreamConfig endless() {
  StreamConfig stream;
  stream.messages = 0;
  stream.depth = 8;
  return stream;
}

// MRC 3.2: a bitmap shows 64 packets, and it shows a gap when it is too young to be called a loss. All gaps
// must be filled at once, not one per round trip when each has become the oldest.
TEST(Recovery, GapsAreRememberedAcrossBitmaps) {
  World world(two_hosts(4));
  Stream& stream = world.add_stream(0, 1, endless());
  const Picoseconds cut = 300 * kPerMicrosecond;
  for (uint32_t spine = 0; spine < 8; ++spine)
    world.faults().switch_dead(Tier::kSpine, 2, spine, cut, kForever);
  world.run_until(cut);
  ASSERT_LT(stream.queue_pair().mrc()->requester().sent().outstanding(), 300u);
  world.run_until(cut + 12 * world.rtt());
  EXPECT_GT(world.fabric().core().trace.data_count(Fate::kLostDown), 20u) << "the test tests nothing";
  EXPECT_LT(stream.queue_pair().mrc()->requester().sent().outstanding(), 300u);
  EXPECT_EQ(stream.queue_pair().mrc()->requester().sent().lost(), 0u);
}

// However many are lost, repetitions and what is said about them too: each is found by what arrives behind
// it or by asking, long before the timer, and few go again that had arrived. So it is without spare copies
// and with them, one more repetition that may be lost; where there is always more to send, and where messages
// end.
TEST(Recovery, NoLostPacketWaitsForItsTimeout) {
  for (const bool spare_copies : {false, true}) {
    for (const uint32_t depth : {1u, 4u}) {
      for (const uint32_t message_bytes : {64u << 10, 1u << 20}) {
        for (uint64_t seed = 1; seed <= 3; ++seed) {
          WorldConfig config = two_hosts(4);
          config.spare_copies = spare_copies;
          ScenarioOptions options;
          options.seed = seed;
          config.apply(options);
          World world(config);
          world.faults().lose_at_hosts(0.35);
          StreamConfig stream;
          stream.message_bytes = message_bytes;
          stream.messages = (20u << 20) / message_bytes;
          stream.depth = depth == 1 ? 1 : (4u << 20) / message_bytes;
          world.add_stream(0, 1, stream);
          EXPECT_TRUE(world.run_until_done(kPerSecond));
          EXPECT_EQ(world.failures(), 0u);
          const Counters counted = world.counters();
          const std::string where = std::to_string(message_bytes) + " bytes, " +
                                    std::to_string(stream.depth) + " at once, seed " + std::to_string(seed) +
                                    (spare_copies ? ", copies" : "");
          EXPECT_EQ(counted.retransmits_timeout, 0u) << where;
          EXPECT_GT(counted.retransmits() + counted.copies_sent, 1500u) << "the test tests nothing";
          EXPECT_LT(counted.duplicates, counted.retransmits() / 20 + counted.copies_sent) << where;
          const uint64_t copies_least = spare_copies && depth == 1 ? 100 : 0;
          EXPECT_GE(counted.copies_sent, copies_least) << "the test tests nothing";
        }
      }
    }
  }
}

// The link that breaks may be the one by which all answers come back. The requester hears nothing then, and
// has to find out although nothing of what it sends by the other paths is lost.
TEST(Recovery, AnswersFindAnotherPath) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    WorldConfig config = two_hosts(1);
    config.topology.spines = config.paths = 4;
    config.topology.host_gigabits = config.topology.spine_gigabits = 400;
    config.srv6 = true;
    ScenarioOptions options;
    options.seed = seed;
    config.apply(options);
    World world(config);
    world.add_stream(0, 1, endless());
    Meter meter(world, {1}, 20 * kPerMicrosecond);
    const Picoseconds cut = 500 * kPerMicrosecond;
    world.faults().link_down(*world.fabric().find_link(Link::Kind::kSpine, 0, 0, 0), cut, kForever);
    world.run_until(cut + 1500 * kPerMicrosecond);
    EXPECT_GT(meter.rate(cut + kPerMillisecond, cut + 1500 * kPerMicrosecond), 0.9 * meter.rate(cut / 2, cut))
        << "seed " << seed;
  }
}

// Of four slow uplinks, one after the other goes. With the third one most of a window is lost, and with it
// whatever was said about it, behind a window that is long by then. It must not wait for the timer.
TEST(Recovery, TheLastUplinkIsFoundBeforeTheTimer) {
  constexpr uint32_t kUplinks = 4;
  const Picoseconds step = 2 * kPerMillisecond;
  for (const uint64_t seed : {6, 11, 15, 33}) {
    WorldConfig config = two_hosts(1, kUplinks);
    config.topology.host_gigabits = 400;
    config.srv6 = true;
    config.buffer_bytes = 256 << 10;
    ScenarioOptions options;
    options.seed = seed;
    config.apply(options);
    config.topology.spine_gigabits = config.topology.host_gigabits / kUplinks;
    World world(config.speaking({}));
    world.add_stream(0, 1, sim::endless(world.config()));
    Meter meter(world, {1}, 20 * kPerMicrosecond);
    for (uint32_t spine = 0; spine + 1 < kUplinks; ++spine)
      world.faults().link_down(*world.fabric().find_link(Link::Kind::kSpine, 0, 0, spine), (spine + 1) * step,
                               kForever);
    world.run_until(3 * step + kPerMillisecond);
    const double capacity = world.payload_gigabits() / kUplinks;
    EXPECT_GT(meter.rate(3 * step, 3 * step + kPerMillisecond), 0.5 * capacity) << "seed " << seed;
  }
}

// A path of which nothing is known is left alone as soon as others have overtaken its first packet: it
// swallows what was sent in the first round trip, and no more.
TEST(Recovery, APathThatIsDeadFromTheStartSwallowsOneRoundTrip) {
  WorldConfig config = two_hosts(4);
  config.topology.spines = config.paths = 16;
  config.srv6 = true;
  config.backups = 0;
  config.apply({});
  World world(config);
  Stream& stream = world.add_stream(0, 1, endless());
  world.faults().switch_dead(Tier::kSpine, 1, 3, 0, kForever);
  world.run_until(world.rtt());
  const PathSet& paths = stream.queue_pair().paths();
  uint32_t most = 0;  // by any path, before there can be an answer
  for (size_t i = 0; i < paths.size(); ++i)
    most = std::max(most, paths.at(PathId(static_cast<uint16_t>(i))).sent);
  EXPECT_GT(most, 1u);
  world.run_until(kPerMillisecond);
  EXPECT_GT(world.fabric().core().trace.data_count(Fate::kLostDown), 0u) << "the test tests nothing";
  EXPECT_LE(world.fabric().core().trace.data_count(Fate::kLostDown), most);
}

// A paced sender waits for its turn; the timer that wakes it must not come again before it has sent.
TEST(Congestion, PacedSendersFinish) {
  WorldConfig config = two_hosts(1);
  config.topology.hosts_per_leaf = 8;
  config.controller = CongestionAlgorithm::kReceiverAware;
  config.queue_pairs_at[0] = 15;
  config.apply({});
  World world(config);
  StreamConfig stream;
  stream.message_bytes = 200'000;
  for (uint32_t from = 1; from < 16; ++from) world.add_stream(from, 0, stream);
  EXPECT_TRUE(world.run_until_done(2 * kPerMillisecond));
  EXPECT_EQ(world.failures(), 0u);
}

// The hint of the incast degree keeps the first round trip from being a storm.
TEST(Congestion, TheHintPreventsTheFirstBurst) {
  uint64_t trimmed[2] = {};
  for (const bool hint : {false, true}) {
    WorldConfig config = two_hosts(1);
    config.topology.hosts_per_leaf = 16;
    config.topology.spines = 16;
    config.controller = CongestionAlgorithm::kReceiverAware;
    config.expected_senders = hint ? 31 : 0;
    config.queue_pairs_at[0] = 31;
    config.apply({});
    World world(config);
    StreamConfig stream;
    stream.message_bytes = 100'000;
    for (uint32_t from = 1; from < 32; ++from) world.add_stream(from, 0, stream);
    EXPECT_TRUE(world.run_until_done(2 * kPerMillisecond));
    trimmed[hint ? 1 : 0] = world.fabric().core().trace.count(Fate::kTrimmed);
  }
  EXPECT_GT(trimmed[0], 200u);
  EXPECT_LT(trimmed[1], trimmed[0] / 10);
}

}  // namespace
}  // namespace mrc::sim
