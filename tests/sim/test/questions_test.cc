// SPDX-License-Identifier: BSD-2-Clause
// Who sends little to many hears little of each: it has to ask, or it takes for lost what has arrived, and
// waits for windows that nobody opens.
#include <gtest/gtest.h>

#include "tests/sim/scenarios/ring.h"

namespace mrc::sim {
namespace {

// Everybody sends a message to everybody else, all at once, and nothing is lost.
Counters all_to_all(uint32_t hosts, uint64_t bytes, uint64_t seed) {
  ScenarioOptions options;
  options.srv6 = true;
  options.seed = seed;
  WorldConfig config = sixteen_per_leaf(hosts, options);
  config.buffer_bytes = bytes + 1;
  config.window_packets = 256;
  config.queue_pairs_per_host = 2 * (hosts - 1);
  World world(config);
  StreamConfig stream;
  stream.message_bytes = bytes;
  stream.depth = 1;
  for (uint32_t distance = 1; distance < hosts; ++distance)
    for (uint32_t from = 0; from < hosts; ++from) world.add_stream(from, (from + distance) % hosts, stream);
  EXPECT_TRUE(world.run_until_done(kPerSecond));
  EXPECT_EQ(world.failures(), 0u);
  return world.counters();
}

// 17 to 35 packets each, when nobody asked.
TEST(Questions, WhatHasArrivedAndWasNotHeardOfIsNotTakenForLost) {
  uint64_t needless = 0;
  for (uint64_t seed = 1; seed <= 3; ++seed) needless += all_to_all(48, 64 << 10, seed).retransmits();
  EXPECT_LE(needless, 3u);
}

}  // namespace
}  // namespace mrc::sim
