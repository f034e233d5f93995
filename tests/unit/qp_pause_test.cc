// SPDX-License-Identifier: BSD-2-Clause
// A host that gets no CPU for a while: what it did not hear in that time is nobody's fault.
#include <gtest/gtest.h>

#include "tests/unit/qp_wire_pair.h"

namespace mrc::test {
namespace {

constexpr uint32_t kBytes = 64 * 1024;
constexpr uint64_t kReads = 40;
constexpr Nanoseconds kTimeout = 10 * kMillisecond;  // of both, PairOptions
constexpr Nanoseconds kAway = 8 * kTimeout;

// One end READs from the other, and either of them falls asleep while much is under way.
class Pause : public testing::TestWithParam<Transport> {
 protected:
  Pause() : pair_(options()), source_(kBytes, 0x5A), target_(kBytes) {
    remote_ = pair_.segment(pair_.b, source_.data(), kBytes, kRemoteRead);
    local_ = pair_.segment(pair_.a, target_.data(), kBytes, kLocalWrite);
    for (uint64_t i = 0; i < kReads; ++i) {
      SendRequest* request = pair_.post(pair_.a, Operation::kRead, i, {local_});
      request->remote_address = remote_.address;
      request->remote_key = remote_.key;
      pair_.ring(pair_.a);
    }
    under_way_ = pair_.run([&] { return pair_.a.sends.pushed() > 3; }, kSecond);
  }
  static PairOptions options() {
    PairOptions options;
    options.transport = GetParam();
    options.retry_linear = 0;  // the first timeout ends the connection
    options.timeout = kTimeout;
    return options;
  }
  void expect_no_harm() {
    ASSERT_TRUE(pair_.run([&] { return pair_.a.sends.pushed() == kReads; }, kSecond));
    for (const Completion& completion : pair_.poll(pair_.a.sends))
      ASSERT_EQ(completion.status, CompletionStatus::kSuccess);
    for (const End* end : {&pair_.a, &pair_.b}) {
      const Counters& counters = end->engine->counters();
      EXPECT_EQ(counters.retransmits_timeout, 0u);
      EXPECT_EQ(counters.paths_demoted, 0u);
      EXPECT_EQ(counters.retry_exceeded, 0u);
    }
    EXPECT_EQ(source_, target_);
  }

  WirePair pair_;
  std::vector<uint8_t> source_;
  std::vector<uint8_t> target_;
  Segment remote_;
  Segment local_;
  bool under_way_ = false;
};

TEST_P(Pause, AndAgainAndAgain) {
  ASSERT_TRUE(under_way_);
  while (pair_.a.sends.pushed() < kReads) {
    pair_.pause(kAway, {&pair_.a, &pair_.b});
    pair_.run_for(20 * kMicrosecond);
    ASSERT_LT(pair_.now(), 100 * kSecond);
  }
  expect_no_harm();
}

TEST_P(Pause, IsNeitherSilenceNorARoundTrip) {
  ASSERT_TRUE(under_way_);
  pair_.pause(kAway, {&pair_.a, &pair_.b});
  expect_no_harm();
  EXPECT_EQ(pair_.a.engine->counters().pauses, 1u);
  EXPECT_EQ(pair_.b.engine->counters().pauses, 1u);
  if (GetParam() == Transport::kRc) return;  // does not measure
  EXPECT_LT(pair_.a.qp->mrc()->requester().rtt().smoothed(), kMillisecond);
  EXPECT_LT(pair_.b.qp->mrc()->requester().rtt().smoothed(), kMillisecond);
}

// Who is awake all the time counts as ever.
TEST_P(Pause, OfThePeerAloneIsSilence) {
  ASSERT_TRUE(under_way_);
  pair_.pause(kAway, {&pair_.b});
  ASSERT_FALSE(pair_.a.sends.empty());
  EXPECT_EQ(pair_.poll(pair_.a.sends).back().status, CompletionStatus::kFlushed);
  EXPECT_EQ(pair_.a.engine->counters().retry_exceeded, 1u);
  EXPECT_EQ(pair_.a.engine->counters().pauses, 0u);
}

// A thread read the clock, lost its CPU, and had its turn only after another one with a later clock.
TEST_P(Pause, OfOneThreadOfSeveralDoesNotTurnTimeBack) {
  ASSERT_TRUE(under_way_);
  while (pair_.a.sends.pushed() < kReads) {
    pair_.run_for(3 * kMicrosecond);
    pair_.pause(kMicrosecond, {&pair_.a, &pair_.b});
    for (End* end : {&pair_.a, &pair_.b}) {
      for (auto& port : end->ports) port->now = pair_.now();
      end->engine->progress(pair_.now() - std::min(pair_.now(), 50 * kMicrosecond));
    }
    ASSERT_LT(pair_.now(), kSecond);
  }
  expect_no_harm();
  if (GetParam() == Transport::kRc) return;  // does not measure
  for (const End* end : {&pair_.a, &pair_.b}) {
    EXPECT_LT(end->qp->mrc()->requester().rtt().smoothed(), kMillisecond);
    EXPECT_EQ(end->engine->counters().retransmits_reordering, 0u);
  }
}

// Short pauses, again and again within one long round trip: the sender must see that the queue of one plane
// grows, or all that waits there seems lost.
TEST(PausesOfABusyHost, DoNotHideAQueueThatGrows) {
  PairOptions options;
  options.timeout = kSecond;
  WirePair pair(options);
  constexpr Nanoseconds kGrows = 600 * kMillisecond;
  constexpr Nanoseconds kDelayMax = 60 * kMillisecond;
  pair.a.ports[0]->delay = [] { return kMillisecond; };
  pair.a.ports[1]->delay = [&] { return kMillisecond + kDelayMax * std::min(pair.now(), kGrows) / kGrows; };
  std::vector<uint8_t> source(kBytes, 0x5A);
  std::vector<uint8_t> target(kBytes);
  const Segment remote = pair.segment(pair.b, target.data(), kBytes, kRemoteWrite | kLocalWrite);
  const Segment local = pair.segment(pair.a, source.data(), kBytes, 0);
  while (pair.now() < 2 * kGrows) {
    while (SendRequest* request = pair.post(pair.a, Operation::kWrite, 1, {local})) {
      request->remote_address = remote.address;
      request->remote_key = remote.key;
      pair.ring(pair.a);
    }
    pair.run_for(5 * kMillisecond);
    pair.pause(3 * kMillisecond, {&pair.a});
    for (const Completion& completion : pair.poll(pair.a.sends))
      ASSERT_EQ(completion.status, CompletionStatus::kSuccess);
  }
  const Counters& counters = pair.a.engine->counters();
  EXPECT_GT(counters.pauses, 3u);
  EXPECT_GT(counters.messages_completed, 20u);
  EXPECT_LT(counters.retransmissions_sent, 20u);  // not thousands
  EXPECT_GT(pair.a.qp->mrc()->requester().rtt().smoothed(), 5 * kMillisecond);
}

TEST(Pauses, AreToldInOrderAndOnceAndTheLatestIfTheyAreMany) {
  Pauses pauses;
  uint64_t seen = 0;
  std::vector<Nanoseconds> told;
  const auto tell = [&] {
    told.clear();
    pauses.tell(&seen, [&](Nanoseconds away, Nanoseconds until) {
      EXPECT_EQ(until, 10 * away);
      told.push_back(away);
    });
    return told;
  };
  EXPECT_TRUE(tell().empty());
  for (Nanoseconds i = 1; i <= 3; ++i) pauses.add(i, 10 * i);
  EXPECT_EQ(tell(), (std::vector<Nanoseconds>{1, 2, 3}));
  EXPECT_TRUE(tell().empty());
  for (Nanoseconds i = 4; i <= 1000; ++i) pauses.add(i, 10 * i);
  ASSERT_GT(tell().size(), 8u);
  EXPECT_EQ(told.back(), 1000u);
  for (size_t i = 1; i < told.size(); ++i) EXPECT_EQ(told[i], told[i - 1] + 1);
}

INSTANTIATE_TEST_SUITE_P(Wires, Pause, testing::Values(Transport::kMrc, Transport::kRc),
                         [](const auto& info) { return info.param == Transport::kMrc ? "mrc" : "rc"; });

}  // namespace
}  // namespace mrc::test
