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
    for (auto& port : pair.b.ports) port->linked = !next_hop_known;
    uint64_t word = 0;
    pair.post_receive(pair.a, 1, {pair.segment(pair.a, &word, 8, kLocalWrite)});
    uint64_t data = 7;
    pair.post(pair.b, Operation::kSend, 1, {pair.segment(pair.b, &data, 8, 0)});
    pair.ring(pair.b);
    pair.run_for(5 * kSecond);
    EXPECT_TRUE(pair.b.sends.empty());
    EXPECT_EQ(pair.b.engine->counters().capability_requests_sent, 0u);
    for (auto& port : pair.b.ports) port->linked = port->reachable = true;
    ASSERT_TRUE(pair.run([&] { return !pair.b.sends.empty(); }));
    EXPECT_EQ(pair.poll(pair.b.sends)[0].status, CompletionStatus::kSuccess);
    EXPECT_EQ(word, 7u);
  }
}

TEST(Negotiation, APeerThatIsNeverReachedRefuses) {
  WirePair pair;
  for (auto& port : pair.a.ports) port->linked = false;
  uint64_t data = 7;
  pair.post(pair.a, Operation::kSend, 1, {pair.segment(pair.a, &data, 8, 0)});
  pair.ring(pair.a);
  ASSERT_TRUE(pair.run([&] { return !pair.a.sends.empty(); }, 31 * kSecond));
  EXPECT_EQ(pair.poll(pair.a.sends)[0].status, CompletionStatus::kLocalQpOperationError);
  EXPECT_GT(pair.now(), 29 * kSecond);
}

}  // namespace
}  // namespace mrc::test
