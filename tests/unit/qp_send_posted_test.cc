// SPDX-License-Identifier: BSD-2-Clause
// Engine::send_posted(): what is posted goes out, and nothing else happens.
#include <gtest/gtest.h>

#include "tests/unit/qp_wire_pair.h"

namespace mrc::test {
namespace {

TEST(SendPosted, SendsWithoutALookAtThePorts) {
  WirePair pair;
  std::vector<uint8_t> data(100, 0x5A);
  std::vector<uint8_t> into[2] = {std::vector<uint8_t>(100), std::vector<uint8_t>(100)};
  End* const ends[2] = {&pair.a, &pair.b};
  const auto write = [&](End& from, End& to, std::vector<uint8_t>& target) {
    const Segment remote = pair.segment(to, target.data(), 100, kLocalWrite | kRemoteWrite);
    SendRequest* request = pair.post(from, Operation::kWrite, 1, {pair.segment(from, data.data(), 100, 0)});
    request->remote_address = remote.address;
    request->remote_key = remote.key;
    pair.ring(from);
  };
  EXPECT_EQ(pair.send_posted(pair.a), 0u) << "nothing was posted";
  write(pair.b, pair.a, into[0]);
  EXPECT_EQ(pair.send_posted(pair.b), 1u);
  pair.pause(20 * kMicrosecond, {&pair.a, &pair.b});  // it waits at the ports of the other
  write(pair.a, pair.b, into[1]);
  EXPECT_EQ(pair.send_posted(pair.a), 1u);
  EXPECT_EQ(pair.a.engine->counters().frames_sent, 1u);
  EXPECT_EQ(pair.a.engine->counters().frames_received, 0u);
  EXPECT_NE(into[0], data);
  ASSERT_TRUE(pair.run([&] { return !pair.a.sends.empty() && !pair.b.sends.empty(); }, kMillisecond));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(pair.poll(ends[i]->sends)[0].status, CompletionStatus::kSuccess);
    EXPECT_EQ(into[i], data);
  }
}

TEST(SendPosted, HandsBackWhatIsPostedToAQueuePairInError) {
  WirePair pair;
  QueuePairAttributes error;
  error.state = QueuePairState::kError;
  ASSERT_TRUE(pair.a.engine->modify(*pair.a.qp, error, pair.now()));
  pair.post(pair.a, Operation::kSend, 7, {});
  pair.ring(pair.a);
  EXPECT_EQ(pair.send_posted(pair.a), 0u);
  const auto done = pair.poll(pair.a.sends);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].status, CompletionStatus::kFlushed);
}

}  // namespace
}  // namespace mrc::test
