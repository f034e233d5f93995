// SPDX-License-Identifier: BSD-2-Clause
// What goes twice where packets are lost: the end of what there is to send, and nothing else.
#include <gtest/gtest.h>

#include <initializer_list>

#include "tests/sim/scenarios/two_hosts.h"

namespace mrc::sim {
namespace {

// One message at a time: between two of them there is nothing to send.
StreamConfig one_by_one(uint32_t messages, uint32_t bytes) {
  StreamConfig stream;
  stream.messages = messages;
  stream.message_bytes = bytes;
  stream.depth = 1;
  return stream;
}

struct Seen {
  std::vector<double> times;  // of messages, in microseconds
  Counters counters;
};

Seen run(const WorldConfig& config, double loss, const StreamConfig& config_of_stream) {
  World world(config);
  world.faults().lose_at_hosts(loss);
  Stream& stream = world.add_stream(0, 1, config_of_stream);
  EXPECT_TRUE(world.run_until_done(5 * kPerSecond));
  EXPECT_EQ(world.failures(), 0u);
  return {stream.latencies(), world.counters()};
}

TEST(Copies, NothingGoesTwiceWhereNothingIsLost) {
  const Seen seen = run(two_hosts(4), 0, one_by_one(500, 64 << 10));
  EXPECT_EQ(seen.counters.copies_sent, 0u);
  EXPECT_EQ(seen.counters.duplicates, 0u);
}

TEST(Copies, NothingGoesTwiceWhileThereIsMoreToSend) {
  StreamConfig stream;
  stream.messages = 400;
  stream.message_bytes = 1 << 20;
  stream.depth = 8;
  const Seen seen = run(two_hosts(4), 0.001, stream);
  EXPECT_GT(seen.counters.retransmits(), 20u) << "the test tests nothing";
  EXPECT_LT(seen.counters.copies_sent, seen.counters.data_packets_sent / 20);
}

// A loss costs the time that a copy waits, and no more round trips.
TEST(Copies, ALossAtTheEndCostsNoRoundTrip) {
  const StreamConfig stream = one_by_one(4000, 16 << 10);
  const double lossless = percentile(run(two_hosts(4), 0, stream).times, 0.999);
  const Seen seen = run(two_hosts(4), 0.002, stream);
  EXPECT_GT(seen.counters.copies_sent, seen.counters.data_packets_sent / 2);
  EXPECT_LT(percentile(seen.times, 0.99), 1.25 * lossless);
  EXPECT_LT(percentile(seen.times, 0.995), 1.5 * lossless);
}

// Two messages one behind the other, together less than the window: the second must not keep the first from
// being copied in time. (The first packets of the first are copied last of it, and are mostly known to have
// arrived by then.)
TEST(Copies, TwoMessagesAtOnceAreCopiedBoth) {
  World world(two_hosts(4));
  world.faults().lose_at_hosts(0.002);
  StreamConfig stream;
  stream.messages = 2000;
  stream.message_bytes = 256 << 10;
  stream.depth = 2;
  stream.manual = true;
  Stream& both = world.add_stream(0, 1, stream);
  while (!world.all_done()) {
    both.send();
    both.send();
    world.run_until(world.now() + 50 * kPerMicrosecond);
  }
  const Counters counted = world.counters();
  EXPECT_GT(counted.copies_sent, counted.data_packets_sent / 10 * 8);
}

// A port takes six packets at a time. The copies of a message go on as soon as there is room again, however
// long round trips are.
TEST(Copies, GoAsFastAsThePortsTakeThem) {
  WorldConfig config = two_hosts(4, 8);
  config.buffer_bytes = 1 << 20;
  config.rtt = 100 * kPerMicrosecond;
  config.apply({});
  const StreamConfig stream = one_by_one(1000, 512 << 10);
  const double lossless = percentile(run(config, 0, stream).times, 0.99);
  const Seen seen = run(config, 0.001, stream);
  EXPECT_GT(seen.counters.copies_sent, seen.counters.data_packets_sent / 2);
  EXPECT_LT(percentile(seen.times, 0.95), 1.25 * lossless);
}

// A packet that goes once only, so that it is seen what becomes of it, is the exception: when it is lost,
// that costs round trips.
TEST(Copies, HardlyAnythingHasToBeRepeated) {
  StreamConfig stream = one_by_one(20000, 64 << 10);
  stream.depth = 8;
  WorldConfig config = two_hosts(8, 16);
  config.window_packets = 2048;
  config.queue_pairs_per_host = 1;
  config.buffer_bytes = stream.message_bytes;
  config.apply({});
  const Seen seen = run(config, 0.001, stream);
  EXPECT_GT(seen.counters.data_packets_sent, 300000u);
  EXPECT_LT(seen.counters.retransmits(), seen.counters.data_packets_sent / 20000);
}

TEST(Copies, CanBeSwitchedOff) {
  WorldConfig config = two_hosts(4);
  config.spare_copies = false;
  const Seen seen = run(config, 0.002, one_by_one(2000, 16 << 10));
  EXPECT_EQ(seen.counters.copies_sent, 0u);
  EXPECT_GT(seen.counters.retransmits(), 5u);
}

// Losses are forgotten.
TEST(Copies, EndWhenNothingIsLostAnyMore) {
  World world(two_hosts(4));
  world.faults().lose_at_hosts(0.02, 5 * kPerMillisecond);
  world.add_stream(0, 1, one_by_one(40000, 16 << 10));
  world.run_until(10 * kPerMillisecond);
  EXPECT_GT(world.counters().copies_sent, 100u);
  world.run_until(400 * kPerMillisecond);
  const uint64_t copies = world.counters().copies_sent;
  const uint64_t packets = world.counters().data_packets_sent;
  world.run_until(450 * kPerMillisecond);
  EXPECT_EQ(world.counters().copies_sent, copies);
  EXPECT_GT(world.counters().data_packets_sent, packets);
}

void lose_on_the_way_to(World& world, std::initializer_list<uint32_t> hosts) {
  Fault fault;
  fault.probability = 0.01;
  for (const uint32_t to : hosts)
    for (Plane plane = 0; plane < world.config().topology.planes; ++plane)
      fault.channels.push_back(world.fabric().host_link(to, plane).down_channel);
  world.faults().add(std::move(fault));
}

// What is lost on the way to one host says nothing about the way to another.
TEST(Copies, OnlyForTheHostToWhichPacketsAreLost) {
  WorldConfig config = two_hosts(4);
  config.topology.hosts_per_leaf = 2;
  config.apply({});
  World world(config);
  lose_on_the_way_to(world, {2});
  for (const uint32_t to : {2u, 3u}) world.add_stream(0, to, one_by_one(1000, 16 << 10));
  EXPECT_TRUE(world.run_until_done(kPerSecond));
  EXPECT_GT(world.fabric().host(2).engine().counters().duplicates, 1000u) << "the test tests nothing";
  EXPECT_EQ(world.fabric().host(3).engine().counters().duplicates, 0u);
}

// If it is so with three hosts, it is the network.
TEST(Copies, ForAllHostsWherePacketsToSeveralAreLost) {
  WorldConfig config = two_hosts(4);
  config.topology.hosts_per_leaf = 4;
  config.apply({});
  World world(config);
  lose_on_the_way_to(world, {4, 5, 6});
  for (const uint32_t to : {4u, 5u, 6u, 7u}) world.add_stream(0, to, one_by_one(1000, 16 << 10));
  EXPECT_TRUE(world.run_until_done(kPerSecond));
  EXPECT_GT(world.fabric().host(7).engine().counters().duplicates, 1000u);
}

// A path that swallows everything is found although copies make up for it.
TEST(Copies, DoNotHideADeadPath) {
  World world(two_hosts(4));
  world.faults().lose_at_hosts(0.001);
  world.add_stream(0, 1, one_by_one(20000, 16 << 10));
  world.run_until(20 * kPerMillisecond);
  EXPECT_GT(world.counters().copies_sent, 0u);
  const uint64_t demoted = world.counters().paths_demoted;
  for (uint32_t spine = 0; spine < 4; ++spine)
    world.faults().switch_dead(Tier::kSpine, 0, spine, world.now(), kForever);
  world.run_until(world.now() + 60 * kPerMillisecond);
  EXPECT_GT(world.counters().paths_demoted, demoted);
  const uint64_t before = world.fabric().core().trace.data_count(Fate::kLostDown);
  EXPECT_GT(before, 5u) << "the test tests nothing";
  world.run_until(world.now() + 60 * kPerMillisecond);
  EXPECT_LT(world.fabric().core().trace.data_count(Fate::kLostDown) - before, before / 4 + 10);
}

}  // namespace
}  // namespace mrc::sim
