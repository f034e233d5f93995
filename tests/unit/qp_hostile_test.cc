// SPDX-License-Identifier: BSD-2-Clause
// Packets that no honest peer sends: they are counted and dropped, or end the one connection they came by.
#include <gtest/gtest.h>

#include <cstring>

#include "libmrc/wire/ethernet.h"
#include "libmrc/wire/icrc.h"
#include "tests/unit/qp_wire_tap.h"

namespace mrc::test {
namespace {

// The PSN of b's first packet to a.
constexpr uint32_t kFirstFromB = 0xFFFFF8;

void put_icrc(PipePort::Frame* frame) {
  const size_t covered = frame->size() - kEthernetBytes - kIcrcBytes;
  const uint32_t icrc = ~icrc_headers(frame->data() + kEthernetBytes, covered);
  for (size_t i = 0; i < kIcrcBytes; ++i)
    (*frame)[frame->size() - kIcrcBytes + i] = static_cast<uint8_t>(icrc >> (8 * i));
}

// A READ of ours by its headers, and an answer to it that came from b.
void answer_read(WirePair& pair, uint16_t msn, uint32_t bytes, uint32_t psn = kFirstFromB) {
  Bth bth;
  bth.opcode = Opcode::kReadResponseOnly;
  bth.destination = pair.a.qp->qpn();
  bth.psn = Psn(psn);
  Craft craft;
  craft.payload.assign(bytes, 0xEE);
  inject(pair, pair.a, craft, bth, Meth{0, msn}, Reth{0, MemoryKey{}, bytes});
}

SendRequest* post_read(WirePair& pair, const Segment& from, const Segment& to) {
  SendRequest* read = pair.post(pair.a, Operation::kRead, 1, {to});
  read->remote_address = from.address;
  read->remote_key = from.key;
  pair.ring(pair.a);
  return read;
}

struct ReadPair : WirePair {
  explicit ReadPair(const PairOptions& options = {}) : WirePair(options) {
    remote = segment(b, there, sizeof there, kRemoteRead);
    local = segment(a, here, sizeof here, kLocalWrite);
  }
  uint8_t there[64] = {};
  uint8_t here[64] = {};
  Segment remote;
  Segment local;
};

TEST(Hostile, AnEndpointRequestFromAnAddressThatStandsForIpv4) {
  WirePair pair;
  NetworkHeader network;
  network.source.bytes[15] = 1;
  network.destination.bytes[15] = 2;
  PipePort::Frame frame(kFrameBytesMax);
  FrameWriter writer(frame.data(), network, Entropy{0xC003}, 0, Ecn::kNotCapable, Bth::kBytes + Erth::kBytes);
  Bth bth;
  bth.opcode = Opcode::kEndpointRequest;
  bth.destination = kEndpointQpn;
  writer.add(bth);
  Erth erth;
  erth.operation = EndpointOperation::kEvProbe;
  writer.add(erth);
  writer.end_headers();
  frame.resize(writer.finish(0));
  const IpAddress mapped = IpAddress::v4(10, 0, 0, 1);
  std::memcpy(frame.data() + kEthernetBytes + 8, mapped.bytes.data(), 16);
  put_icrc(&frame);
  pair.b.ports[0]->arrived.emplace(0, frame);
  pair.run_for(3 * kMicrosecond);
  const Counters& counters = pair.b.engine->counters();
  EXPECT_EQ(counters.drops_undecodable[static_cast<size_t>(DecodeError::kBadIpHeader)], 1u);
  EXPECT_EQ(counters.endpoint_requests_received, 0u);
}

// A request of XRC that names a queue that is not there. It ends the connection, as IBTA has it, but only
// with a PSN that is expected: who has to guess does not.
TEST(Hostile, AStrangerNamesAQueueThatIsNotThere) {
  for (const Transport transport : {Transport::kMrc, Transport::kRc}) {
    const XrcDomain domain;
    PairOptions options;
    options.transport = transport;
    options.served = &domain;
    WirePair pair(options);
    pair.run_for(kMillisecond);
    const auto name_a_queue = [&](uint32_t psn) {
      const bool mrc = transport == Transport::kMrc;
      Bth bth;
      bth.opcode = to_xrc(mrc ? Opcode::kWriteOnly : Opcode::kRcWriteOnly);
      bth.destination = pair.b.qp->qpn();
      bth.psn = Psn(psn);
      Craft craft;
      craft.payload.assign(64, 0xEE);
      const Reth reth{0, MemoryKey{}, 64};
      if (mrc)
        inject(pair, pair.b, craft, bth, Xeth{77}, Meth{}, reth);
      else
        inject(pair, pair.b, craft, bth, Xeth{77}, reth);
      pair.run_for(100 * kMicrosecond);
    };
    for (const uint32_t psn : {4u, 0u, 0x100000u, 0x800000u}) name_a_queue(psn);
    EXPECT_EQ(pair.b.engine->counters().requests_refused, 4u);
    EXPECT_NE(pair.b.qp->state(), QueuePairState::kError);
    name_a_queue(5);
    EXPECT_EQ(pair.b.qp->state(), QueuePairState::kError);
  }
}

TEST(Hostile, AConnectionHasBothEndsInOneFamily) {
  WirePair pair;
  QueuePairAttributes reset;
  reset.state = QueuePairState::kReset;
  ASSERT_TRUE(pair.a.engine->modify(*pair.a.qp, reset, 0));
  QueuePairAttributes init;
  init.state = QueuePairState::kInit;
  ASSERT_TRUE(pair.a.engine->modify(*pair.a.qp, init, 0));
  QueuePairAttributes receive;
  receive.state = QueuePairState::kReadyToReceive;
  receive.source = IpAddress::v4(10, 0, 0, 1);
  receive.destination = IpAddress{{0xFD, 1}};
  receive.destination_qpn = Qpn{17};
  receive.mtu = 1024;
  receive.receive_psn = Psn{1};
  EXPECT_FALSE(pair.a.engine->modify(*pair.a.qp, receive, 0));
}

// It has its PSN and its place in the table, but no port had room for it yet.
TEST(Hostile, AnAnswerToAReadThatHasNotLeft) {
  ReadPair pair;
  pair.run_for(kMillisecond);  // both know what the other speaks
  for (auto& port : pair.a.ports) port->linked = false;
  post_read(pair, pair.remote, pair.local);
  pair.run_for(5 * kMicrosecond);
  EXPECT_TRUE(pair.a.qp->mrc()->requester().sent().outstanding() == 0);
  answer_read(pair, 0, sizeof pair.here);
  pair.run_for(5 * kMicrosecond);
  EXPECT_EQ(pair.a.qp->mrc()->requester().sent().outstanding(), 0u);
  EXPECT_EQ(pair.here[0], 0) << "nothing was asked for";
  EXPECT_EQ(pair.a.qp->state(), QueuePairState::kError);
  const auto ended = pair.poll(pair.a.sends);
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].status, CompletionStatus::kFlushed);
}

TEST(Hostile, AnAnswerBeforeAnythingCouldBeAsked) {
  PairOptions options;
  options.b_sends = false;
  ReadPair pair(options);
  Bth bth;
  bth.opcode = Opcode::kReadResponseOnly;
  bth.destination = pair.b.qp->qpn();
  bth.psn = Psn(5);
  Craft craft;
  craft.payload.assign(64, 0xEE);
  inject(pair, pair.b, craft, bth, Meth{}, Reth{0, MemoryKey{}, 64});
  pair.run_for(5 * kMicrosecond);
  EXPECT_EQ(pair.b.engine->counters().naks_sent, 1u);
  EXPECT_EQ(pair.b.qp->state(), QueuePairState::kError);
}

// The queue pair is used anew, perhaps with somebody else. The old READ's buffer is nobody's business.
TEST(Hostile, AnAnswerToAReadOfAnEarlierConnection) {
  PairOptions options;
  ReadPair pair(options);
  Tap tap(pair.b);
  tap.drop = [](const Packet& packet) { return is_read_response(packet.bth.opcode); };
  post_read(pair, pair.remote, pair.local);
  pair.run_for(kMillisecond);
  QueuePairAttributes reset;
  reset.state = QueuePairState::kReset;
  ASSERT_TRUE(pair.a.engine->modify(*pair.a.qp, reset, pair.now()));
  for (const bool only_receives : {true, false}) {
    QueuePairAttributes init;
    init.state = QueuePairState::kInit;
    ASSERT_TRUE(pair.a.engine->modify(*pair.a.qp, init, pair.now()));
    QueuePairAttributes receive;
    receive.state = QueuePairState::kReadyToReceive;
    receive.source = pair.address_of(pair.a);
    receive.destination = pair.address_of(pair.b);
    receive.destination_qpn = pair.b.qp->qpn();
    receive.mtu = 1024;
    receive.receive_psn = Psn(kFirstFromB);
    ASSERT_TRUE(pair.a.engine->modify(*pair.a.qp, receive, pair.now()));
    if (!only_receives) {
      QueuePairAttributes send;
      send.state = QueuePairState::kReadyToSend;
      send.send_psn = Psn(5);
      ASSERT_TRUE(pair.a.engine->modify(*pair.a.qp, send, pair.now()));
    }
    answer_read(pair, 0, sizeof pair.here);
    pair.run_for(5 * kMicrosecond);
    EXPECT_EQ(pair.here[0], 0);
    EXPECT_EQ(pair.a.qp->state(), QueuePairState::kError);
    ASSERT_TRUE(pair.a.engine->modify(*pair.a.qp, reset, pair.now()));
  }
}

// ------------------------------------------------------------------------------- more than its share

// A question of 16 bytes must not bring a megabyte every time it is heard.

// Somebody else's packet has taken the PSN of the READ, so the peer acknowledges it, however often it comes,
// and never answers.
TEST(Hostile, WhoAcknowledgesAReadAndNeverAnswers) {
  ReadPair pair;
  pair.run_for(kMillisecond);
  const Segment writable = pair.segment(pair.b, pair.there, sizeof pair.there, kRemoteWrite);
  Bth bth;
  bth.opcode = Opcode::kWriteOnly;
  bth.destination = pair.b.qp->qpn();
  bth.psn = Psn(5);
  Craft craft;
  craft.payload.assign(8, 0xEE);
  inject(pair, pair.b, craft, bth, Meth{}, Reth{writable.address, writable.key, 8});
  pair.run_for(5 * kMicrosecond);
  ASSERT_EQ(pair.there[0], 0xEE);
  post_read(pair, pair.remote, pair.local);
  pair.run_for(500 * kMillisecond);
  EXPECT_EQ(pair.a.qp->state(), QueuePairState::kReadyToSend) << "the peer is alive and may need time";
  pair.run_for(kSecond);
  EXPECT_EQ(pair.a.qp->state(), QueuePairState::kError);
  const auto ended = pair.poll(pair.a.sends);
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].status, CompletionStatus::kRetryExceeded);
  EXPECT_LT(pair.a.engine->counters().retransmits_ack_lost, 4000u);
}

// b has to answer but may not send yet, and a does not tell its PSN any more, because somebody has written as
// b. The two would ask and answer for ever, as fast as they can.
TEST(Hostile, WhoIsNotToldThePsnAsksLessAndLess) {
  PairOptions options;
  options.b_sends = false;
  options.timeout = 10 * kMillisecond;
  ReadPair pair(options);
  Bth bth;
  bth.opcode = Opcode::kWriteOnly;
  bth.destination = pair.a.qp->qpn();
  bth.psn = Psn(kFirstFromB);
  inject(pair, pair.a, {}, bth, Meth{}, Reth{});
  pair.run_for(kMillisecond);
  ASSERT_TRUE(pair.a.qp->mrc()->responder().has_received());
  Tap tap(pair.b);
  post_read(pair, pair.remote, pair.local);
  pair.run_for(100 * kMillisecond);
  EXPECT_GT(tap.count(Opcode::kEndpointRequest), 3u);
  EXPECT_LT(tap.count(Opcode::kEndpointRequest), 50u);
  pair.set_step(100 * kMicrosecond);
  EXPECT_TRUE(pair.run([&] { return !pair.a.sends.empty(); }, 5 * kSecond));
  EXPECT_EQ(WirePair::poll(pair.a.sends).at(0).status, CompletionStatus::kRetryExceeded);
}

TEST(Hostile, ADuplicateReadOfPlainRcIsNotAnsweredEveryTime) {
  PairOptions options;
  options.transport = Transport::kRc;
  WirePair pair(options);
  std::vector<uint8_t> there(64 * 1024), here(64 * 1024);
  const Segment remote = pair.segment(pair.b, there.data(), 64 * 1024, kRemoteRead);
  post_read(pair, remote, pair.segment(pair.a, here.data(), 64 * 1024, kLocalWrite));
  ASSERT_TRUE(pair.run([&] { return !pair.a.sends.empty(); }));
  Tap tap(pair.b);
  Bth bth;
  bth.opcode = Opcode::kRcReadRequest;
  bth.destination = pair.b.qp->qpn();
  bth.psn = Psn(5);
  for (int i = 0; i < 1000; ++i) {
    inject(pair, pair.b, {}, bth, Reth{remote.address, remote.key, 64 * 1024});
    pair.run_for(10 * kMicrosecond);
  }
  EXPECT_GE(tap.count(Opcode::kRcReadResponseFirst), 2u) << "it may have been lost";
  EXPECT_LE(tap.count(Opcode::kRcReadResponseFirst), 10u);
  EXPECT_EQ(pair.b.qp->state(), QueuePairState::kReadyToSend);
}

// Beginnings of messages that never end hold receive requests, but not all that others need as well.
TEST(Hostile, OneQueuePairDoesNotHoldAllOfASharedReceiveQueue) {
  PairOptions options;
  options.shared_entries = 64;
  WirePair pair(options);
  std::vector<uint8_t> target(4096);
  const Segment segment = pair.segment(pair.b, target.data(), 4096, kLocalWrite);
  for (uint64_t i = 0; i < 64; ++i) pair.post_receive(pair.b, i, {segment});
  for (uint16_t msn = 0; msn < 100; ++msn) {
    Bth bth;
    bth.opcode = Opcode::kSendFirst;
    bth.destination = pair.b.qp->qpn();
    bth.psn = Psn(5u + 2 * msn);
    Craft craft;
    craft.payload.assign(1024, 0xEE);
    inject(pair, pair.b, craft, bth, Meth{msn, msn}, Reth{0, MemoryKey{}, 2048});
    pair.run_for(2 * kMicrosecond);
  }
  EXPECT_EQ(pair.shared->available(), 32u);
  EXPECT_EQ(pair.b.qp->state(), QueuePairState::kReadyToSend) << "it may be just early";
}

// ---------------------------------------------------------------------------------- who speaks of what

// A packet of a's is under way, and somebody who knows addresses and the queue pair's number speaks of it.
struct Blind {
  explicit Blind(const PairOptions& options = strict_options()) : pair(options), tap(pair.a) {
    tap.drop = [](const Packet&) { return true; };
    pair.write(1, 1024);
    pair.run_for(2 * kMicrosecond);
    sent = tap.packets.at(tap.packets.size() - 1);
    neth.reason = NackReason::kUnexpectedEvent;
    neth.psn = sent.bth.psn;
    neth.entropy = sent.entropy;
    neth.timestamp = sent.time.timestamp;
    neth.source_qpn_low = sack.source_qpn_low = static_cast<uint16_t>(pair.b.qp->qpn().value());
    neth.destination_qpn_low = sack.destination_qpn_low = static_cast<uint16_t>(pair.a.qp->qpn().value());
    sack.cumulative_psn = sent.bth.psn;
  }
  template <typename Header>
  void say(Opcode opcode, const Header& header) {
    Bth bth;
    bth.opcode = opcode;
    bth.destination = pair.a.qp->qpn();
    bth.psn = sent.bth.psn;
    inject(pair, pair.a, {}, bth, header);
    pair.run_for(2 * kMicrosecond);
  }
  const Counters& counters() const { return pair.a.engine->counters(); }

  RulePair pair;
  Tap tap;
  Packet sent;
  Neth neth;
  Sack sack;
};

TEST(Hostile, ANackMustKnowThePacketItSpeaksOf) {
  const auto wrong = [](auto&& change) {
    Blind blind;
    change(blind.neth);
    blind.say(Opcode::kNack, blind.neth);
    EXPECT_EQ(blind.counters().nacks_stale + blind.counters().drops_bad_control, 1u);
    EXPECT_EQ(blind.pair.a.qp->state(), QueuePairState::kReadyToSend);
  };
  wrong([](Neth& neth) { neth.psn = neth.psn + 1; });
  wrong([](Neth& neth) { neth.psn = neth.psn - 1; });
  wrong([](Neth& neth) { ++neth.timestamp; });
  wrong([](Neth& neth) { neth.entropy = Entropy{static_cast<uint32_t>(neth.entropy) ^ 1}; });
  wrong([](Neth& neth) { ++neth.source_qpn_low; });
  wrong([](Neth& neth) { ++neth.destination_qpn_low; });
  Blind right;
  right.say(Opcode::kNack, right.neth);
  EXPECT_EQ(right.pair.a.qp->state(), QueuePairState::kError) << "else this shows nothing";
}

// A peer that claims as many senders as fit into the field, and is silent then: its window is all but closed,
// and what waits for it ends none the less, after about as long as requests are repeated.
TEST(Hostile, ACrowdThatIsNotThere) {
  PairOptions options = strict_options();
  options.tune = [](EngineConfig* config) {
    TransportConfig& transport = config->transport;
    transport.congestion = CongestionAlgorithm::kReceiverAware;
    transport.link_rate_bps = 1'000'000'000;
    transport.nscc = nscc_defaults(transport.link_rate_bps, 20 * kMicrosecond, 1024, true);
  };
  Blind blind(options);
  blind.neth.reason = NackReason::kTrimmedLastHop;
  blind.neth.vendor_info = 0xFF;
  blind.say(Opcode::kNack, blind.neth);
  ASSERT_EQ(blind.counters().retransmits_nack, 1u) << "else this shows nothing";
  blind.pair.set_step(50 * kMicrosecond);
  ASSERT_TRUE(blind.pair.run([&] { return blind.pair.a.sends.pushed() == 1; }, 1500 * kMillisecond));
  EXPECT_EQ(blind.pair.poll(blind.pair.a.sends).back().status, CompletionStatus::kRetryExceeded);
}

TEST(Hostile, ASackMustKnowTheConnectionItSpeaksOf) {
  const auto wrong = [](auto&& change) {
    Blind blind;
    change(blind.sack);
    blind.say(Opcode::kSack, blind.sack);
    EXPECT_EQ(blind.counters().drops_bad_control, 1u);
    EXPECT_EQ(blind.pair.a.qp->mrc()->requester().sent().outstanding(), 1u);
  };
  wrong([](Sack& sack) { ++sack.source_qpn_low; });
  wrong([](Sack& sack) { ++sack.destination_qpn_low; });
  wrong([](Sack& sack) { sack.cumulative_psn = sack.cumulative_psn + 1; });
  wrong([](Sack& sack) { sack.cumulative_psn = sack.cumulative_psn - (1 << 20); });
  Blind right;
  right.say(Opcode::kSack, right.sack);
  EXPECT_EQ(right.pair.a.qp->mrc()->requester().sent().outstanding(), 0u) << "else this shows nothing";
}

// A SEND says what its sender has received: only of what was sent, and only if the SEND itself is new.
TEST(Hostile, ASendMustKnowWhatItSaysWasReceived) {
  PairOptions options;
  options.planes = 1;
  const auto outstanding_after = [&](int32_t distance, uint32_t flag, uint32_t psn) {
    RulePair pair(options);
    pair.run_for(kMillisecond);
    Tap tap(pair.a);
    tap.drop = [](const Packet&) { return true; };
    pair.write(1, 1024);
    pair.run_for(2 * kMicrosecond);
    const Psn spoken_of = pair.a.qp->mrc()->requester().sent().oldest() + distance;
    Bth bth;
    bth.opcode = Opcode::kSendOnly;
    bth.destination = pair.a.qp->qpn();
    bth.psn = Psn(psn);
    Craft craft;
    craft.payload.assign(8, 0xEE);
    inject(pair, pair.a, craft, bth, Meth{}, Reth{0, MemoryKey{flag << 24 | spoken_of.value()}, 8});
    pair.run_for(2 * kMicrosecond);
    return pair.a.qp->mrc()->requester().sent().outstanding();
  };
  EXPECT_EQ(outstanding_after(1, 1, kFirstFromB), 1u) << "it was never sent";
  EXPECT_EQ(outstanding_after(0, 2, kFirstFromB), 1u) << "it means something else";
  EXPECT_EQ(outstanding_after(0, 1, kFirstFromB + (1 << 20)), 1u) << "it is not in the window";
  EXPECT_EQ(outstanding_after(0, 1, kFirstFromB), 0u) << "else this shows nothing";
}

TEST(Hostile, AProbeMustKnowTheConnectionItAsksAbout) {
  for (const bool source : {true, false}) {
    Blind blind;
    Tap answers(blind.pair.a);
    Peth peth;
    peth.source_qpn_low = static_cast<uint16_t>(blind.pair.b.qp->qpn().value() + source);
    peth.destination_qpn_low = static_cast<uint16_t>(blind.pair.a.qp->qpn().value() + !source);
    blind.say(Opcode::kProbe, peth);
    EXPECT_EQ(blind.counters().drops_bad_control, 1u);
    EXPECT_EQ(answers.count(Opcode::kSack), 0u);
  }
}

}  // namespace
}  // namespace mrc::test
