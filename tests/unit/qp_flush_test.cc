// SPDX-License-Identifier: BSD-2-Clause
// FLUSH between two engines, by MRC and by plain RC: its form on the wire, its order, and its rights.
#include <gtest/gtest.h>

#include "tests/unit/qp_wire_tap.h"

namespace mrc::test {
namespace {

PairOptions flush_options(Transport transport) {
  PairOptions options;
  options.transport = transport;
  options.access = kRemoteWrite | kRemoteFlush;
  return options;
}

struct FlushPair : WirePair {
  explicit FlushPair(const PairOptions& options) : WirePair(options), bytes(8192) {
    target = segment(b, bytes.data(), 8192, kRemoteWrite | kRemoteFlush);
  }
  void post_flush(const Segment& what, uint8_t placement = Feth::kGlobal,
                  uint8_t selectivity = Feth::kRange) {
    SendRequest* request = post(a, Operation::kFlush, 7, {});
    request->remote_address = what.address;
    request->remote_key = what.key;
    request->set_flush(placement, selectivity, what.bytes);
    ring(a);
  }
  Completion flush(const Segment& what, uint8_t placement = Feth::kGlobal,
                   uint8_t selectivity = Feth::kRange) {
    post_flush(what, placement, selectivity);
    EXPECT_TRUE(run([&] { return !a.sends.empty(); }));
    const auto done = poll(a.sends);
    EXPECT_EQ(done.size(), 1u);
    return done.empty() ? Completion{} : done[0];
  }

  std::vector<uint8_t> bytes;
  Segment target{};
};

constexpr Transport kTransports[] = {Transport::kMrc, Transport::kRc};

TEST(Flush, CompletesAndIsNamedSo) {
  for (const Transport transport : kTransports) {
    FlushPair pair(flush_options(transport));
    const Completion done = pair.flush(pair.target);
    EXPECT_EQ(done.status, CompletionStatus::kSuccess);
    EXPECT_EQ(done.kind, CompletionKind::kFlush);
    EXPECT_EQ(done.work_id, 7u);
    EXPECT_EQ(pair.b.engine->counters().flushes_served, 1u);
  }
}

TEST(Flush, OnTheWire) {
  for (const Transport transport : kTransports) {
    FlushPair pair(flush_options(transport));
    Tap sent(pair.a);
    Tap answered(pair.b);
    pair.flush(pair.target, Feth::kGlobal, Feth::kRegion);
    const bool plain = transport == Transport::kRc;
    const Packet& flush = sent.last(plain ? Opcode::kRcFlush : Opcode::kFlush);
    EXPECT_EQ(flush.feth.placement, Feth::kGlobal);
    EXPECT_EQ(flush.feth.selectivity, Feth::kRegion);
    EXPECT_EQ(flush.reth.address, pair.target.address);
    EXPECT_EQ(flush.reth.key, pair.target.key);
    EXPECT_EQ(flush.reth.message_bytes, 8192u);
    if (!plain) continue;
    // IBTA A19: BTH with 0x1C, FETH, RETH; answered by a READ response without data.
    const PipePort::Frame& frame = sent.frames.back();
    constexpr size_t kBthAt = kEthernetBytes + kIpv4Bytes + kUdpBytes;
    EXPECT_EQ(frame.size(), kBthAt + Bth::kBytes + 4 + Reth::kBytes + kIcrcBytes);
    EXPECT_EQ(frame[kBthAt], 0x1C);
    EXPECT_EQ(frame[kBthAt + Bth::kBytes + 3], 0x11) << "selectivity 1, placement 1";
    EXPECT_EQ(answered.count(Opcode::kRcReadResponseOnly), 1u);
  }
}

TEST(Flush, ComesAfterTheWritesBeforeIt) {
  for (const Transport transport : kTransports) {
    for (uint64_t seed = 1; seed <= 10; ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      PairOptions options = flush_options(transport);
      options.loss = 0.05;
      options.jitter = transport == Transport::kMrc;
      options.seed = seed;
      FlushPair pair(options);
      auto data = pattern(8192, static_cast<uint8_t>(seed));
      SendRequest* write =
          pair.post(pair.a, Operation::kWrite, 1, {pair.segment(pair.a, data.data(), 8192, 0)});
      write->remote_address = pair.target.address;
      write->remote_key = pair.target.key;
      write->flags = 0;
      pair.ring(pair.a);
      EXPECT_EQ(pair.flush(pair.target).status, CompletionStatus::kSuccess);
      EXPECT_EQ(pair.bytes, data) << "when it is complete";
      EXPECT_EQ(pair.b.engine->counters().flushes_served, 1u) << "lost or not";
    }
  }
}

TEST(Flush, NeedsTheRightOfRegionAndQueuePair) {
  for (const Transport transport : kTransports) {
    {
      FlushPair pair(flush_options(transport));
      const Segment without = pair.segment(pair.b, pair.bytes.data(), 8192, kRemoteWrite);
      EXPECT_EQ(pair.flush(without).status, CompletionStatus::kRemoteAccessError);
    }
    PairOptions options = flush_options(transport);
    options.access = kRemoteWrite;
    FlushPair pair(options);
    EXPECT_EQ(pair.flush(pair.target).status, CompletionStatus::kRemoteAccessError);
    EXPECT_EQ(pair.b.engine->counters().flushes_served, 0u);
  }
}

TEST(Flush, OfARangeStaysInTheRegion) {
  for (const Transport transport : kTransports) {
    FlushPair pair(flush_options(transport));
    Segment beyond = pair.target;
    ++beyond.bytes;
    EXPECT_EQ(pair.flush(beyond).status, CompletionStatus::kRemoteAccessError);
    FlushPair whole(flush_options(transport));
    Segment anywhere = whole.target;
    anywhere.address = 12345;
    EXPECT_EQ(whole.flush(anywhere, Feth::kGlobal, Feth::kRegion).status, CompletionStatus::kSuccess)
        << "of a region the key alone counts";
  }
}

TEST(Flush, NothingIsPersistent) {
  for (const Transport transport : kTransports) {
    FlushPair pair(flush_options(transport));
    EXPECT_EQ(pair.flush(pair.target, Feth::kGlobal | Feth::kPersistent).status,
              CompletionStatus::kRemoteAccessError);
  }
}

TEST(Flush, OfAKindThatIsNotThereIsInvalid) {
  for (const Transport transport : kTransports) {
    for (const auto& [placement, selectivity] :
         {std::pair<uint8_t, uint8_t>{0, 0}, {4, 0}, {Feth::kGlobal, 2}, {Feth::kGlobal, 3}}) {
      FlushPair pair(flush_options(transport));
      EXPECT_EQ(pair.flush(pair.target, placement, selectivity).status,
                CompletionStatus::kRemoteInvalidRequest);
    }
  }
}

TEST(Flush, IsNoneOfStrictMrc) {
  FlushPair pair(flush_options(Transport::kMrcStrict));
  EXPECT_NE(pair.flush(pair.target).status, CompletionStatus::kSuccess);
  EXPECT_EQ(pair.b.engine->counters().flushes_served, 0u);
}

}  // namespace
}  // namespace mrc::test
