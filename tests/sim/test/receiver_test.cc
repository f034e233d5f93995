// SPDX-License-Identifier: BSD-2-Clause
// What a receiver asks of its senders in SACKs, in a network: rcv_cwnd_pen.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "tests/sim/scenarios/world.h"

namespace mrc::sim {
namespace {

constexpr uint32_t kSpines = 8;

struct Incast {
  uint64_t dropped = 0;
  double finished_us = 0;
};

// Fifteen to one, one after the other, where switches neither trim nor mark at the last hop.
Incast run_incast(bool penalty) {
  WorldConfig config;
  config.topology.planes = 2;
  config.topology.leaves = 2;
  config.topology.hosts_per_leaf = 16;
  config.topology.spines = kSpines;
  config.trimming = false;
  config.receiver_penalty = penalty;
  config.queue_pairs_per_host = 1;
  config.queue_pairs_at[0] = 15;
  config.apply({});
  World world(config);
  StreamConfig stream;
  stream.message_bytes = 1'000'000;
  for (uint32_t i = 0; i < 15; ++i) {
    stream.start = i * 20 * kPerMicrosecond;
    world.add_stream(16 + i, 0, stream);
  }
  EXPECT_TRUE(world.run_until_done(kPerSecond));
  EXPECT_EQ(world.failures(), 0u);
  Incast result;
  result.dropped = world.fabric().core().trace.count(Fate::kDropQueue);
  for (const auto& flow : world.streams())
    result.finished_us = std::max(result.finished_us, to_microseconds(flow->finished_at()));
  std::printf("%s penalty: %llu dropped, %.0f us\n", penalty ? "with" : "without",
              static_cast<unsigned long long>(result.dropped), result.finished_us);
  return result;
}

TEST(Receiver, APenaltySparesTheQueueOfTheLastHop) {
  const Incast without = run_incast(false);
  const Incast with = run_incast(true);
  EXPECT_GT(without.dropped, 0u);
  EXPECT_LT(with.dropped, without.dropped);
  EXPECT_LT(with.finished_us, 1.1 * without.finished_us);
}

}  // namespace
}  // namespace mrc::sim
