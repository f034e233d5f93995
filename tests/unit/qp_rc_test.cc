// SPDX-License-Identifier: BSD-2-Clause
// Plain RoCEv2 RC between two engines: every operation, what each looks like on the wire, errors and states.
#include <gtest/gtest.h>

#include <string>

#include "libmrc/wire/bytes.h"
#include "tests/unit/golden/vectors.h"
#include "tests/unit/qp_rc_pair.h"

namespace mrc::test {
namespace {

TEST(Rc, SendScattersIntoTheReceive) {
  WirePair pair(rc_options());
  auto data = pattern(5000, 3);
  std::vector<uint8_t> first(1500), second(4000);
  pair.post_receive(pair.b, 77,
                    {pair.segment(pair.b, first.data(), 1500, kLocalWrite),
                     pair.segment(pair.b, second.data(), 4000, kLocalWrite)});
  SendRequest* send = pair.post(pair.a, Operation::kSendImm, 1, {pair.segment(pair.a, data.data(), 5000, 0)});
  send->immediate = 0xABCD;
  send->flags |= kSolicited;
  pair.ring(pair.a);
  EXPECT_EQ(status_of_one(pair), CompletionStatus::kSuccess);
  const auto received = pair.poll(pair.b.receives);
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].work_id, 77u);
  EXPECT_EQ(received[0].byte_count, 5000u);
  EXPECT_EQ(received[0].immediate, 0xABCDu);
  EXPECT_EQ(received[0].kind, CompletionKind::kReceive);
  EXPECT_TRUE(received[0].solicited);
  EXPECT_EQ(0, std::memcmp(first.data(), data.data(), 1500));
  EXPECT_EQ(0, std::memcmp(second.data(), data.data() + 1500, 3500));
  EXPECT_EQ(second[3500], 0);
}

TEST(Rc, SendWithInvalidateTakesTheKeyAway) {
  WirePair pair(rc_options());
  uint64_t word = 0;
  MemoryTable& memory = pair.b.engine->memory();
  const Segment region = pair.segment(pair.b, &word, 8, kLocalWrite | kWindowBind);
  const MemoryKey window = memory.add_window(WirePair::kDomain, MemoryKind::kKeyedWindow);
  const Accessor b{WirePair::kDomain, pair.b.qp->qpn()};
  ASSERT_TRUE(memory.bind({window, region.key, region.address, 8, kRemoteWrite, false}, b));
  ASSERT_NE(memory.translate(window, b, region.address, 8, kRemoteWrite), nullptr);
  pair.post_receive(pair.b, 1, {});
  pair.post(pair.a, Operation::kSendInvalidate, 1, {})->immediate = static_cast<uint32_t>(window);
  pair.ring(pair.a);
  EXPECT_EQ(status_of_one(pair), CompletionStatus::kSuccess);
  const auto received = pair.poll(pair.b.receives);
  EXPECT_TRUE(received[0].invalidated);
  EXPECT_EQ(received[0].immediate, static_cast<uint32_t>(window));
  EXPECT_EQ(memory.translate(window, b, region.address, 8, kRemoteWrite), nullptr);
}

TEST(Rc, WriteWithImmediate) {
  WirePair pair(rc_options());
  auto data = pattern(10'000, 9);
  std::vector<uint8_t> remote(10'000);
  pair.post_receive(pair.b, 4, {});
  aim(pair.post(pair.a, Operation::kWriteImm, 1, {pair.segment(pair.a, data.data(), 10'000, 0)}),
      pair.segment(pair.b, remote.data(), 10'000, kRemoteWrite))
      ->immediate = 7;
  pair.ring(pair.a);
  EXPECT_EQ(status_of_one(pair), CompletionStatus::kSuccess);
  EXPECT_EQ(remote, data);
  const auto received = pair.poll(pair.b.receives);
  EXPECT_EQ(received[0].kind, CompletionKind::kReceiveRdmaImmediate);
  EXPECT_EQ(received[0].byte_count, 10'000u);
  EXPECT_EQ(received[0].immediate, 7u);
}

TEST(Rc, CompareAndSwap) {
  WirePair pair(rc_options());
  alignas(8) uint64_t word = 42;
  uint64_t before[2] = {};
  const Segment target = pair.segment(pair.b, &word, 8, kRemoteAtomic);
  for (uint64_t i = 0; i < 2; ++i) {
    SendRequest* swap =
        pair.post(pair.a, Operation::kCompareSwap, i, {pair.segment(pair.a, &before[i], 8, kLocalWrite)});
    aim(swap, target);
    swap->compare_add = 41 + i;
    swap->swap = 99 + i;
    pair.ring(pair.a);
  }
  ASSERT_TRUE(pair.run([&] { return pair.a.sends.pushed() == 2; }));
  EXPECT_EQ(before[0], 42u);
  EXPECT_EQ(before[1], 42u);
  EXPECT_EQ(word, 100u);
}

// A peer that acknowledges only what asks for it must show signs of life within a long message.
TEST(Rc, LongMessagesAskForAcknowledgementsOnTheWay) {
  WirePair pair(rc_options());
  Wire sent(pair.a);
  std::vector<uint8_t> data(100 * 1024), remote(data.size());
  const auto bytes = static_cast<uint32_t>(data.size());
  aim(pair.post(pair.a, Operation::kWrite, 1, {pair.segment(pair.a, data.data(), bytes, 0)}),
      pair.segment(pair.b, remote.data(), bytes, kRemoteWrite));
  pair.ring(pair.a);
  EXPECT_EQ(status_of_one(pair), CompletionStatus::kSuccess);
  ASSERT_EQ(sent.packets.size(), 100u);
  int unasked = 0, asked = 0;
  for (const Packet& packet : sent.packets) {
    unasked = packet.bth.ack_request ? 0 : unasked + 1;
    asked += packet.bth.ack_request ? 1 : 0;
    EXPECT_LT(unasked, 16);
  }
  EXPECT_EQ(asked, 7);
}

// IBTA 9.2, 9.7.3: one flow, a PSN per packet, RETH only in the first, MigReq, the default partition key.
TEST(Rc, WriteOnTheWire) {
  PairOptions options = rc_options();
  options.planes = 4;
  WirePair pair(options);
  Wire sent(pair.a), answered(pair.b);
  std::vector<uint8_t> data(2500), remote(2500);
  const Segment target = pair.segment(pair.b, remote.data(), 2500, kRemoteWrite);
  aim(pair.post(pair.a, Operation::kWrite, 1, {pair.segment(pair.a, data.data(), 2500, 0)}), target);
  pair.ring(pair.a);
  EXPECT_EQ(status_of_one(pair), CompletionStatus::kSuccess);
  ASSERT_EQ(sent.packets.size(), 3u);
  const Opcode opcodes[3] = {Opcode::kRcWriteFirst, Opcode::kRcWriteMiddle, Opcode::kRcWriteLast};
  for (int i = 0; i < 3; ++i) {
    const Packet& packet = sent.packets[i];
    EXPECT_EQ(packet.bth.opcode, opcodes[i]);
    EXPECT_EQ(packet.bth.psn, Psn(5 + i));
    EXPECT_EQ(packet.bth.ack_request, i == 2);
    EXPECT_TRUE(packet.bth.migrated);
    EXPECT_EQ(packet.bth.partition_key, 0xFFFF);
    EXPECT_EQ(packet.entropy, sent.packets[0].entropy);
  }
  EXPECT_EQ(sent.packets[0].reth.address, target.address);
  EXPECT_EQ(sent.packets[0].reth.message_bytes, 2500u);
  EXPECT_EQ(sent.ports.size(), 1u) << "one plane";
  ASSERT_EQ(answered.packets.size(), 1u);
  EXPECT_EQ(answered.packets[0].bth.opcode, Opcode::kRcAcknowledge);
  EXPECT_EQ(answered.packets[0].bth.psn, Psn(7));
  EXPECT_EQ(answered.packets[0].aeth.syndrome, 0x1F) << "no limit of credits";
  EXPECT_EQ(answered.packets[0].aeth.msn, 1u);
}

// IBTA 9.7.3: a READ takes as many PSNs as its response has packets.
TEST(Rc, ReadOnTheWire) {
  WirePair pair(rc_options());
  Wire sent(pair.a), answered(pair.b);
  auto remote = pattern(2500, 1);
  std::vector<uint8_t> local(2500);
  const Segment target = pair.segment(pair.b, remote.data(), 2500, kRemoteRead | kRemoteWrite);
  aim(pair.post(pair.a, Operation::kRead, 1, {pair.segment(pair.a, local.data(), 2500, kLocalWrite)}),
      target);
  pair.ring(pair.a);
  aim(pair.post(pair.a, Operation::kWrite, 2, {}), target);
  pair.ring(pair.a);
  ASSERT_TRUE(pair.run([&] { return pair.a.sends.pushed() == 2; }));
  EXPECT_EQ(local, remote);
  ASSERT_EQ(sent.packets.size(), 2u);
  EXPECT_EQ(sent.packets[0].bth.psn, Psn(5));
  EXPECT_EQ(sent.packets[1].bth.psn, Psn(8));
  ASSERT_EQ(answered.packets.size(), 4u);
  const Opcode opcodes[4] = {Opcode::kRcReadResponseFirst, Opcode::kRcReadResponseMiddle,
                             Opcode::kRcReadResponseLast, Opcode::kRcAcknowledge};
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(answered.packets[i].bth.opcode, opcodes[i]);
    EXPECT_EQ(answered.packets[i].bth.psn, Psn(5 + i));
  }
}

TEST(Rc, AcknowledgementsAreCoalesced) {
  WirePair pair(rc_options());
  std::vector<uint8_t> data(1 << 20), remote(1 << 20);
  aim(pair.post(pair.a, Operation::kWrite, 1, {pair.segment(pair.a, data.data(), 1 << 20, 0)}),
      pair.segment(pair.b, remote.data(), 1 << 20, kRemoteWrite));
  pair.ring(pair.a);
  EXPECT_EQ(status_of_one(pair), CompletionStatus::kSuccess);
  EXPECT_EQ(pair.a.engine->counters().data_packets_sent, 1024u);
  EXPECT_EQ(pair.a.engine->counters().retransmits(), 0u);
  EXPECT_LE(pair.b.engine->counters().acks_sent, 40u);
}

TEST(Rc, SharedReceives) {
  PairOptions options = rc_options();
  options.shared_entries = 16;
  WirePair pair(options);
  std::vector<std::vector<uint8_t>> into(10, std::vector<uint8_t>(3000));
  for (uint64_t i = 0; i < 10; ++i)
    pair.post_receive(pair.b, i, {pair.segment(pair.b, into[i].data(), 3000, kLocalWrite)});
  auto data = pattern(3000, 1);
  const Segment from = pair.segment(pair.a, data.data(), 3000, 0);
  for (uint64_t i = 0; i < 10; ++i) {
    pair.post(pair.a, Operation::kSend, i, {from});
    pair.ring(pair.a);
  }
  ASSERT_TRUE(pair.run([&] { return pair.b.receives.pushed() == 10; }));
  for (const auto& each : into) EXPECT_EQ(each, data);
}

TEST(Rc, AReceiveThatIsTooShort) {
  WirePair pair(rc_options());
  auto data = pattern(2000, 1);
  std::vector<uint8_t> into(500, 0xEE);
  pair.post_receive(pair.b, 3, {pair.segment(pair.b, into.data(), 500, kLocalWrite)});
  pair.post_receive(pair.b, 4, {});
  pair.post(pair.a, Operation::kSend, 1, {pair.segment(pair.a, data.data(), 2000, 0)});
  pair.ring(pair.a);
  EXPECT_EQ(status_of_one(pair), CompletionStatus::kRemoteInvalidRequest);
  const auto received = pair.poll(pair.b.receives);
  ASSERT_EQ(received.size(), 2u);
  EXPECT_EQ(received[0].status, CompletionStatus::kLocalLengthError);
  EXPECT_EQ(received[0].work_id, 3u);
  EXPECT_EQ(received[1].status, CompletionStatus::kFlushed);
  EXPECT_EQ(into, std::vector<uint8_t>(500, 0xEE));
}

// The NAK of the third request waits until what the second one reads has been sent.
TEST(Rc, ErrorsAreReportedInOrder) {
  WirePair pair(rc_options());
  std::vector<uint8_t> remote(30'000, 0x11), back(30'000);
  auto data = pattern(30'000, 0);
  const Segment target = pair.segment(pair.b, remote.data(), 30'000, kRemoteWrite | kRemoteRead);
  const Segment from = pair.segment(pair.a, data.data(), 30'000, 0);
  aim(pair.post(pair.a, Operation::kWrite, 0, {from}), target);
  pair.ring(pair.a);
  aim(pair.post(pair.a, Operation::kRead, 1, {pair.segment(pair.a, back.data(), 30'000, kLocalWrite)}),
      target);
  pair.ring(pair.a);
  aim(pair.post(pair.a, Operation::kWrite, 2, {from}), target)->remote_key = MemoryKey{0x1234567};
  pair.ring(pair.a);
  aim(pair.post(pair.a, Operation::kWrite, 3, {from}), target);
  pair.ring(pair.a);
  ASSERT_TRUE(pair.run([&] { return pair.a.sends.pushed() == 4; }));
  const auto done = pair.poll(pair.a.sends);
  EXPECT_EQ(done[0].status, CompletionStatus::kSuccess);
  EXPECT_EQ(done[1].status, CompletionStatus::kSuccess);
  EXPECT_EQ(done[2].status, CompletionStatus::kRemoteAccessError);
  EXPECT_EQ(done[3].status, CompletionStatus::kFlushed);
  EXPECT_EQ(back, data);
  EXPECT_EQ(pair.a.qp->state(), QueuePairState::kError);
  EXPECT_EQ(pair.b.qp->state(), QueuePairState::kError);
  EXPECT_EQ(pair.b.seen.events[QueuePairEvent::kAccessError], 1);
}

TEST(Rc, LocalErrorsWaitForTheirTurn) {
  WirePair pair(rc_options());
  std::vector<uint8_t> data(3000), remote(3000);
  const Segment target = pair.segment(pair.b, remote.data(), 3000, kRemoteWrite);
  aim(pair.post(pair.a, Operation::kWrite, 0, {pair.segment(pair.a, data.data(), 3000, 0)}), target);
  pair.ring(pair.a);
  aim(pair.post(pair.a, Operation::kWrite, 1, {{1, 1, MemoryKey{5}}}), target);
  pair.ring(pair.a);
  ASSERT_TRUE(pair.run([&] { return pair.a.sends.pushed() == 2; }));
  const auto done = pair.poll(pair.a.sends);
  EXPECT_EQ(done[0].status, CompletionStatus::kSuccess);
  EXPECT_EQ(done[1].status, CompletionStatus::kLocalProtectionError);
}

TEST(Rc, UnsignalledRequestsAreReleased) {
  WirePair pair(rc_options());
  std::vector<uint8_t> data(100), remote(100);
  const Segment target = pair.segment(pair.b, remote.data(), 100, kRemoteWrite);
  const Segment from = pair.segment(pair.a, data.data(), 100, 0);
  int posted = 0;
  ASSERT_TRUE(pair.run([&] {
    while (posted < 1000) {
      SendRequest* write = pair.post(pair.a, Operation::kWrite, 1, {from});
      if (write == nullptr) break;
      aim(write, target)->flags = 0;
      pair.ring(pair.a);
      ++posted;
    }
    return posted == 1000 && pair.a.qp->send_queue().empty();
  }));
  EXPECT_EQ(pair.a.engine->counters().retransmits(), 0u);
  EXPECT_TRUE(pair.a.sends.empty());
}

TEST(Rc, FenceWaitsForReads) {
  WirePair pair(rc_options());
  alignas(8) uint64_t remote = 5;
  uint64_t local = 0;
  const Segment target = pair.segment(pair.b, &remote, 8, kRemoteRead | kRemoteWrite);
  const Segment mine = pair.segment(pair.a, &local, 8, kLocalWrite);
  aim(pair.post(pair.a, Operation::kRead, 1, {mine}), target);
  pair.ring(pair.a);
  aim(pair.post(pair.a, Operation::kWrite, 2, {mine}), target)->flags |= kFence;
  pair.ring(pair.a);
  ASSERT_TRUE(pair.run([&] { return pair.a.sends.pushed() == 2; }));
  EXPECT_EQ(remote, 5u);
}

TEST(Rc, DrainFinishesWhatWasStartedOnly) {
  WirePair pair(rc_options());
  std::vector<uint8_t> data(100'000), remote(100'000);
  const Segment from = pair.segment(pair.a, data.data(), 100'000, 0);
  const Segment target = pair.segment(pair.b, remote.data(), 100'000, kRemoteWrite);
  auto write = [&](uint64_t id) {
    aim(pair.post(pair.a, Operation::kWrite, id, {from}), target);
    pair.ring(pair.a);
  };
  write(1);
  pair.run_for(2 * kMicrosecond);
  QueuePairAttributes drain;
  drain.state = QueuePairState::kDraining;
  ASSERT_TRUE(pair.a.engine->modify(*pair.a.qp, drain, 2 * kMicrosecond));
  write(2);
  ASSERT_TRUE(pair.run([&] { return pair.a.seen.events[QueuePairEvent::kDrained] == 1; }));
  EXPECT_EQ(pair.a.sends.pushed(), 1u);
  QueuePairAttributes back;
  back.state = QueuePairState::kReadyToSend;
  ASSERT_TRUE(pair.a.engine->modify(*pair.a.qp, back, kSecond));
  ASSERT_TRUE(pair.run([&] { return pair.a.sends.pushed() == 2; }));
}

// A queue pair that has been used is as good as new after RESET, whatever it spoke before.
TEST(Rc, ResetAndAgainWithAnotherTransport) {
  PairOptions options = rc_options();
  WirePair pair(options);
  for (const Transport next : {Transport::kMrc, Transport::kRc, Transport::kMrc}) {
    pair.post_receive(pair.b, 1, {});
    pair.post(pair.a, Operation::kSend, 1, {});
    pair.ring(pair.a);
    ASSERT_EQ(status_of_one(pair), CompletionStatus::kSuccess);
    QueuePairAttributes reset;
    reset.state = QueuePairState::kReset;
    for (End* end : {&pair.a, &pair.b}) ASSERT_TRUE(end->engine->modify(*end->qp, reset, 0));
    options.transport = next;
    pair.reconnect(options);
    EXPECT_EQ(pair.a.qp->transport(), next);
  }
}

TEST(Rc, OneDoesNotUnderstandTheOther) {
  for (const bool rc : {true, false}) {
    PairOptions options = rc_options();
    options.retry_linear = 1;
    WirePair pair(options);
    QueuePairAttributes reset;
    reset.state = QueuePairState::kReset;
    End& other = rc ? pair.b : pair.a;
    ASSERT_TRUE(other.engine->modify(*other.qp, reset, 0));
    options.transport = Transport::kMrcStrict;
    pair.reconnect(options, &other);
    aim(pair.post(pair.a, Operation::kWrite, 1, {}), {});
    pair.ring(pair.a);
    EXPECT_EQ(status_of_one(pair), CompletionStatus::kRetryExceeded);
    EXPECT_GT(pair.b.engine->counters().drops_unsupported, 0u);
  }
}

// Many queue pairs use all planes and many source ports.
TEST(Rc, QueuePairsSpread) {
  std::set<PipePort*> ports;
  std::set<Entropy> entropies;
  for (uint32_t first_qpn = 16; first_qpn < 80; ++first_qpn) {
    PairOptions options = rc_options();
    options.planes = 4;
    options.first_qpn = first_qpn;
    WirePair pair(options);
    Wire sent(pair.a);
    aim(pair.post(pair.a, Operation::kWrite, 1, {}), {});
    pair.ring(pair.a);
    ASSERT_EQ(status_of_one(pair), CompletionStatus::kSuccess);
    for (size_t i = 0; i < pair.a.ports.size(); ++i)
      if (sent.ports.count(pair.a.ports[i].get())) ports.insert(reinterpret_cast<PipePort*>(i));
    entropies.insert(sent.packets[0].entropy);
  }
  EXPECT_EQ(ports.size(), 4u);
  EXPECT_GT(entropies.size(), 50u);
}

// ----------------------------------------------------------------------------- against bytes of others

std::vector<uint8_t> golden_bytes(const char* name) {
  for (const golden::Frame& frame : golden::kFrames) {
    if (std::strcmp(frame.name, name) != 0) continue;
    std::vector<uint8_t> bytes;
    for (const char* at = frame.hex; *at != '\0'; at += 2)
      bytes.push_back(static_cast<uint8_t>(std::stoul(std::string(at, 2), nullptr, 16)));
    return bytes;
  }
  ADD_FAILURE() << "no golden frame " << name;
  return {};
}

// A SEND Only computed by make_vectors.py, in the form in which soft-RoCE sends it, and the ACK it must get.
TEST(Rc, AnswersForeignBytes) {
  PipePort port, other;
  port.peer = &other;
  Port* ports[] = {&port};
  Seen seen;
  EngineConfig engine_config;
  engine_config.first_qpn = Qpn(0x15);
  engine_config.qpn_count = 1;
  Engine engine(engine_config, ports, &seen);
  CompletionQueue sends(8), receives(8);
  QueuePairConfig config;
  config.domain = WirePair::kDomain;
  config.send_completions = &sends;
  config.receive_completions = &receives;
  config.receive_entries = 4;
  config.transport = Transport::kRc;
  QueuePair* qp = engine.create(config);
  QueuePairAttributes attributes;
  attributes.state = QueuePairState::kInit;
  ASSERT_TRUE(engine.modify(*qp, attributes, 0));
  attributes.state = QueuePairState::kReadyToReceive;
  attributes.source = IpAddress::v4(10, 0, 254, 3);
  attributes.destination = IpAddress::v4(10, 0, 1, 2);
  attributes.destination_qpn = Qpn(0x22);
  attributes.mtu = 1024;
  attributes.receive_psn = Psn(0xABC004);
  ASSERT_TRUE(engine.modify(*qp, attributes, 0));
  uint8_t into[16] = {};
  const auto address = reinterpret_cast<uint64_t>(into);
  ReceiveRequest* receive = qp->receive_queue().reserve();
  *receive = {.work_id = 1, .segment_count = 1, .bytes = 16};
  receive->segments()[0] = {address, 16,
                            engine.memory().add(WirePair::kDomain, into, 16, address, kLocalWrite)};
  qp->receive_queue().publish(1);

  port.arrived.emplace(0, golden_bytes("rc_send_only_ipv4"));
  engine.progress(kMicrosecond);
  const auto done = WirePair::poll(receives);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].byte_count, 10u);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(into[i], 44 + 7 * i);
  ASSERT_EQ(other.arrived.size(), 1u);
  const PipePort::Frame& frame = other.arrived.begin()->second;
  // Opcode, MigReq, partition key, QPN 0x22, PSN as asked; AETH: no limit of credits, one message done.
  const std::vector<uint8_t> transport = {0x11, 0x40, 0xFF, 0xFF, 0x00, 0x00, 0x00, 0x22,
                                          0x00, 0xAB, 0xC0, 0x04, 0x1F, 0x00, 0x00, 0x01};
  ASSERT_EQ(frame.size(), 14u + 20 + 8 + 16 + 4);
  EXPECT_EQ(std::vector<uint8_t>(frame.begin() + 42, frame.end() - 4), transport);
  Packet packet;
  ASSERT_EQ(decode(frame, &packet), DecodeError::kNone);
  EXPECT_TRUE(icrc_matches(packet));
  EXPECT_GE(load_be<uint16_t>(frame.data() + 34), 0xC000) << "a dynamic UDP source port";

  // The same once more: acknowledged again, not delivered again.
  port.arrived.emplace(0, golden_bytes("rc_send_only_ipv4"));
  engine.progress(2 * kMicrosecond);
  EXPECT_EQ(other.arrived.size(), 2u);
  EXPECT_TRUE(receives.empty());
}

}  // namespace
}  // namespace mrc::test
