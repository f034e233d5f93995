// SPDX-License-Identifier: BSD-2-Clause
// MRC 11: a peer that reads an open question of MRC in the other way, in a network that loses and trims. It
// must get everything, and what it answers must be as good as an answer in our own words.
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <vector>

#include "tests/sim/scenarios/world.h"

namespace mrc::sim {
namespace {

struct Reading {
  const char* name;
  void (*take)(InteropConfig*);
};

void PrintTo(const Reading& reading, std::ostream* out) {
  *out << reading.name;
}

constexpr Reading kReadings[] = {
    {"AsWeDo", [](InteropConfig*) {}},
    {"PrintedPort", [](InteropConfig* it) { it->udp_port = kUdpPortSpecPrint; }},
    {"EchoPortFirst", [](InteropConfig* it) { it->echo_port_first = true; }},
    {"OtherPartition", [](InteropConfig* it) { it->partition_key = 0; }},
    {"LimitedMember",
     [](InteropConfig* it) {
       it->partition_key = 0x7FFF;
       it->check_partition_key = true;
     }},
    {"NoPad", [](InteropConfig* it) { it->pad = false; }},
    {"OperationInHighBits", [](InteropConfig* it) { it->response_operation_high = true; }},
    {"DropsOutOfWindow", [](InteropConfig* it) { it->nack_out_of_window = false; }},
    {"AllOfThem",
     [](InteropConfig* it) {
       it->udp_port = kUdpPortSpecPrint;
       it->echo_port_first = it->response_operation_high = true;
       it->partition_key = 0;
       it->pad = it->nack_out_of_window = false;
     }},
};

class Readings : public ::testing::TestWithParam<std::tuple<Reading, bool>> {};

// Five send to host 0 what does not fit through its port, and one packet in a hundred is lost. Either host 0
// or the five have the other reading.
TEST_P(Readings, CompleteWithLossAndTrimming) {
  const auto& [reading, at_the_target] = GetParam();
  InteropConfig other;
  reading.take(&other);
  WorldConfig config;
  config.topology.planes = 2;
  config.topology.leaves = 2;
  config.topology.hosts_per_leaf = 3;
  config.topology.spines = 4;
  config.paths = 8;
  config.queue_pairs_at[0] = 8;
  for (uint32_t host = 0; host < 6; ++host)
    if ((host == 0) == at_the_target) config.interop_at[host] = other;
  config.apply({});
  World world(config);
  world.faults().lose_at_hosts(0.01);
  StreamConfig stream;
  stream.message_bytes = 400'001;  // has a pad
  stream.messages = 2;
  for (uint32_t from = 1; from < 6; ++from) world.add_stream(from, 0, stream);
  ASSERT_TRUE(world.run_until_done(20 * kPerMillisecond));
  EXPECT_EQ(world.failures(), 0u);

  Counters senders;
  for (uint32_t host = 1; host < 6; ++host) {
    const Counters& one = world.fabric().host(host).engine().counters();
    senders.nacks_received += one.nacks_received;
    senders.nacks_stale += one.nacks_stale;
    senders.retransmits_nack += one.retransmits_nack;
  }
  EXPECT_GT(senders.retransmits_nack, 100u) << "nothing was trimmed: the test tests nothing";
  EXPECT_LT(senders.nacks_stale, senders.nacks_received / 10);
  for (const auto& flow : world.streams()) {
    const Requester& requester = flow->queue_pair().mrc()->requester();
    EXPECT_TRUE(requester.rtt().known());
  }
  for (uint32_t host = 0; host < 6; ++host) {
    const Counters& one = world.fabric().host(host).engine().counters();
    EXPECT_EQ(one.drops_bad_partition_key, 0u);
    EXPECT_EQ(one.drops_bad_control, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Each, Readings,
                         ::testing::Combine(::testing::ValuesIn(kReadings), ::testing::Bool()),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param).name) +
                                  (std::get<1>(info.param) ? "AtTheTarget" : "AtTheSenders");
                         });

// What an echo is for, at one moment of one connection.
struct Reaction {
  uint64_t window = 0;
  uint64_t under_way = 0;  // what was not credited yet
  Nanoseconds rtt = 0;
  Nanoseconds least_rtt = 0;
  uint64_t skipped = 0;  // paths that were marked or trimmed
  uint64_t forgiven = 0;
  uint64_t trimmed = 0;

  bool operator==(const Reaction&) const = default;
};

// Three send to host 0, whose answers echo EVs as `reading` has it, what neither the spines nor its port
// carry: a look at each of them every few microseconds.
std::vector<Reaction> reactions(const InteropConfig& reading, uint64_t seed, bool trimming) {
  WorldConfig config;
  config.topology.planes = 2;
  config.topology.leaves = 2;
  config.topology.hosts_per_leaf = 3;
  config.topology.spines = 4;
  config.topology.spine_gigabits = 50;
  config.paths = 8;
  config.trimming = trimming;
  config.ecn_last_hop = true;
  config.interop_at[0] = reading;
  ScenarioOptions options;
  options.seed = seed;
  config.apply(options);
  World world(config);
  StreamConfig stream;
  stream.messages = 0;
  for (uint32_t from = 3; from < 6; ++from) world.add_stream(from, 0, stream);
  std::vector<Reaction> seen;
  for (int look = 1; look <= 200; ++look) {
    world.run_until(look * 5 * kPerMicrosecond);
    for (const auto& flow : world.streams()) {
      const Requester& requester = flow->queue_pair().mrc()->requester();
      const Counters& counters = world.fabric().host(flow->from()).engine().counters();
      seen.push_back({requester.waiting().window, requester.waiting().window_used, requester.rtt().smoothed(),
                      requester.rtt().least(), counters.paths.skipped, counters.paths.forgiven,
                      counters.retransmits_trimmed});
    }
  }
  return seen;
}

// MRC 1.4, 1.5: marks, round trips, credit and trims are taken from an echo in the other order of halves, at
// the same moment and with the same effect as from our own.
TEST(Echoes, CongestionIsMetAlikeInEitherOrder) {
  for (const bool trimming : {false, true}) {
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      InteropConfig swapped;
      swapped.echo_port_first = true;
      const std::vector<Reaction> ours = reactions({}, seed, trimming);
      const std::vector<Reaction> other = reactions(swapped, seed, trimming);
      EXPECT_GT(ours.back().skipped, 20u) << "nothing was marked: the test tests nothing";
      EXPECT_EQ(ours.back().trimmed > 0, trimming);
      uint64_t least = UINT64_MAX, most = 0;
      for (const Reaction& reaction : ours) {
        least = std::min(least, reaction.window);
        most = std::max(most, reaction.window);
      }
      EXPECT_LT(least, most / 2) << "congestion control had nothing to do";
      ASSERT_EQ(ours.size(), other.size());
      const auto [here, there] = std::mismatch(ours.begin(), ours.end(), other.begin());
      EXPECT_EQ(here, ours.end()) << "seed " << seed << ", trimming " << trimming << ": other from look "
                                  << (here - ours.begin()) / 3 << " on: window " << here->window << " and "
                                  << there->window << ", rtt " << here->rtt << " and " << there->rtt;
    }
  }
}

// The number is not the same, or both are only limited members: nothing comes through.
TEST(Partitions, KeepOthersOut) {
  for (const uint16_t key : {uint16_t{0x8001}, uint16_t{0x7FFF}}) {
    WorldConfig config;
    config.topology.leaves = 1;
    config.topology.hosts_per_leaf = 2;
    config.topology.spines = 1;
    config.interop_at[0].check_partition_key = true;
    config.interop_at[0].partition_key = 0x7FFF;
    config.interop_at[1].partition_key = key;
    config.apply({});
    World world(config);
    world.add_stream(1, 0, StreamConfig{});
    EXPECT_FALSE(world.run_until_done(5 * kPerMillisecond));
    EXPECT_EQ(world.placed(0), 0u);
    EXPECT_GT(world.fabric().host(0).engine().counters().drops_bad_partition_key, 0u);
  }
}

}  // namespace
}  // namespace mrc::sim
