// SPDX-License-Identifier: BSD-2-Clause
// All operations in both directions at random, with small queues: everything completes, in order, atomics
// exactly once.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "tests/unit/qp_wire_pair.h"

namespace mrc::test {

// 1 to `count`, or the one of MRC_SEED.
inline std::vector<uint64_t> seeds(uint64_t count) {
  const char* given = std::getenv("MRC_SEED");
  if (given != nullptr) return {std::strtoull(given, nullptr, 0)};
  std::printf("seeds 1..%llu (set MRC_SEED to repeat one)\n", static_cast<unsigned long long>(count));
  std::vector<uint64_t> all(count);
  for (uint64_t i = 0; i < count; ++i) all[i] = i + 1;
  return all;
}

inline void mixed_work(const PairOptions& options, uint64_t each = 200) {
  WirePair pair(options);
  const uint64_t seed = options.seed;
  std::mt19937_64 random(seed);
  struct Side {
    End* end;
    std::vector<uint8_t> memory = std::vector<uint8_t>(1 << 16);
    alignas(8) uint64_t counter = 0;
    std::vector<uint8_t> receive = std::vector<uint8_t>(8192);
    std::vector<uint64_t> results = std::vector<uint64_t>(400);
    Segment all{}, word{}, in{};
    uint64_t posted = 0, completed = 0, atomics = 0, received = 0;
  } sides[2];
  sides[0].end = &pair.a;
  sides[1].end = &pair.b;
  for (Side& side : sides) {
    side.all = pair.segment(*side.end, side.memory.data(), 1 << 16, kLocalWrite | kRemoteWrite | kRemoteRead);
    side.word = pair.segment(*side.end, &side.counter, 8, kRemoteAtomic);
    side.in = pair.segment(*side.end, side.receive.data(), 8192, kLocalWrite);
  }
  auto all_done = [&] { return sides[0].completed == each && sides[1].completed == each; };
  const bool finished = pair.run([&] {
    for (int i = 0; i < 2; ++i) {
      Side& side = sides[i];
      Side& peer = sides[1 - i];
      while (side.end->qp->receive_queue().reserve() != nullptr && random() % 8 != 0)
        pair.post_receive(*side.end, 0, {side.in});
      while (side.posted < each && random() % 4 != 0) {
        const auto bytes = static_cast<uint32_t>(random() % 6000);
        SendRequest* request = nullptr;
        switch (random() % 6) {
          case 0:
            request = pair.post(*side.end, Operation::kWrite, side.posted,
                                {{side.all.address, bytes, side.all.key}});
            break;
          case 1:
            request = pair.post(*side.end, Operation::kWriteImm, side.posted,
                                {{side.all.address, bytes, side.all.key}});
            break;
          case 2:
            request = pair.post(*side.end, Operation::kRead, side.posted,
                                {{side.all.address + 8192, bytes, side.all.key}});
            break;
          case 3:
            request = pair.post(*side.end, Operation::kFetchAdd, side.posted,
                                {pair.segment(*side.end, &side.results[side.posted], 8, kLocalWrite)});
            break;
          default:
            request = pair.post(*side.end, Operation::kSend, side.posted,
                                {{side.all.address, bytes, side.all.key}});
        }
        if (request == nullptr) break;
        if (request->operation == Operation::kFetchAdd) {
          request->remote_address = peer.word.address;
          request->remote_key = peer.word.key;
          request->compare_add = 1;
          ++side.atomics;
        } else {
          request->remote_address = peer.all.address + 16384;
          request->remote_key = peer.all.key;
        }
        if (random() % 5 == 0) request->flags |= kFence;
        ++side.posted;
        pair.ring(*side.end);
        if (random() % 4 == 0) pair.send_posted(*side.end);
      }
      for (const Completion& done : pair.poll(side.end->sends)) {
        EXPECT_EQ(done.status, CompletionStatus::kSuccess) << "seed " << seed;
        EXPECT_EQ(done.work_id, side.completed) << "seed " << seed;
        ++side.completed;
      }
      pair.poll(side.end->receives);
    }
    return all_done() || ::testing::Test::HasFailure();
  });
  ASSERT_TRUE(finished) << "seed " << seed;
  EXPECT_EQ(sides[1].counter, sides[0].atomics) << "seed " << seed;
  EXPECT_EQ(sides[0].counter, sides[1].atomics) << "seed " << seed;
}

}  // namespace mrc::test
