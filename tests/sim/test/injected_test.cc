// SPDX-License-Identifier: BSD-2-Clause
// Faults that an engine injects by itself: two runs with the same seed lose the very same packets, another
// seed other ones.
#include <gtest/gtest.h>

#include <memory>

#include "libmrc/fault/fault_injector.h"
#include "tests/sim/core/frame_headers.h"
#include "tests/sim/scenarios/world.h"

namespace mrc::sim {
namespace {

struct Outcome {
  uint64_t trace = 0;
  FaultCounts injected{};
};

Outcome run(uint64_t seed) {
  WorldConfig config;
  config.topology.planes = 2;
  config.topology.leaves = 2;
  config.topology.hosts_per_leaf = 1;
  config.topology.spines = 4;
  config.paths = 4;
  config.apply({});
  World world(config);
  std::vector<FaultInjector::Counted> rules;
  const mrc::FaultKind kinds[] = {
      mrc::FaultKind::kDrop,    mrc::FaultKind::kCorrupt, mrc::FaultKind::kDuplicate, mrc::FaultKind::kDelay,
      mrc::FaultKind::kReorder, mrc::FaultKind::kTrim,    mrc::FaultKind::kMark};
  for (const mrc::FaultKind kind : kinds) {
    FaultRule rule;
    rule.id = static_cast<uint32_t>(rules.size() + 1);
    rule.kind = kind;
    rule.rate = FaultRule::kAlways / 100;
    rule.seed = seed;
    rule.delay_ns = 20'000;
    rules.push_back({rule, nullptr});
  }
  for (const uint32_t host : {0u, 1u})
    world.fabric().host(host).engine().set_faults(
        std::make_unique<FaultInjector>(rules, FaultInjector::Config{Dscp::kTrimmed, host}), 0);
  StreamConfig stream;
  stream.message_bytes = 100'000;
  stream.messages = 20;
  world.add_stream(0, 1, stream);
  EXPECT_TRUE(world.run_until_done(200 * kPerMillisecond));
  EXPECT_EQ(world.failures(), 0u);
  Outcome outcome;
  outcome.trace = world.fabric().core().trace.hash();
  outcome.injected = world.fabric().host(0).engine().counters().faults_injected;
  return outcome;
}

TEST(Injected, TheSeedDecides) {
  const Outcome first = run(1);
  const Outcome again = run(1);
  const Outcome other = run(2);
  EXPECT_EQ(first.trace, again.trace);
  EXPECT_EQ(first.injected, again.injected);
  EXPECT_NE(first.trace, other.trace);
  for (size_t kind = 0; kind < static_cast<size_t>(mrc::FaultKind::kBlackHole); ++kind)
    EXPECT_GT(first.injected[kind], 0u) << kFaultNames[kind];
}

// A stream whose receiver places everything in disorder is as good as any other, only slower.
TEST(Injected, StreamsFinishInDisorder) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    WorldConfig config;
    config.topology.planes = 2;
    config.topology.leaves = 2;
    config.topology.hosts_per_leaf = 1;
    config.topology.spines = 4;
    config.paths = 4;
    config.seed = seed;
    config.apply({});
    World world(config);
    FaultRule rule;
    rule.id = 1;
    rule.kind = mrc::FaultKind::kDisorder;
    rule.seed = seed;
    rule.delay_ns = 50'000;
    const FaultInjector::Counted rules[] = {{rule, nullptr}};
    for (const uint32_t host : {0u, 1u})
      world.fabric().host(host).engine().set_faults(
          std::make_unique<FaultInjector>(rules, FaultInjector::Config{Dscp::kTrimmed, host}), 0);
    StreamConfig stream;
    stream.message_bytes = 50'000;
    stream.messages = 40;
    world.add_stream(0, 1, stream);
    EXPECT_TRUE(world.run_until_done(200 * kPerMillisecond)) << "seed " << seed;
    EXPECT_EQ(world.failures(), 0u) << "seed " << seed;
    EXPECT_EQ(world.placed(1), 40u * 50'000u) << "seed " << seed;
    // The cumulative PSN stands still meanwhile, so senders may take some for lost that are not.
    const Counters counted = world.counters();
    constexpr uint64_t kPackets = 40 * 13;
    EXPECT_LE(counted.duplicates, counted.retransmits() + counted.copies_sent) << "seed " << seed;
    EXPECT_LT(counted.retransmits(), kPackets / 4) << "seed " << seed;
  }
}

}  // namespace
}  // namespace mrc::sim
