// SPDX-License-Identifier: BSD-2-Clause
// Whatever keeps a request from being sent or answered, it ends.
#include <gtest/gtest.h>

#include "libmrc/reliability/excused_timer.h"
#include "tests/unit/qp_wire_pair.h"

namespace mrc::test {
namespace {

class GiveUp : public testing::TestWithParam<Transport> {
 protected:
  static constexpr Nanoseconds kPatience = 80 * kMillisecond;  // eight timeouts of PairOptions
  static constexpr Nanoseconds kLateTurn = 5 * kMillisecond;   // more than what is taken for a pause

  GiveUp() : pair_(options()) {
    pair_.set_step(50 * kMicrosecond);
    target_ = pair_.segment(pair_.b, &there_, sizeof there_, kLocalWrite | kRemoteWrite);
    source_ = pair_.segment(pair_.a, &here_, sizeof here_, 0);
  }
  static PairOptions options() {
    PairOptions options;
    options.transport = GetParam();
    return options;
  }
  void write() {
    SendRequest* request = pair_.post(pair_.a, Operation::kWrite, ++written_, {source_});
    request->remote_address = target_.address;
    request->remote_key = target_.key;
    pair_.ring(pair_.a);
  }
  void write_well() {
    write();
    ASSERT_TRUE(pair_.run([&] { return pair_.a.sends.pushed() == written_; }, kSecond));
    ASSERT_EQ(pair_.poll(pair_.a.sends).back().status, CompletionStatus::kSuccess);
  }
  void lose_all() {
    for (auto& port : pair_.a.ports) port->drop = [](const PipePort::Frame&) { return true; };
  }
  void expect_end(Nanoseconds limit) {
    const Nanoseconds begin = pair_.now();
    ASSERT_TRUE(pair_.run([&] { return pair_.a.sends.pushed() == written_; }, limit));
    EXPECT_EQ(pair_.poll(pair_.a.sends).back().status, CompletionStatus::kRetryExceeded);
    EXPECT_GE(pair_.now() - begin, kPatience - kLateTurn);
  }

  WirePair pair_;
  uint64_t here_ = 7;
  uint64_t there_ = 0;
  Segment target_;
  Segment source_;
  uint64_t written_ = 0;
};

// Pauses are excused, but not without end: where every turn is late, timers would stand still.
TEST_P(GiveUp, WhereEveryTurnIsLate) {
  write_well();
  lose_all();
  write();
  pair_.set_step(kLateTurn);
  expect_end((ExcusedTimer::kExcuses + 2) * kPatience);
}

TEST_P(GiveUp, WhereEveryTurnIsLateAndPortsAreFull) {
  write_well();
  lose_all();
  write();
  pair_.run_for(kMillisecond);
  for (auto& port : pair_.a.ports) port->linked = false;
  pair_.set_step(kLateTurn);
  expect_end((ExcusedTimer::kExcuses + 2) * kPatience);
}

// A long pause is still one of any length, also behind short ones.
TEST_P(GiveUp, NotForOneLongPause) {
  write_well();
  lose_all();
  write();
  pair_.run_for(kMillisecond);
  for (int i = 0; i < 3; ++i) {
    pair_.pause(kLateTurn, {&pair_.a});
    pair_.run_for(100 * kMicrosecond);
  }
  pair_.pause(100 * kPatience, {&pair_.a});
  for (auto& port : pair_.a.ports) port->drop = nullptr;
  ASSERT_TRUE(pair_.run([&] { return pair_.a.sends.pushed() == written_; }, kSecond));
  EXPECT_EQ(pair_.poll(pair_.a.sends).back().status, CompletionStatus::kSuccess);
}

// The ring is full before anything of this request could be sent.
TEST_P(GiveUp, FullPorts) {
  write_well();
  for (auto& port : pair_.a.ports) port->linked = false;
  write();
  expect_end(2 * kPatience);
}

// Nobody has heard of the peer yet, so its link may only be late; but that ends too.
TEST_P(GiveUp, PortsThatWereFullFromTheBeginning) {
  pair_.run_for(kMillisecond);
  for (auto& port : pair_.a.ports) port->linked = false;
  write();
  pair_.set_step(kMillisecond);
  expect_end(40 * kSecond);
}

TEST_P(GiveUp, LinksThatComeLate) {
  for (auto& port : pair_.a.ports) port->linked = false;
  write();
  pair_.run_for(2 * kSecond);
  EXPECT_EQ(pair_.a.sends.pushed(), 0u);
  for (auto& port : pair_.a.ports) port->linked = true;
  ASSERT_TRUE(pair_.run([&] { return pair_.a.sends.pushed() == written_; }, kSecond));
  EXPECT_EQ(pair_.poll(pair_.a.sends).back().status, CompletionStatus::kSuccess);
}

TEST_P(GiveUp, NoBuffers) {
  write_well();
  for (auto& port : pair_.a.ports) port->buffers = false;
  // Some are still at hand.
  CompletionStatus status = CompletionStatus::kSuccess;
  for (int i = 0; i < 500 && status == CompletionStatus::kSuccess; ++i) {
    write();
    ASSERT_TRUE(pair_.run([&] { return pair_.a.sends.pushed() == written_; }, 3 * kPatience));
    status = pair_.poll(pair_.a.sends).back().status;
  }
  EXPECT_EQ(status, CompletionStatus::kRetryExceeded);
}

INSTANTIATE_TEST_SUITE_P(Wires, GiveUp,
                         testing::Values(Transport::kMrc, Transport::kMrcStrict, Transport::kRc),
                         [](const auto& info) {
                           if (info.param == Transport::kRc) return "rc";
                           return info.param == Transport::kMrc ? "mrc" : "strict";
                         });

}  // namespace
}  // namespace mrc::test
