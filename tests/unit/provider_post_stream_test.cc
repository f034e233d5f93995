// SPDX-License-Identifier: BSD-2-Clause
// Which posts wait for those that follow.
#include <gtest/gtest.h>

#include <cstdint>

#include "providers/mrc/verbs/post_stream.h"

namespace mrc::provider {
namespace {

// A program, and a network that finishes what has left, but for the last `under_way` requests.
struct Program {
  PostStream stream;
  uint64_t tail = 0;
  uint64_t head = 0;
  uint64_t left = 0;  // requests that have gone out
  uint64_t polls = 0;
  uint64_t under_way = 0;
  uint64_t turns = 0;  // by posts

  void post(uint64_t requests = 1) {
    tail += requests;
    if (stream.goes_on(tail, head, polls)) return;
    ++turns;
    leave();
  }
  void expect_each_to_leave(int posts) {
    for (int i = 0; i < posts; ++i) {
      post();
      EXPECT_EQ(left, tail);
    }
  }
  void poll() {
    ++polls;
    leave();
  }
  void leave() {
    left = tail;
    head = left > under_way ? left - under_way : 0;
  }
};

TEST(PostStreamTest, WhoWaitsForEachOneIsNotKeptWaiting) {
  Program program;
  for (int i = 0; i < 1000; ++i) {
    program.expect_each_to_leave(1);
    program.poll();
  }
}

TEST(PostStreamTest, WhoNeverPollsIsNotKeptWaiting) {
  Program program;
  program.under_way = 100;
  program.expect_each_to_leave(1000);
}

TEST(PostStreamTest, WithMuchUnderWayPostsLeaveInGroups) {
  Program program;
  program.under_way = 100;
  for (int i = 0; i < 200; ++i) {
    program.post();
    program.poll();
  }
  program.turns = 0;
  for (int i = 0; i < 128; ++i) program.post();
  EXPECT_EQ(program.turns, 4);
  EXPECT_EQ(program.left, program.tail);
}

// What was posted in a row before is the only sign of a stream where each one is finished before the next.
TEST(PostStreamTest, AsManyAsBeforeAreExpectedInARow) {
  Program program;
  program.under_way = 1;
  program.poll();
  for (int i = 0; i < 100; ++i) program.post();
  EXPECT_EQ(program.turns, 100);
  program.poll();
  program.turns = 0;
  for (int i = 0; i < 100; ++i) program.post();
  // The hundredth is the last of them, whatever comes.
  EXPECT_EQ(program.left, program.tail);
  EXPECT_LE(program.turns, 5);
}

TEST(PostStreamTest, WhoStopsEarlierIsKeptWaitingOnce) {
  Program program;
  program.under_way = 1;
  program.poll();
  for (int i = 0; i < 100; ++i) program.post();
  program.poll();
  for (int i = 0; i < 3; ++i) program.post();
  program.poll();
  for (int round = 0; round < 10; ++round) {
    program.expect_each_to_leave(3);
    program.poll();
  }
}

// A few in a row are no stream: a datum and a flag behind it, say, for whose answer one looks in memory.
TEST(PostStreamTest, AFewInARowAreNotKeptWaiting) {
  Program program;
  program.under_way = 1;
  for (int round = 0; round < 10; ++round) {
    program.expect_each_to_leave(8);
    program.poll();
  }
}

TEST(PostStreamTest, AListIsAGroupOfItsOwn) {
  Program program;
  program.under_way = 100;
  program.poll();
  for (int i = 0; i < 20; ++i) {
    program.post(32);
    EXPECT_EQ(program.left, program.tail);
  }
}

// Whatever their length: no group is longer than it is worth.
TEST(PostStreamTest, ListsThatDoNotDivideAGroupFillIt) {
  for (uint64_t length = 1; length < 32; ++length) {
    Program program;
    program.under_way = 200;
    for (int i = 0; i < 20; ++i) {
      program.post(32);
      program.poll();
    }
    for (int i = 0; i < 100; ++i) {
      program.post(length);
      EXPECT_LT(program.tail - program.left, 32) << length;
    }
  }
}

}  // namespace
}  // namespace mrc::provider
