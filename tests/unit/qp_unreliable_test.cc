// SPDX-License-Identifier: BSD-2-Clause
// Unreliable connections between two engines, over both wires.
#include <gtest/gtest.h>

#include "tests/unit/qp_wire_pair.h"

namespace mrc::test {
namespace {

// IBTA 9.8.2: what the peer cannot take is lost, and the next message finds its place.
TEST(Unreliable, LosesWhatCannotBeTaken) {
  constexpr uint32_t kBytes = 5000;  // several packets
  for (const Transport transport : {Transport::kMrc, Transport::kRc}) {
    PairOptions options;
    options.transport = transport;
    options.lossy = true;
    WirePair pair(options);
    std::vector<uint8_t> lost(kBytes, 1);
    std::vector<uint8_t> kept(kBytes, 2);
    std::vector<uint8_t> target(kBytes);
    const Segment room = pair.segment(pair.b, target.data(), kBytes, kLocalWrite | kRemoteWrite);
    pair.post(pair.a, Operation::kSend, 1, {pair.segment(pair.a, lost.data(), kBytes, 0)});
    pair.ring(pair.a);
    SendRequest* write =
        pair.post(pair.a, Operation::kWrite, 2, {pair.segment(pair.a, lost.data(), kBytes, 0)});
    write->remote_address = room.address;
    write->remote_key = MemoryKey{0xBAD00};
    pair.ring(pair.a);
    ASSERT_TRUE(pair.run([&] { return pair.a.sends.pushed() == 2; }));
    EXPECT_EQ(pair.b.receives.pushed(), 0u);
    pair.post_receive(pair.b, 7, {room});
    pair.post(pair.a, Operation::kSend, 3, {pair.segment(pair.a, kept.data(), kBytes, 0)});
    pair.ring(pair.a);
    ASSERT_TRUE(pair.run([&] { return pair.a.sends.pushed() == 3 && pair.b.receives.pushed() == 1; }));
    for (const Completion& completion : pair.poll(pair.a.sends))
      EXPECT_EQ(completion.status, CompletionStatus::kSuccess);
    EXPECT_EQ(pair.poll(pair.b.receives)[0].status, CompletionStatus::kSuccess);
    EXPECT_EQ(target, kept);
    EXPECT_EQ(pair.b.engine->counters().requests_lost, 10u);
  }
}

}  // namespace
}  // namespace mrc::test
