// SPDX-License-Identifier: BSD-2-Clause
// What queue pairs cost: bytes of one that is idle, and that the data path allocates nothing once it has what
// it needs. A program of its own, for it counts every allocation.
#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "tests/unit/engine_loop.h"

namespace {
uint64_t g_allocations = 0;
uint64_t g_bytes = 0;  // in use, as malloc rounds them
}  // namespace

void* operator new(size_t bytes) {
  void* const memory = std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  ++g_allocations;
  g_bytes += malloc_usable_size(memory);
  return memory;
}
void* operator new(size_t bytes, std::align_val_t alignment) {
  const auto align = static_cast<size_t>(alignment);
  void* const memory = std::aligned_alloc(align, (bytes + align - 1) / align * align);
  if (memory == nullptr) throw std::bad_alloc();
  ++g_allocations;
  g_bytes += malloc_usable_size(memory);
  return memory;
}
void operator delete(void* memory) noexcept {
  if (memory != nullptr) g_bytes -= malloc_usable_size(memory);
  std::free(memory);
}
void operator delete(void* memory, size_t) noexcept {
  operator delete(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  operator delete(memory);
}
void operator delete(void* memory, size_t, std::align_val_t) noexcept {
  operator delete(memory);
}

namespace mrc::test {
namespace {

// What the caller asked for: two queues of one entry, with their rounding.
constexpr uint64_t kWorkQueues = 2 * 256;
constexpr uint64_t kIdleBytesMax = 8 * 1024;

// The simulator has an engine for every host.
TEST(Footprint, AnEngineForTwoQueuePairsHasAtMost64KiB) {
  constexpr uint64_t kEngineBytesMax = 64 * 1024;
  LoopPort port;
  Port* const ports[] = {&port};
  Deaf deaf;
  EngineConfig config;
  config.qpn_count = 2;
  const uint64_t before = g_bytes;
  const auto engine = std::make_unique<Engine>(config, ports, &deaf);
  std::printf("bytes of an engine: %llu\n", static_cast<unsigned long long>(g_bytes - before));
  EXPECT_LE(g_bytes - before, kEngineBytesMax);
}

TEST(Footprint, AnIdleQueuePairWith256PathsHasAtMost8KiB) {
  for (const auto congestion : {CongestionAlgorithm::kNone, CongestionAlgorithm::kNscc}) {
    Loop loop(8, 32, congestion);
    std::vector<uint8_t> memory(8192);
    const Segment all = loop.segment(memory.data(), 8192);
    loop.add_pair(1);  // what all share is there now: one peer, and what is known of its paths
    constexpr uint64_t kPairs = 500;
    loop.qps.reserve(2 * kPairs + 2);
    const uint64_t before = g_bytes;
    for (uint64_t i = 0; i < kPairs; ++i) loop.add_pair(1);
    const uint64_t connected = (g_bytes - before) / (2 * kPairs);
    // A little of everything, and idle again.
    for (QueuePair* qp : loop.qps) {
      loop.post(*qp, Operation::kWrite, all, all, 4096);
      loop.await(1);
    }
    for (int i = 0; i < 10'000; ++i) loop.engine->progress(loop.now += 10 * kMicrosecond);
    const uint64_t used = (g_bytes - before) / (2 * kPairs);
    std::printf("bytes of a queue pair: connected %llu, after use %llu\n",
                static_cast<unsigned long long>(connected), static_cast<unsigned long long>(used));
    EXPECT_LE(connected, kIdleBytesMax + kWorkQueues);
    EXPECT_LE(used, kIdleBytesMax + kWorkQueues);
  }
}

// Rings grow with use; once they have grown, work of the same kind allocates nothing, also when frames are
// lost.
TEST(Footprint, TheDataPathAllocatesNothing) {
  for (const auto congestion : {CongestionAlgorithm::kNone, CongestionAlgorithm::kNscc}) {
    Loop loop(4, 16, congestion);
    for (int i = 0; i < 4; ++i) loop.add_pair(32);
    std::vector<uint8_t> memory(1 << 17);
    const Segment all = loop.segment(memory.data(), 1 << 17);
    const Segment half{all.address + (1 << 16), 1 << 16, all.key};
    auto round = [&] {
      for (QueuePair* qp : loop.qps) {
        for (int i = 0; i < 4; ++i) loop.post_receive(*qp, half);
        for (int i = 0; i < 2; ++i) {
          loop.post(*qp, Operation::kWrite, all, half, 65536);
          loop.post(*qp, Operation::kWriteImm, all, half, 64);
          loop.post(*qp, Operation::kSend, all, {}, 5000);
          loop.post(*qp, Operation::kRead, all, half, 20000);
          loop.post(*qp, Operation::kFetchAdd, all, half, 8);
        }
      }
      loop.await(loop.qps.size() * (2 * 5 + 4));
    };
    loop.ports[1]->drop_every = 53;
    int quiet = 0;  // rounds in a row that allocated nothing
    for (int i = 0; i < 3000 && quiet < 300; ++i) {
      const uint64_t before = g_allocations;
      round();
      quiet = g_allocations == before ? quiet + 1 : 0;
    }
    EXPECT_EQ(quiet, 300);
    const Counters& counted = loop.engine->counters();
    EXPECT_GT(counted.retransmissions_sent, 5u);
    EXPECT_GT(counted.retransmissions_sent + counted.copies_sent, 100u);
  }
}

// Engines that push into one queue: each notes that it has, and tells of it once.
TEST(Footprint, ASharedCompletionQueueAllocatesNothing) {
  CompletionSink one(0);
  CompletionSink other(1);
  CompletionQueue queues[] = {CompletionQueue(64), CompletionQueue(64), CompletionQueue(4)};
  for (CompletionQueue& queue : queues) queue.share(2);
  const uint64_t before = g_allocations;
  int told = 0;
  int overran = 0;
  const auto drain = [&](CompletionSink& sink) {
    sink.drain([&](CompletionQueue&) { ++told; }, [&](CompletionQueue&) { ++overran; });
  };
  for (int i = 0; i < 5; ++i)
    for (CompletionQueue& queue : queues) {
      one.push(&queue, {});
      other.push(&queue, {});
    }
  drain(one);
  EXPECT_EQ(told, 3);
  EXPECT_EQ(overran, 1) << "who was the first that found no room tells";
  drain(one);
  other.forget(&queues[1]);
  drain(other);
  EXPECT_EQ(told, 5);
  EXPECT_EQ(overran, 1);
  EXPECT_EQ(g_allocations, before);
}

}  // namespace
}  // namespace mrc::test
