// SPDX-License-Identifier: BSD-2-Clause
// Asking a peer what it speaks, and what waits for the answer.
#include <gtest/gtest.h>

#include "tests/unit/qp_wire_pair.h"

namespace mrc::test {
namespace {

// A SEND waits until it is known what the peer speaks. The two seconds in which a peer must have answered
// begin when it can be asked, be it that the next hop or the link to the other process is late.
TEST(Negotiation, APeerIsAskedFromWhenItCanBeReached) {
  for (const bool next_hop_known : {false, true}) {
    PairOptions options;
    options.b_reaches_a = next_hop_known;
    WirePair pair(options);
    pair.set_step(kMillisecond);
    for (auto& port : pair.b.ports) port->linked = !next_hop_known;
    uint64_t word = 0;
    pair.post_receive(pair.a, 1, {pair.segment(pair.a, &word, 8, kLocalWrite)});
    uint64_t data = 7;
    pair.post(pair.b, Operation::kSend, 1, {pair.segment(pair.b, &data, 8, 0)});
    pair.ring(pair.b);
    pair.run_for(5 * kSecond);
    EXPECT_TRUE(pair.b.sends.empty());
    EXPECT_EQ(pair.b.engine->counters().capability_requests_sent, 0u);
    pair.set_step(50 * kMicrosecond);
    for (auto& port : pair.b.ports) port->linked = port->reachable = true;
    ASSERT_TRUE(pair.run([&] { return !pair.b.sends.empty(); }));
    EXPECT_EQ(pair.poll(pair.b.sends)[0].status, CompletionStatus::kSuccess);
    EXPECT_EQ(word, 7u);
  }
}

// It was stopped, or had no CPU: that says nothing about what it speaks.
TEST(Negotiation, APeerThatIsSilentAtFirstIsAskedOn) {
  WirePair pair;
  pair.set_step(50 * kMicrosecond);
  bool silent = true;
  for (auto& port : pair.a.ports) port->drop = [&](const PipePort::Frame&) { return silent; };
  pair.run_for(10 * kSecond);
  EXPECT_LT(pair.a.engine->counters().capability_requests_sent, 80u) << "ever less often";
  silent = false;
  uint64_t word = 0;
  pair.post_receive(pair.b, 1, {pair.segment(pair.b, &word, 8, kLocalWrite)});
  uint64_t data = 7;
  pair.post(pair.a, Operation::kSend, 1, {pair.segment(pair.a, &data, 8, 0)});
  pair.ring(pair.a);
  ASSERT_TRUE(pair.run([&] { return !pair.a.sends.empty(); }, 10 * kMillisecond)) << "asked at once";
  EXPECT_EQ(pair.poll(pair.a.sends)[0].status, CompletionStatus::kSuccess);
  EXPECT_EQ(word, 7u);
}

TEST(Negotiation, ARequestWaitsAsLongAsItsRetriesWould) {
  PairOptions options;
  options.timeout = kSecond;
  WirePair pair(options);
  pair.set_step(50 * kMicrosecond);
  bool silent = true;
  for (auto& port : pair.a.ports) port->drop = [&](const PipePort::Frame&) { return silent; };
  uint64_t data = 7;
  pair.post_receive(pair.b, 1, {pair.segment(pair.b, &data, 8, kLocalWrite)});
  pair.post(pair.a, Operation::kSend, 1, {pair.segment(pair.a, &data, 8, 0)});
  pair.ring(pair.a);
  pair.run_for(6 * kSecond);
  silent = false;
  ASSERT_TRUE(pair.run([&] { return !pair.a.sends.empty(); }, kSecond));
  EXPECT_EQ(pair.poll(pair.a.sends)[0].status, CompletionStatus::kSuccess);
}

// A second queue pair between the same engines, from now on the one of the pair.
void add_queue_pair(WirePair* pair) {
  for (End* end : {&pair->a, &pair->b}) end->qp = end->engine->create(end->qp->config());
  pair->reconnect({});
}

bool send_a_word(WirePair* pair) {
  uint64_t word = 0;
  pair->post_receive(pair->b, 1, {pair->segment(pair->b, &word, 8, kLocalWrite)});
  uint64_t data = 7;
  pair->post(pair->a, Operation::kSend, 1, {pair->segment(pair->a, &data, 8, 0)});
  pair->ring(pair->a);
  if (!pair->run([&] { return !pair->a.sends.empty(); }, 3 * kSecond)) return false;
  return pair->poll(pair->a.sends)[0].status == CompletionStatus::kSuccess && word == 7;
}

TEST(Negotiation, WhatOneQueuePairWasToldTheNextNeedsNotAsk) {
  WirePair pair;
  ASSERT_TRUE(send_a_word(&pair));
  const uint64_t asked = pair.a.engine->counters().capability_requests_sent;
  add_queue_pair(&pair);
  ASSERT_TRUE(send_a_word(&pair));
  EXPECT_EQ(pair.a.engine->counters().capability_requests_sent, asked);
  pair.set_step(50 * kMicrosecond);
  pair.run_for(11 * kSecond);
  add_queue_pair(&pair);
  ASSERT_TRUE(send_a_word(&pair));
  EXPECT_GT(pair.a.engine->counters().capability_requests_sent, asked) << "that was long ago";
}

// Another program may have its number now, which does not speak it.
TEST(Negotiation, APeerThatWasTrustedAndIsSilentIsAsked) {
  WirePair pair;
  ASSERT_TRUE(send_a_word(&pair));
  add_queue_pair(&pair);
  const uint64_t asked = pair.a.engine->counters().capability_requests_sent;
  pair.set_step(50 * kMicrosecond);
  for (auto& port : pair.a.ports) port->drop = [](const PipePort::Frame&) { return true; };
  uint64_t data = 7;
  pair.post(pair.a, Operation::kSend, 1, {pair.segment(pair.a, &data, 8, 0)});
  pair.ring(pair.a);
  ASSERT_TRUE(pair.run([&] { return !pair.a.sends.empty(); }, 3 * kSecond));
  EXPECT_EQ(pair.poll(pair.a.sends)[0].status, CompletionStatus::kRetryExceeded);
  EXPECT_GT(pair.a.engine->counters().capability_requests_sent, asked);
}

// To a program that is what it is with any other request: nobody has answered.
TEST(Negotiation, APeerThatNeverAnswersIsGivenUpInTime) {
  WirePair pair;
  pair.set_step(50 * kMicrosecond);
  for (auto& port : pair.a.ports) port->drop = [](const PipePort::Frame&) { return true; };
  pair.run_for(5 * kSecond);
  uint64_t data = 7;
  pair.post(pair.a, Operation::kSend, 1, {pair.segment(pair.a, &data, 8, 0)});
  pair.ring(pair.a);
  ASSERT_TRUE(pair.run([&] { return !pair.a.sends.empty(); }, 3 * kSecond));
  EXPECT_EQ(pair.poll(pair.a.sends)[0].status, CompletionStatus::kRetryExceeded);
}

TEST(Negotiation, APeerThatIsNeverReachedIsGivenUp) {
  WirePair pair;
  pair.set_step(kMillisecond);
  for (auto& port : pair.a.ports) port->linked = false;
  uint64_t data = 7;
  pair.post(pair.a, Operation::kSend, 1, {pair.segment(pair.a, &data, 8, 0)});
  pair.ring(pair.a);
  ASSERT_TRUE(pair.run([&] { return !pair.a.sends.empty(); }, 31 * kSecond));
  EXPECT_EQ(pair.poll(pair.a.sends)[0].status, CompletionStatus::kRetryExceeded);
  EXPECT_GT(pair.now(), 29 * kSecond);
}

// The other process was stopped: first the ring to it fills, then nothing can be repeated any more. That must
// end like any other silence; and so must a request that comes when the ring is full already.
TEST(FullPorts, APeerThatTakesNothingIsGivenUpInTime) {
  for (const bool sent_before : {true, false}) {
    WirePair pair;
    pair.set_step(50 * kMicrosecond);
    uint64_t data = 7;
    uint64_t there = 0;
    const Segment target = pair.segment(pair.b, &there, 8, kLocalWrite | kRemoteWrite);
    const auto write = [&](uint64_t id) {
      SendRequest* request = pair.post(pair.a, Operation::kWrite, id, {pair.segment(pair.a, &data, 8, 0)});
      request->remote_address = target.address;
      request->remote_key = target.key;
      pair.ring(pair.a);
    };
    write(1);
    ASSERT_TRUE(pair.run([&] { return pair.a.sends.pushed() == 1; }));
    for (auto& port : pair.a.ports) port->drop = [](const PipePort::Frame&) { return true; };
    if (sent_before) {
      write(2);
      pair.run_for(5 * kMillisecond);
    }
    for (auto& port : pair.a.ports) port->linked = false;
    if (!sent_before) write(2);
    ASSERT_TRUE(pair.run([&] { return pair.a.sends.pushed() == 2; }, kSecond)) << sent_before;
    EXPECT_EQ(pair.poll(pair.a.sends).back().status, CompletionStatus::kRetryExceeded);
  }
}

}  // namespace
}  // namespace mrc::test
