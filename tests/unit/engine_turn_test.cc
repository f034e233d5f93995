// SPDX-License-Identifier: BSD-2-Clause
// Turns of an engine that has many queue pairs with something to send.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/unit/engine_loop.h"

namespace mrc {
namespace {

TEST(EngineTurn, FullPortsAreNotAskedByEveryQueuePair) {
  constexpr uint32_t kPairs = 200;
  test::Loop loop(1, 1, CongestionAlgorithm::kNone);
  for (uint32_t i = 0; i < kPairs; ++i) loop.add_pair(2);
  std::vector<uint8_t> memory(2 * 4096);
  const Segment from = loop.segment(memory.data(), 8192);
  const Segment to{from.address + 4096, 64, from.key};
  const auto post_all = [&] {
    for (uint32_t i = 0; i < kPairs; ++i) loop.post(*loop.qps[2 * i], Operation::kWrite, from, to, 64);
  };
  post_all();
  loop.await(kPairs);  // what they ask each other at the start is over, too
  test::LoopPort& port = *loop.ports[0];
  port.full = true;
  post_all();
  for (int turn = 0; turn < 10; ++turn) {
    port.asked = 0;
    loop.engine->progress(loop.now += kMicrosecond);
    EXPECT_LT(port.asked, kPairs / 2)
        << "a turn that can send nothing costs as much as there are queue pairs";
  }
  port.full = false;
  loop.await(kPairs);  // and nobody was left out
}

}  // namespace
}  // namespace mrc
