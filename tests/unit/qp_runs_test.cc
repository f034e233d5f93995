// SPDX-License-Identifier: BSD-2-Clause
// Runs of small WRITEs (libmrc/mrc/requester_runs.cc): on the wire nobody can tell them from packets that
// were sent one by one, whatever stands between them.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "tests/unit/qp_mixed_work.h"
#include "tests/unit/qp_wire_tap.h"

namespace mrc::test {
namespace {

constexpr uint32_t kFirstOfRuns = 5;  // PSN of a's first packet
constexpr uint32_t kRunsMtu = 1024;

// What is to be seen of one packet.
struct Expected {
  Opcode opcode;
  uint16_t msn;
  uint64_t address;
  uint32_t payload;
  uint32_t message_bytes;
  bool ack_request;
};

class RunsOfAnyWork : public ::testing::TestWithParam<uint64_t> {};

TEST_P(RunsOfAnyWork, LookLikePacketsThatWereSentOneByOne) {
  std::mt19937_64 random(GetParam());
  RulePair pair;
  Tap tap(pair.a);
  std::vector<Expected> expected;
  uint16_t msn = 0;
  for (int round = 0; round < 20; ++round) {
    const size_t count = 1 + random() % 24;
    for (size_t i = 0; i < count; ++i) {
      const uint64_t kind = random() % 10;
      const uint32_t bytes = kind == 0   ? 0
                             : kind == 1 ? 1 + static_cast<uint32_t>(random() % (3 * kRunsMtu))
                             : kind == 2 ? kRunsMtu
                                         : 1 + static_cast<uint32_t>(random() % 100);
      const auto at = static_cast<uint32_t>(random() % (512 * kRunsMtu));
      std::vector<Segment> pieces{{pair.from.address + at, bytes, pair.from.key}};
      if (kind == 3 && bytes > 1) {  // in two pieces
        pieces = {{pair.from.address + at, 1, pair.from.key},
                  {pair.from.address + at + 1, bytes - 1, pair.from.key}};
      }
      SendRequest* request = pair.post(pair.a, Operation::kWrite, msn, pieces);
      ASSERT_NE(request, nullptr);
      request->flags = random() % 4 == 0 ? kSignaled : 0;
      if (kind == 4) request->flags |= kFence;
      if (kind == 5) {
        request->flags |= kInline;
        std::memcpy(request->inline_data(), pair.data.data() + at, bytes);
      }
      request->remote_address = pair.to.address + at;
      request->remote_key = pair.to.key;
      const bool signaled = (request->flags & kSignaled) != 0;
      pair.ring(pair.a);
      const uint32_t packets = bytes == 0 ? 1 : (bytes + kRunsMtu - 1) / kRunsMtu;
      for (uint32_t part = 0; part < packets; ++part) {
        const bool first = part == 0;
        const bool last = part + 1 == packets;
        const Opcode opcode = first && last ? Opcode::kWriteOnly
                              : first       ? Opcode::kWriteFirst
                              : last        ? Opcode::kWriteLast
                                            : Opcode::kWriteMiddle;
        // MRC 3.1: where a completion waits, and at the end of what there is.
        const bool asks = last && (signaled || i + 1 == count);
        expected.push_back({opcode, msn, pair.to.address + at + part * kRunsMtu,
                            last ? bytes - part * kRunsMtu : kRunsMtu, bytes, asks});
      }
      ++msn;
    }
    ASSERT_TRUE(pair.run([&] { return pair.a.qp->send_queue().empty(); }, kSecond));
  }
  size_t seen = 0;
  for (const Packet& packet : tap.packets) {
    if (!is_write(packet.bth.opcode)) continue;
    ASSERT_LT(seen, expected.size());
    const Expected& wanted = expected[seen];
    EXPECT_EQ(packet.bth.psn, Psn(kFirstOfRuns + static_cast<uint32_t>(seen))) << "packet " << seen;
    EXPECT_EQ(packet.bth.opcode, wanted.opcode) << "packet " << seen;
    EXPECT_EQ(packet.bth.ack_request, wanted.ack_request) << "packet " << seen;
    EXPECT_EQ(packet.bth.pad_bytes, -wanted.payload & 3) << "packet " << seen;
    EXPECT_FALSE(packet.bth.solicited || packet.bth.retransmission) << "packet " << seen;
    EXPECT_EQ(packet.meth.msn, wanted.msn) << "packet " << seen;
    EXPECT_EQ(packet.meth.receive_msn, 0) << "packet " << seen;
    EXPECT_EQ(packet.reth.address, wanted.address) << "packet " << seen;
    EXPECT_EQ(packet.reth.key, pair.to.key) << "packet " << seen;
    EXPECT_EQ(packet.reth.message_bytes, wanted.message_bytes) << "packet " << seen;
    EXPECT_EQ(packet.payload.size(), wanted.payload) << "packet " << seen;
    ++seen;
  }
  EXPECT_EQ(seen, expected.size());
  for (const Completion& done : WirePair::poll(pair.a.sends))
    EXPECT_EQ(done.status, CompletionStatus::kSuccess);
}
INSTANTIATE_TEST_SUITE_P(Seeds, RunsOfAnyWork, ::testing::ValuesIn(seeds(20)));

// Small WRITEs from a, unsignaled, each to its own place.
void write_small(RulePair& pair, size_t count, uint32_t bytes = 64) {
  for (uint32_t i = 0; i < count; ++i) pair.write(i, bytes, i * kRunsMtu)->flags = 0;
}

std::vector<uint32_t> sent_psns(const Tap& tap) {
  std::vector<uint32_t> psns;
  for (const Packet& packet : tap.packets)
    if (is_write(packet.bth.opcode)) psns.push_back(packet.bth.psn.value());
  return psns;
}

TEST(Runs, EndBeforeTheWindowOfThePeerDoes) {
  PairOptions options = strict_options();
  options.tune = [](EngineConfig* config) { config->transport.window_packets = 64; };
  RulePair pair(options);
  Tap tap(pair.a);
  tap.drop = [](const Packet& packet) { return packet.bth.psn == Psn(kFirstOfRuns); };
  write_small(pair, 64);
  pair.run_for(kMillisecond);
  for (const uint32_t psn : sent_psns(tap)) EXPECT_LE(psn, kFirstOfRuns + 63);
  EXPECT_GE(sent_psns(tap).size(), 64u);
  tap.drop = nullptr;
  ASSERT_TRUE(pair.run([&] { return pair.a.qp->send_queue().empty(); }, kSecond));
}

// MRC 3.1, 5.1: the packet that closes the window asks for an answer, and none goes behind it.
TEST(Runs, EndBeforeTheCongestionWindowDoes) {
  PairOptions options = strict_options();
  options.tune = [](EngineConfig* config) {
    config->transport.congestion = CongestionAlgorithm::kNscc;
    config->transport.nscc = nscc_defaults(1'000'000'000, 50 * kMicrosecond, 1112, false);
  };
  RulePair pair(options);
  Tap tap(pair.a);
  Tap answers(pair.b);
  answers.drop = [](const Packet&) { return true; };
  write_small(pair, 64, 1000);
  pair.run_for(60 * kMicrosecond);
  const uint64_t window = pair.a.qp->peer()->controller.cwnd();
  const uint64_t sent = sent_psns(tap).size();
  EXPECT_EQ(sent, (window + nominal_size(1000) - 1) / nominal_size(1000));
  ASSERT_LT(sent, 64u);
  EXPECT_TRUE(tap.packets[sent - 1].bth.ack_request);
  EXPECT_EQ(pair.a.qp->peer()->controller.inflight(), sent * nominal_size(1000));
}

// What cannot be read fails in its turn: those before it arrive, those behind it do not leave.
TEST(Runs, LeaveARequestWithBadMemoryToItsTurn) {
  RulePair pair;
  Tap tap(pair.a);
  for (uint32_t i = 0; i < 20; ++i) {
    SendRequest* request = pair.write(i, 64, i * kRunsMtu);
    if (i == 11) request->segments()[0].key = MemoryKey{0x77777777};
  }
  ASSERT_TRUE(pair.run([&] { return pair.a.sends.pushed() == 20; }, kSecond));
  const std::vector<Completion> done = WirePair::poll(pair.a.sends);
  for (size_t i = 0; i < done.size(); ++i) {
    EXPECT_EQ(done[i].work_id, i);
    EXPECT_EQ(done[i].status, i < 11    ? CompletionStatus::kSuccess
                              : i == 11 ? CompletionStatus::kLocalProtectionError
                                        : CompletionStatus::kFlushed);
  }
  EXPECT_EQ(sent_psns(tap).size(), 11u);
  for (uint32_t i = 0; i < 11; ++i)
    EXPECT_EQ(std::memcmp(pair.target.data() + i * kRunsMtu, pair.data.data() + i * kRunsMtu, 64), 0) << i;
}

// Without buffers nothing is sent, and nothing is lost.
TEST(Runs, WaitForBuffers) {
  RulePair pair;
  for (auto& port : pair.a.ports) port->buffers = false;
  write_small(pair, 40);
  pair.run_for(100 * kMicrosecond);
  EXPECT_EQ(pair.a.engine->counters().data_packets_sent, 0u);
  EXPECT_GT(pair.a.engine->counters().tx_no_buffer, 0u);
  for (auto& port : pair.a.ports) port->buffers = true;
  ASSERT_TRUE(pair.run([&] { return pair.a.qp->send_queue().empty(); }, kSecond));
  EXPECT_EQ(pair.a.engine->counters().data_packets_sent, 40u);
}

// All counters of a run are those of its packets.
TEST(Runs, AreCountedByThePacket) {
  RulePair pair;
  write_small(pair, 40, 100);
  ASSERT_TRUE(pair.run([&] { return pair.a.qp->send_queue().empty(); }, kSecond));
  const Counters& counters = pair.a.engine->counters();
  EXPECT_EQ(counters.data_packets_sent, 40u);
  EXPECT_EQ(counters.payload_bytes_sent, 4000u);
  EXPECT_EQ(counters.messages_completed, 40u);
  EXPECT_EQ(pair.b.engine->counters().requests_received, 40u);
  uint64_t by_path = 0;
  for (size_t i = 0; i < pair.a.qp->paths().size(); ++i)
    by_path += pair.a.qp->paths().at(PathId(static_cast<uint16_t>(i))).sent;
  EXPECT_EQ(by_path, 40u);
}

}  // namespace
}  // namespace mrc::test
