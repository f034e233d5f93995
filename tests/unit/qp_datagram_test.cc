// SPDX-License-Identifier: BSD-2-Clause
// Datagrams between two engines: what arrives, what is in front of it, and what is dropped.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <set>

#include "tests/unit/qp_wire_tap.h"

namespace mrc::test {
namespace {

constexpr uint32_t kKey = 0x11112222;

PairOptions datagram_options() {
  PairOptions options;
  options.type = QueuePairType::kDatagram;
  options.queue_key = kKey;
  return options;
}

// A pair of datagram queue pairs with a short way to send from a to b.
struct DatagramPair : WirePair {
  explicit DatagramPair(const PairOptions& options = datagram_options()) : WirePair(options) {}

  SendRequest* send(Operation operation, uint64_t id, std::vector<Segment> segments, uint32_t key = kKey) {
    SendRequest* request = a.qp->send_queue().reserve();
    *request = {};
    request->work_id = id;
    request->operation = operation;
    request->flags = kSignaled;
    request->add_datagram_address() = {address_of(a), address_of(b), b.qp->qpn(), key};
    request->segment_count = static_cast<uint8_t>(segments.size());
    for (size_t i = 0; i < segments.size(); ++i) {
      request->segments()[i] = segments[i];
      request->bytes += segments[i].bytes;
    }
    return request;
  }
  void settle() { run_for(20 * kMicrosecond); }
};

TEST(Datagrams, ArriveWithTheirGrh) {
  DatagramPair pair;
  uint8_t data[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  std::vector<uint8_t> first(30, 0xEE), second(30, 0xEE);
  pair.post_receive(pair.b, 7,
                    {pair.segment(pair.b, first.data(), 30, kLocalWrite),
                     pair.segment(pair.b, second.data(), 30, kLocalWrite)});
  SendRequest* send = pair.send(Operation::kSendImm, 3, {pair.segment(pair.a, data, 10, 0)});
  send->immediate = 0xABCD;
  send->flags |= kSolicited;
  pair.ring(pair.a);
  pair.settle();
  const auto sent = pair.poll(pair.a.sends);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].work_id, 3u);
  EXPECT_EQ(sent[0].status, CompletionStatus::kSuccess);
  EXPECT_EQ(sent[0].kind, CompletionKind::kSend);
  const auto received = pair.poll(pair.b.receives);
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].work_id, 7u);
  EXPECT_EQ(received[0].status, CompletionStatus::kSuccess);
  EXPECT_EQ(received[0].kind, CompletionKind::kReceive);
  EXPECT_EQ(received[0].byte_count, 50u);
  EXPECT_EQ(received[0].source_qpn, pair.a.qp->qpn());
  EXPECT_TRUE(received[0].has_grh);
  EXPECT_TRUE(received[0].grh_is_v4);
  EXPECT_TRUE(received[0].has_immediate);
  EXPECT_TRUE(received[0].solicited);
  EXPECT_EQ(received[0].immediate, 0xABCDu);
  std::vector<uint8_t> all = first;
  all.insert(all.end(), second.begin(), second.end());
  EXPECT_EQ(std::vector<uint8_t>(all.begin(), all.begin() + 20), std::vector<uint8_t>(20, 0));
  EXPECT_EQ(all[20], 0x45) << "the IPv4 header as it was received";
  EXPECT_EQ(all[29], 17) << "UDP";
  EXPECT_EQ(std::vector<uint8_t>(all.begin() + 32, all.begin() + 36), (std::vector<uint8_t>{10, 0, 0, 1}));
  EXPECT_EQ(std::vector<uint8_t>(all.begin() + 36, all.begin() + 40), (std::vector<uint8_t>{10, 0, 0, 2}));
  EXPECT_EQ(0, std::memcmp(all.data() + 40, data, 10));
  EXPECT_EQ(all[50], 0xEE);
}

TEST(Datagrams, OnTheWire) {
  PairOptions options = datagram_options();
  options.planes = 1;  // else the planes are probed
  DatagramPair pair(options);
  std::vector<PipePort::Frame> frames;
  for (auto& port : pair.a.ports)
    port->drop = [&](const PipePort::Frame& frame) {
      frames.push_back(frame);
      return false;
    };
  uint8_t data[5] = {};
  pair.send(Operation::kSend, 1, {pair.segment(pair.a, data, 5, 0)});
  pair.ring(pair.a);
  pair.settle();
  ASSERT_EQ(frames.size(), 1u);
  Packet packet;
  ASSERT_EQ(decode(frames[0], &packet), DecodeError::kNone);
  EXPECT_TRUE(icrc_matches(packet));
  EXPECT_EQ(packet.bth.opcode, Opcode::kUdSendOnly);
  EXPECT_EQ(packet.bth.destination, pair.b.qp->qpn());
  EXPECT_EQ(packet.bth.psn, Psn(5));
  EXPECT_FALSE(packet.bth.ack_request);
  EXPECT_EQ(packet.bth.partition_key, 0xFFFF);
  EXPECT_EQ(packet.deth.queue_key, kKey);
  EXPECT_EQ(packet.deth.source, pair.a.qp->qpn());
  EXPECT_EQ(packet.payload.size(), 5u);
}

TEST(Datagrams, FullSizeAndEmpty) {
  PairOptions options = datagram_options();
  options.mtu = 4096;
  DatagramPair pair(options);
  std::vector<uint8_t> data(4096), into(4136);
  std::iota(data.begin(), data.end(), 1);
  const Segment in = pair.segment(pair.b, into.data(), 4136, kLocalWrite);
  pair.post_receive(pair.b, 1, {in});
  pair.send(Operation::kSend, 1, {pair.segment(pair.a, data.data(), 4096, 0)});
  pair.ring(pair.a);
  pair.settle();
  EXPECT_EQ(pair.poll(pair.b.receives)[0].byte_count, 4136u);
  EXPECT_EQ(0, std::memcmp(into.data() + 40, data.data(), 4096));
  pair.post_receive(pair.b, 2, {in});
  pair.send(Operation::kSend, 2, {});
  pair.ring(pair.a);
  pair.settle();
  EXPECT_EQ(pair.poll(pair.b.receives)[0].byte_count, 40u);
}

TEST(Datagrams, InlineData) {
  DatagramPair pair;
  std::vector<uint8_t> into(100);
  pair.post_receive(pair.b, 1, {pair.segment(pair.b, into.data(), 100, kLocalWrite)});
  SendRequest* send = pair.send(Operation::kSend, 1, {});
  send->flags |= kInline;
  send->bytes = 3;
  std::memcpy(send->inline_data(), "abc", 3);
  pair.ring(pair.a);
  pair.settle();
  ASSERT_EQ(pair.poll(pair.b.receives).size(), 1u);
  EXPECT_EQ(0, std::memcmp(into.data() + 40, "abc", 3));
}

TEST(Datagrams, AWrongQueueKeyIsDropped) {
  DatagramPair pair;
  uint8_t into[64];
  pair.post_receive(pair.b, 1, {pair.segment(pair.b, into, 64, kLocalWrite)});
  pair.send(Operation::kSend, 1, {}, kKey + 1);
  pair.ring(pair.a);
  pair.settle();
  EXPECT_EQ(pair.poll(pair.a.sends)[0].status, CompletionStatus::kSuccess) << "nobody is told";
  EXPECT_TRUE(pair.b.receives.empty());
  EXPECT_EQ(pair.b.engine->counters().drops_bad_queue_key, 1u);
}

TEST(Datagrams, APrivilegedQueueKeyMeansTheSendersOwn) {  // IBTA 10.2.5
  DatagramPair pair;
  uint8_t into[64];
  pair.post_receive(pair.b, 1, {pair.segment(pair.b, into, 64, kLocalWrite)});
  pair.send(Operation::kSend, 1, {}, 0x80000000);
  pair.ring(pair.a);
  pair.settle();
  EXPECT_EQ(pair.b.receives.pushed(), 1u);
}

TEST(Datagrams, WithoutAReceiveTheyAreDropped) {
  DatagramPair pair;
  pair.send(Operation::kSend, 1, {});
  pair.ring(pair.a);
  pair.settle();
  EXPECT_EQ(pair.b.engine->counters().drops_no_receive, 1u);
  uint8_t into[64];
  pair.post_receive(pair.b, 5, {pair.segment(pair.b, into, 64, kLocalWrite)});
  pair.send(Operation::kSend, 2, {});
  pair.ring(pair.a);
  pair.settle();
  EXPECT_EQ(pair.poll(pair.b.receives)[0].work_id, 5u);
}

TEST(Datagrams, ThatDoNotFitAreDroppedAndTheReceiveStays) {
  PairOptions options = datagram_options();
  options.planes = 1;  // keeps the order
  DatagramPair pair(options);
  uint8_t data[30] = {}, into[64];
  pair.post_receive(pair.b, 5, {pair.segment(pair.b, into, 64, kLocalWrite)});
  const Segment from = pair.segment(pair.a, data, 30, 0);
  pair.send(Operation::kSend, 1, {from});
  pair.ring(pair.a);
  pair.send(Operation::kSend, 2, {{from.address, 24, from.key}});
  pair.ring(pair.a);
  pair.settle();
  EXPECT_EQ(pair.b.engine->counters().drops_too_long, 1u);
  const auto received = pair.poll(pair.b.receives);
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].byte_count, 64u);
}

TEST(Datagrams, LongerThanAPacketIsAnError) {
  DatagramPair pair;
  std::vector<uint8_t> data(2000);
  const Segment from = pair.segment(pair.a, data.data(), 2000, 0);
  pair.send(Operation::kSend, 1, {{from.address, 1024, from.key}});
  pair.ring(pair.a);
  pair.send(Operation::kSend, 2, {{from.address, 1025, from.key}});
  pair.ring(pair.a);
  pair.send(Operation::kSend, 3, {});
  pair.ring(pair.a);
  pair.settle();
  const auto sent = pair.poll(pair.a.sends);
  ASSERT_EQ(sent.size(), 3u);
  EXPECT_EQ(sent[0].status, CompletionStatus::kSuccess);
  EXPECT_EQ(sent[1].status, CompletionStatus::kLocalLengthError);
  EXPECT_EQ(sent[2].status, CompletionStatus::kFlushed);
  EXPECT_EQ(pair.a.qp->state(), QueuePairState::kError);
}

TEST(Datagrams, OnlySendIsThere) {
  DatagramPair pair;
  pair.send(Operation::kWrite, 1, {});
  pair.ring(pair.a);
  pair.settle();
  EXPECT_EQ(pair.poll(pair.a.sends)[0].status, CompletionStatus::kLocalQpOperationError);
}

TEST(Datagrams, MemoryIsChecked) {
  DatagramPair pair;
  pair.send(Operation::kSend, 1, {{1, 1, MemoryKey{99}}});
  pair.ring(pair.a);
  pair.settle();
  EXPECT_EQ(pair.poll(pair.a.sends)[0].status, CompletionStatus::kLocalProtectionError);
}

// Order is not promised, but UCX drops what overtakes.
TEST(Datagrams, KeepToOnePath) {
  PairOptions options = datagram_options();
  options.planes = 4;
  DatagramPair pair(options);
  std::set<uint16_t> source_ports;
  std::map<PipePort*, int> planes;
  for (auto& port : pair.a.ports)
    port->drop = [&, at = port.get()](const PipePort::Frame& frame) {
      if (!is_ud(parse(frame).bth.opcode)) return true;  // a probe
      source_ports.insert(static_cast<uint16_t>(frame[34] << 8 | frame[35]));
      ++planes[at];
      return true;
    };
  for (int i = 0; i < 100; ++i) {
    pair.send(Operation::kSend, 1, {});
    pair.ring(pair.a);
    pair.run_for(2 * kMicrosecond);
  }
  ASSERT_EQ(planes.size(), 1u);
  EXPECT_EQ(planes.begin()->second, 100);
  EXPECT_EQ(source_ports.size(), 1u);
}

// Nor do they move to a better path when more planes come up.
TEST(Datagrams, StayOnTheirPathWhenPlanesComeUp) {
  PairOptions options = datagram_options();
  options.planes = 4;
  for (size_t first = 0; first < 4; ++first) {
    DatagramPair pair(options);
    std::map<size_t, int> planes;
    for (size_t plane = 0; plane < 4; ++plane) {
      pair.a.ports[plane]->reachable = plane == first;
      pair.a.ports[plane]->drop = [&planes, plane](const PipePort::Frame& frame) {
        planes[plane] += is_ud(parse(frame).bth.opcode);
        return true;
      };
    }
    for (int i = 0; i < 20; ++i) {
      pair.send(Operation::kSend, 1, {});
      pair.ring(pair.a);
      pair.run_for(kMillisecond);
      for (auto& port : pair.a.ports) port->reachable = true;
    }
    EXPECT_EQ(planes[first], 20);
  }
}

// They are read from their buffers meanwhile, which are the application's again.
TEST(Datagrams, WaitForTheirNextHopForAWhile) {
  DatagramPair pair;
  for (auto& port : pair.a.ports) port->reachable = false;
  uint8_t data[3] = {1, 2, 3};
  uint8_t into[64] = {};
  pair.post_receive(pair.b, 1, {pair.segment(pair.b, into, 64, kLocalWrite)});
  pair.send(Operation::kSend, 1, {pair.segment(pair.a, data, 3, 0)});
  pair.ring(pair.a);
  pair.run_for(10 * kMillisecond);
  EXPECT_EQ(pair.a.sends.pushed(), 1u);
  data[0] = data[1] = data[2] = 0xEE;
  for (auto& port : pair.a.ports) port->reachable = true;
  pair.run_for(2 * kMillisecond);
  EXPECT_EQ(pair.b.receives.pushed(), 1u);
  EXPECT_EQ(into[kGrhBytes], 1);
  EXPECT_EQ(into[kGrhBytes + 2], 3);
}

// A link that is being made takes nothing yet. Who sends elsewhere does not wait for it, and order is kept.
TEST(Datagrams, DoNotWaitBehindThoseOfAnotherDestination) {
  PairOptions options = datagram_options();
  options.receive_entries = 128;
  DatagramPair pair(options);
  std::vector<std::vector<uint8_t>> into(80, std::vector<uint8_t>(64));
  for (uint64_t i = 0; i < 80; ++i)
    pair.post_receive(pair.b, i, {pair.segment(pair.b, into[i].data(), 64, kLocalWrite)});
  uint32_t number = 0;
  const Segment from = pair.segment(pair.a, &number, sizeof number, 0);
  for (auto& port : pair.a.ports) port->reachable = false;
  for (; number < 70; ++number) {  // more than can be put aside
    pair.send(Operation::kSend, number, {from});
    pair.ring(pair.a);
    pair.run_for(5 * kMicrosecond);
  }
  EXPECT_EQ(pair.a.sends.pushed(), 64u);
  for (auto& port : pair.a.ports) port->reachable = true;
  pair.run_for(5 * kMillisecond);
  EXPECT_EQ(pair.b.receives.pushed(), 70u);
  for (uint8_t i = 0; i < 64; ++i) EXPECT_EQ(into[i][kGrhBytes], i);
}

// One plane is silent: nobody says so, but the probes by the others are answered.
TEST(Datagrams, LeaveAPlaneThatHasGoneSilent) {
  PairOptions options = datagram_options();
  options.planes = 4;
  DatagramPair pair(options);
  std::vector<uint8_t> into(64);
  const Segment to = pair.segment(pair.b, into.data(), 64, kLocalWrite);
  const auto send_one = [&] {
    pair.post_receive(pair.b, 1, {to});
    pair.send(Operation::kSend, 1, {});
    pair.ring(pair.a);
    pair.run_for(kMillisecond);
  };
  for (int i = 0; i < 20; ++i) send_one();
  EXPECT_EQ(pair.b.receives.pushed(), 20u);
  PipePort* used = nullptr;
  for (auto& port : pair.a.ports)
    port->drop = [&used, at = port.get()](const PipePort::Frame& frame) {
      if (is_ud(parse(frame).bth.opcode)) used = at;
      return false;
    };
  send_one();
  ASSERT_NE(used, nullptr);
  for (auto& port : pair.a.ports) port->drop = nullptr;
  used->drop = [](const PipePort::Frame&) { return true; };
  for (int i = 0; i < 100; ++i) send_one();
  EXPECT_GT(pair.b.receives.pushed(), 81u);
  EXPECT_LT(pair.b.receives.pushed(), 121u) << "else this shows nothing";
  const uint64_t before = pair.b.receives.pushed();
  for (int i = 0; i < 20; ++i) send_one();
  EXPECT_EQ(pair.b.receives.pushed(), before + 20);
}

TEST(Datagrams, AreDroppedIfThereIsNoNextHop) {
  DatagramPair pair;
  for (auto& port : pair.a.ports) port->reachable = false;
  pair.send(Operation::kSend, 1, {});
  pair.ring(pair.a);
  ASSERT_TRUE(pair.run([&] { return pair.a.engine->counters().drops_unreachable == 1; }, kSecond));
  EXPECT_EQ(pair.poll(pair.a.sends)[0].status, CompletionStatus::kSuccess);
}

// Whoever asks under an address where nobody is keeps nobody waiting.
TEST(Datagrams, WhatGoesNowOrNeverWaitsForNoNextHop) {
  DatagramPair pair;
  for (auto& port : pair.a.ports) port->reachable = false;
  pair.send(Operation::kSend, 1, {})->datagram_address().now_or_never = true;
  pair.ring(pair.a);
  pair.run_for(10 * kMicrosecond);
  EXPECT_EQ(pair.a.sends.pushed(), 1u);
  EXPECT_EQ(pair.a.engine->counters().drops_unreachable, 1u);
}

TEST(Datagrams, SharedReceives) {
  PairOptions options = datagram_options();
  options.shared_entries = 4;
  DatagramPair pair(options);
  uint8_t into[64];
  pair.post_receive(pair.b, 9, {pair.segment(pair.b, into, 64, kLocalWrite)});
  pair.send(Operation::kSend, 1, {});
  pair.ring(pair.a);
  pair.settle();
  EXPECT_EQ(pair.poll(pair.b.receives)[0].work_id, 9u);
}

TEST(Datagrams, NoPacketOfAnotherKindIsTaken) {
  DatagramPair pair;
  std::vector<uint8_t> buffer(kFrameBytesMax);
  NetworkHeader network;
  network.source = IpAddress::v4(10, 0, 0, 1);
  network.destination = IpAddress::v4(10, 0, 0, 2);
  FrameWriter frame(buffer.data(), network, Entropy{0xC000}, 0, Ecn::kNotCapable, Bth::kBytes);
  Bth bth;
  bth.opcode = Opcode::kRcSendOnly;
  bth.destination = pair.b.qp->qpn();
  frame.add(bth);
  frame.end_headers();
  buffer.resize(frame.finish(0));
  pair.b.ports[0]->arrived.emplace(0, buffer);
  pair.settle();
  EXPECT_EQ(pair.b.engine->counters().drops_unsupported, 1u);
}

TEST(Datagrams, StatesAndTheirAttributes) {
  PairOptions options = datagram_options();
  DatagramPair pair(options);
  QueuePairAttributes attributes;
  attributes.state = QueuePairState::kReset;
  ASSERT_TRUE(pair.a.engine->modify(*pair.a.qp, attributes, 0));
  attributes.state = QueuePairState::kInit;
  EXPECT_FALSE(pair.a.engine->modify(*pair.a.qp, attributes, 0)) << "no queue key";
  attributes.queue_key = kKey;
  EXPECT_TRUE(pair.a.engine->modify(*pair.a.qp, attributes, 0));
  attributes.state = QueuePairState::kReadyToReceive;
  EXPECT_TRUE(pair.a.engine->modify(*pair.a.qp, attributes, 0)) << "no destination";
  attributes.state = QueuePairState::kReadyToSend;
  EXPECT_TRUE(pair.a.engine->modify(*pair.a.qp, attributes, 0));
}

// QPN 1: where the connection manager's datagrams go. There is one per engine.
TEST(Datagrams, GeneralService) {
  DatagramPair pair;
  QueuePairConfig config = pair.b.qp->config();
  config.general_service = true;
  QueuePair* general = pair.b.engine->create(config);
  ASSERT_NE(general, nullptr);
  EXPECT_EQ(general->qpn(), kGeneralServiceQpn);
  EXPECT_EQ(pair.b.engine->find(kGeneralServiceQpn), general);
  EXPECT_EQ(pair.b.engine->create(config), nullptr) << "one only";
  QueuePairAttributes attributes;
  for (const QueuePairState state :
       {QueuePairState::kInit, QueuePairState::kReadyToReceive, QueuePairState::kReadyToSend}) {
    attributes.state = state;
    ASSERT_TRUE(pair.b.engine->modify(*general, attributes, 0));
  }
  uint8_t into[64];
  const Segment in = pair.segment(pair.b, into, 64, kLocalWrite);
  ReceiveRequest* receive = general->receive_queue().reserve();
  *receive = {.work_id = 21, .segment_count = 1, .bytes = 64};
  receive->segments()[0] = in;
  general->receive_queue().publish(1);
  // A sender names the general service's key by its privileged bit only if it is its own; else in full.
  QueuePairAttributes key;
  key.queue_key = kGeneralServiceKey;
  ASSERT_TRUE(pair.a.engine->modify(*pair.a.qp, key, 0));
  SendRequest* send = pair.send(Operation::kSend, 1, {}, kGeneralServiceKey);
  send->datagram_address().qpn = kGeneralServiceQpn;
  send->datagram_address().via = Qpn{0x14000};  // says whose QPN 1, but only to the ports
  pair.ring(pair.a);
  pair.settle();
  EXPECT_EQ(pair.a.ports[0]->asked_for, Qpn{0x14000});
  const auto received = pair.poll(pair.b.receives);
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].work_id, 21u);
  EXPECT_EQ(received[0].qpn, kGeneralServiceQpn);
  pair.b.engine->destroy(general);
  EXPECT_EQ(pair.b.engine->find(kGeneralServiceQpn), nullptr);
}

}  // namespace
}  // namespace mrc::test
