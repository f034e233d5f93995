// SPDX-License-Identifier: BSD-2-Clause
// Work queues and completion queues: limits, order, and two threads at once.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "libmrc/work/completion_queue.h"
#include "libmrc/work/work_queue.h"
#include "tests/unit/qp_wire_pair.h"

namespace mrc {
namespace {

Completion completion(uint64_t id, uint32_t qpn = 5) {
  Completion entry;
  entry.work_id = id;
  entry.qpn = Qpn(qpn);
  return entry;
}

TEST(CompletionQueue, KeepsOrderAndSaysWhenFull) {
  CompletionQueue queue(3);
  EXPECT_EQ(queue.capacity(), 4u);
  for (uint64_t i = 0; i < 4; ++i) EXPECT_TRUE(queue.push(completion(i)));
  EXPECT_FALSE(queue.push(completion(4)));
  EXPECT_TRUE(queue.overrun());
  Completion out[8];
  ASSERT_EQ(queue.poll(out), 4u);
  for (uint64_t i = 0; i < 4; ++i) EXPECT_EQ(out[i].work_id, i);
  EXPECT_TRUE(queue.empty());
  EXPECT_FALSE(queue.push(completion(5))) << "behind a gap that nobody sees";
}

TEST(CompletionQueue, RemovesOneQueuePairOnly) {
  CompletionQueue queue(8);
  for (uint64_t i = 0; i < 6; ++i) queue.push(completion(i, i % 2));
  queue.remove(Qpn(1));
  Completion out[8];
  ASSERT_EQ(queue.poll(out), 3u);
  EXPECT_EQ(out[2].work_id, 4u);
}

bool resize(CompletionQueue& queue, uint32_t entries) {
  CompletionQueue::Resizing resizing(queue, entries);
  while (resizing.take_some(queue)) {
  }
  return queue.finish(resizing);
}

TEST(CompletionQueue, ResizeKeepsWhatWaits) {
  CompletionQueue queue(4);
  Completion out[8];
  for (uint64_t i = 0; i < 3; ++i) queue.push(completion(i));
  queue.poll({out, 2});
  for (uint64_t i = 3; i < 6; ++i) queue.push(completion(i));
  EXPECT_FALSE(resize(queue, 2));
  EXPECT_TRUE(resize(queue, 100));
  EXPECT_EQ(queue.capacity(), 128u);
  ASSERT_EQ(queue.poll(out), 4u);
  for (uint64_t i = 0; i < 4; ++i) EXPECT_EQ(out[i].work_id, i + 2);
}

// Nobody waits for all that are in it: they are taken along a few at a time, while others come, are polled
// and are removed.
TEST(CompletionQueue, IsResizedWhileCompletionsComeAndGo) {
  constexpr Qpn kGone{7};
  for (const bool some_go : {false, true}) {
    CompletionQueue queue(1 << 14);
    uint64_t pushed = 0;
    uint64_t polled = 0;
    const auto push = [&](uint32_t count) {
      for (; count > 0; --count, ++pushed)
        ASSERT_TRUE(queue.push(completion(pushed, pushed % 5 == 0 ? 7 : 1)));
    };
    bool gone = false;
    const auto poll = [&](int count) {
      for (Completion out[1]; count > 0 && queue.poll(out) > 0; --count, ++polled) {
        while (gone && polled % 5 == 0) ++polled;
        ASSERT_EQ(out[0].work_id, polled);
      }
    };
    push(10'000);
    CompletionQueue::Resizing resizing(queue, 1 << 15);
    int steps = 0;
    while (resizing.take_some(queue)) {
      ASSERT_LT(++steps, 10'000);
      push(10);
      poll(3);
      if (some_go && steps == 20) {
        queue.remove(kGone);
        gone = true;
        break;
      }
    }
    while (resizing.take_some(queue)) ++steps;
    EXPECT_GT(steps, 30) << "few at a time";
    ASSERT_TRUE(queue.finish(resizing));
    EXPECT_EQ(queue.capacity(), 1u << 15);
    poll(1 << 20);
    EXPECT_EQ(polled, pushed);
  }
}

TEST(CompletionQueue, SeveralPushAndOnePolls) {
  constexpr uint64_t kEach = 20'000;
  constexpr uint64_t kPushers = 3;
  CompletionQueue queue(64);
  queue.share(kPushers);
  uint64_t polled = 0;
  std::vector<std::thread> pushers;
  for (uint64_t pusher = 0; pusher < kPushers; ++pusher)
    pushers.emplace_back([&queue, pusher] {
      for (uint64_t i = 0; i < kEach; ++i) {
        // Never more under way than fit, whoever pushes.
        while (queue.pushed() - queue.polled() > 64 - kPushers) std::this_thread::yield();
        EXPECT_TRUE(queue.push(completion(i, static_cast<uint32_t>(pusher))));
      }
    });
  uint64_t next[kPushers] = {};
  while (polled < kPushers * kEach) {
    Completion out[8];
    const size_t count = queue.poll(out);
    if (count == 0) std::this_thread::yield();
    for (size_t i = 0; i < count; ++i) {
      ASSERT_LT(out[i].qpn.value(), kPushers);
      ASSERT_EQ(out[i].work_id, next[out[i].qpn.value()]++);
    }
    polled += count;
  }
  for (std::thread& pusher : pushers) pusher.join();
}

TEST(CompletionQueue, OneThreadPushesAnotherPolls) {
  CompletionQueue queue(64);
  constexpr uint64_t kCount = 200'000;
  std::thread engine([&] {
    for (uint64_t i = 0; i < kCount;) {
      if (queue.pushed() - queue.polled() < queue.capacity() && queue.push(completion(i))) ++i;
      if (i % 64 == 0) std::this_thread::yield();
    }
  });
  uint64_t next = 0;
  while (next < kCount) {
    Completion out[16];
    const size_t count = queue.poll(out);
    for (size_t i = 0; i < count; ++i) ASSERT_EQ(out[i].work_id, next++);
    if (count == 0) std::this_thread::yield();
  }
  engine.join();
}

TEST(WorkQueue, HoldsExactlyWhatWasAskedFor) {
  SendQueue queue(3, 32);
  for (int i = 0; i < 3; ++i) {
    SendRequest* request = queue.reserve();
    ASSERT_NE(request, nullptr);
    request->work_id = i;
    request->segments()[1] = {1, 2, MemoryKey{3}};
    queue.publish(1);
  }
  EXPECT_EQ(queue.reserve(), nullptr);
  EXPECT_EQ(queue.at(queue.head()).work_id, 0u);
  queue.release(queue.head() + 1);
  EXPECT_NE(queue.reserve(), nullptr);
  EXPECT_EQ(queue.reserve(1), nullptr);
}

TEST(WorkQueue, OfNoEntriesTakesNothing) {
  ReceiveQueue queue(0, 16);
  EXPECT_EQ(queue.reserve(), nullptr);
  EXPECT_TRUE(queue.empty());
}

// Who polls a completion may post at once: its request has left the send queue before. Another thread than
// the engine's watches.
void expect_room_before_completions(Transport transport) {
  constexpr uint64_t kMessages = 20'000;
  test::PairOptions options;
  options.transport = transport;
  test::WirePair pair(options);
  uint8_t byte = 1;
  uint8_t target = 0;
  const Segment remote = pair.segment(pair.b, &target, 1, kRemoteWrite | kLocalWrite);
  const Segment local = pair.segment(pair.a, &byte, 1, 0);
  SendQueue& requests = pair.a.qp->send_queue();
  std::atomic<bool> done = false;
  uint64_t too_early = 0;
  std::thread watcher([&] {
    while (!done.load(std::memory_order_relaxed)) {
      const uint64_t completed = pair.a.sends.pushed();
      if (requests.head() < completed) ++too_early;
    }
  });
  while (pair.a.sends.pushed() < kMessages && pair.now() < kSecond) {
    while (SendRequest* request = pair.post(pair.a, Operation::kWrite, 1, {local})) {
      request->remote_address = remote.address;
      request->remote_key = remote.key;
      pair.ring(pair.a);
    }
    pair.run_for(10 * kMicrosecond);
    pair.poll(pair.a.sends);
  }
  done = true;
  watcher.join();
  EXPECT_GE(pair.a.sends.pushed(), kMessages);
  EXPECT_EQ(too_early, 0u);
}

TEST(SendQueue, HasRoomBeforeTheCompletionIsSeen) {
  expect_room_before_completions(Transport::kMrc);
}
TEST(SendQueue, HasRoomBeforeTheCompletionIsSeenOverRc) {
  expect_room_before_completions(Transport::kRc);
}

}  // namespace
}  // namespace mrc
