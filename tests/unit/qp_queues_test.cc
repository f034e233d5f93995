// SPDX-License-Identifier: BSD-2-Clause
// Work queues and completion queues: limits, order, and two threads at once.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <optional>
#include <random>
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
  queue.begin_removal(Qpn(1));
  EXPECT_FALSE(queue.remove_some());
  EXPECT_EQ(queue.pushed() - queue.polled(), 3u) << "their places are free";
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

// Nobody waits for all that are in it: they are taken along a few at a time, while others come and are
// polled.
TEST(CompletionQueue, IsResizedWhileCompletionsComeAndGo) {
  CompletionQueue queue(1 << 14);
  uint64_t pushed = 0;
  uint64_t polled = 0;
  const auto push = [&](uint32_t count) {
    for (; count > 0; --count, ++pushed) ASSERT_TRUE(queue.push(completion(pushed)));
  };
  const auto poll = [&](int count) {
    for (Completion out[1]; count > 0 && queue.poll(out) > 0; --count, ++polled)
      ASSERT_EQ(out[0].work_id, polled);
  };
  push(10'000);
  CompletionQueue::Resizing resizing(queue, 1 << 15);
  int steps = 0;
  while (resizing.take_some(queue)) {
    ASSERT_LT(++steps, 10'000);
    push(10);
    poll(3);
  }
  EXPECT_GT(steps, 30) << "few at a time";
  ASSERT_TRUE(queue.finish(resizing));
  EXPECT_EQ(queue.capacity(), 1u << 15);
  poll(1 << 20);
  EXPECT_EQ(polled, pushed);
}

// Nor does anybody wait until all that a queue pair has left are found among very many.
TEST(CompletionQueue, ARemovalLooksAtAFewAtATime) {
  CompletionQueue queue(1 << 16);
  for (uint64_t i = 0; i < 65'536; ++i) ASSERT_TRUE(queue.push(completion(i, i % 2)));
  queue.begin_removal(Qpn(1));
  int steps = 1;
  while (queue.remove_some()) ++steps;
  EXPECT_EQ(steps, 65'536 / 256);
  EXPECT_EQ(queue.pushed() - queue.polled(), 32'768u);
  queue.begin_removal(Qpn(1));
  for (steps = 1; queue.remove_some(); ++steps) {
  }
  EXPECT_EQ(steps, 32'768 / 256);
  EXPECT_EQ(queue.pushed() - queue.polled(), 32'768u) << "there was nothing left";
}

// Removals while others push and poll, against a list: nothing else gets lost, comes twice or changes places,
// nothing of what was removed is polled afterwards, and marks stay between the same completions.
TEST(CompletionQueue, ARemovalTakesItsOwnOnly) {
  const char* const given = std::getenv("MRC_TEST_SEED");
  const uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 0) : 1;
  std::printf("seed %llu (MRC_TEST_SEED)\n", static_cast<unsigned long long>(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 200; ++round) {
    CompletionQueue queue(1024);
    const bool timed = round % 3 == 0;
    static uint64_t clock;
    if (timed) queue.keep_times([] { return CompletionTime{clock, 0}; });
    std::deque<Completion> model;  // what waits
    uint64_t mark = 0;
    uint64_t mark_before = 0;  // the first work_id behind the mark
    uint64_t next = 0;
    const auto push = [&](uint64_t count) {
      for (; count > 0 && queue.pushed() - queue.polled() < queue.capacity(); --count) {
        clock = next;
        const Completion one = completion(next++, static_cast<uint32_t>(random() % 3));
        ASSERT_TRUE(queue.push(one));
        model.push_back(one);
      }
    };
    // `gone`: of which some may still be polled, and some are not there any more.
    const auto poll = [&](size_t count, std::optional<uint32_t> gone, uint64_t until) {
      Completion out[7];
      for (; count > 0; --count) {
        CompletionTime first;
        const size_t found = queue.poll({out, 1 + random() % 7}, &first);
        if (timed && found > 0) {
          ASSERT_EQ(first.clock, out[0].work_id);
        }
        for (size_t i = 0; i < found; ++i) {
          while (gone && !model.empty() && model.front().work_id != out[i].work_id) {
            ASSERT_EQ(model.front().qpn, Qpn(*gone));
            ASSERT_LT(model.front().work_id, until);
            model.pop_front();
          }
          ASSERT_FALSE(model.empty());
          ASSERT_EQ(out[i].work_id, model.front().work_id);
          model.pop_front();
        }
      }
    };
    // Those that a mark tells apart are still on the same side of it.
    const auto check_mark = [&] {
      for (uint64_t n = queue.polled(); n < queue.pushed(); ++n)
        if (const Completion* one = queue.peek(n); one != nullptr) {
          ASSERT_EQ(n < mark, one->work_id < mark_before);
        }
    };
    for (int removal = 0; removal < 4; ++removal) {
      push(random() % 1024);
      poll(random() % 40, std::nullopt, 0);
      const auto gone = static_cast<uint32_t>(random() % 3);
      mark = queue.pushed() - random() % (queue.pushed() - queue.polled() + 1);
      mark_before = mark < queue.pushed() ? queue.peek(mark)->work_id : next;
      const uint64_t until = next;
      uint64_t* const marks[] = {&mark};
      queue.begin_removal(Qpn(gone));
      while (queue.remove_some(marks)) {
        check_mark();
        push(random() % 50);
        poll(random() % 10, gone, until);
        check_mark();
      }
      std::erase_if(model,
                    [&](const Completion& one) { return one.qpn == Qpn(gone) && one.work_id < until; });
      check_mark();
      ASSERT_EQ(queue.pushed() - queue.polled(), model.size());
    }
    poll(1024, std::nullopt, 0);
    ASSERT_TRUE(model.empty());
    ASSERT_TRUE(queue.empty());
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
