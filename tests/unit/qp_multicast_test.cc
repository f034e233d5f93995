// SPDX-License-Identifier: BSD-2-Clause
// Datagrams to multicast groups between two engines: who gets a copy, and what is dropped.
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "tests/unit/qp_wire_tap.h"

namespace mrc::test {
namespace {

constexpr uint32_t kGroupKey = 0x33334444;
const IpAddress kGroup = IpAddress::v4(239, 1, 2, 3);

PairOptions multicast_options() {
  PairOptions options;
  options.type = QueuePairType::kDatagram;
  options.queue_key = kGroupKey;
  return options;
}

// End b has joined the group with its queue pair and, if asked to, with more.
struct GroupPair : WirePair {
  explicit GroupPair(const PairOptions& options = multicast_options()) : WirePair(options) {
    EXPECT_EQ(b.engine->groups().attach(kGroup, b.qp), MulticastGroups::Attach::kDone);
  }
  QueuePair* another_of_b() {
    QueuePair* made = b.engine->create(b.qp->config());
    QueuePairAttributes attributes;
    attributes.state = QueuePairState::kInit;
    attributes.queue_key = kGroupKey;
    b.engine->modify(*made, attributes, now());
    attributes.state = QueuePairState::kReadyToReceive;
    b.engine->modify(*made, attributes, now());
    return made;
  }
  void post_receive_to(QueuePair& qp, uint64_t id, void* into, uint32_t bytes) {
    ReceiveRequest* request = qp.receive_queue().reserve();
    if (request == nullptr) return;  // there are enough
    request->work_id = id;
    request->segment_count = 1;
    request->segments()[0] = segment(b, into, bytes, kLocalWrite);
    qp.receive_queue().publish(1);
  }
  void send_to(const IpAddress& destination, Qpn qpn) {
    SendRequest* request = a.qp->send_queue().reserve();
    *request = {};
    request->operation = Operation::kSend;
    request->flags = kSignaled | kInline;
    request->add_datagram_address() = {address_of(a), destination, qpn, kGroupKey};
    request->bytes = 3;
    std::memcpy(request->inline_data(), "abc", 3);
    ring(a);
    run_for(20 * kMicrosecond);
  }
  // What arrives when somebody makes it up.
  void hear(const Bth& bth, const IpAddress& source, const IpAddress& destination) {
    PipePort::Frame frame(kFrameBytesMax);
    NetworkHeader network;
    network.source = source;
    network.destination = destination;
    FrameWriter writer(frame.data(), network, Entropy{0xC003}, 0, Ecn::kNotCapable,
                       Bth::kBytes + Deth::kBytes);
    writer.add(bth);
    Deth deth;
    deth.queue_key = kGroupKey;
    deth.source = Qpn{77};
    writer.add(deth);
    writer.end_headers();
    frame.resize(writer.finish(0));
    b.ports[0]->arrived.emplace(now(), frame);
    run_for(5 * kMicrosecond);
  }
};

Bth to_all(Opcode opcode) {
  Bth bth;
  bth.opcode = opcode;
  bth.destination = kMulticastQpn;
  bth.psn = Psn{5};
  return bth;
}

TEST(Multicast, EveryMemberGetsOneCopy) {
  GroupPair pair;
  QueuePair* second = pair.another_of_b();
  QueuePair* stranger = pair.another_of_b();
  ASSERT_EQ(pair.b.engine->groups().attach(kGroup, second), MulticastGroups::Attach::kDone);
  ASSERT_EQ(pair.b.engine->groups().attach(kGroup, second), MulticastGroups::Attach::kAlready);
  std::vector<uint8_t> into[3];
  QueuePair* receivers[] = {pair.b.qp, second, stranger};
  for (size_t i = 0; i < 3; ++i) {
    into[i].resize(200);
    // Two each: a second copy would be seen.
    pair.post_receive_to(*receivers[i], 10 * (i + 1), into[i].data(), 100);
    pair.post_receive_to(*receivers[i], 10 * (i + 1) + 1, into[i].data() + 100, 100);
  }
  Tap sent(pair.a);
  pair.send_to(kGroup, kMulticastQpn);
  ASSERT_EQ(sent.packets.size(), 1u) << "one frame, by one plane, without probes";
  EXPECT_EQ(sent.packets[0].bth.destination, kMulticastQpn);
  EXPECT_EQ(sent.packets[0].destination, kGroup);
  std::multiset<uint64_t> ids;
  for (const Completion& completion : pair.poll(pair.b.receives)) {
    EXPECT_EQ(completion.status, CompletionStatus::kSuccess);
    EXPECT_EQ(completion.byte_count, 43u);
    EXPECT_EQ(completion.source_qpn, pair.a.qp->qpn());
    ids.insert(completion.work_id);
  }
  EXPECT_EQ(ids, (std::multiset<uint64_t>{10, 20}));
  for (size_t i = 0; i < 2; ++i) EXPECT_EQ(std::memcmp(into[i].data() + 40, "abc", 3), 0);
  EXPECT_EQ(pair.b.engine->counters().multicasts_received, 1u);
  EXPECT_EQ(pair.poll(pair.a.sends).size(), 1u);
}

TEST(Multicast, WhoHasLeftGetsNothing) {
  GroupPair pair;
  QueuePair* second = pair.another_of_b();
  MulticastGroups& groups = pair.b.engine->groups();
  ASSERT_EQ(groups.attach(kGroup, second), MulticastGroups::Attach::kDone);
  EXPECT_TRUE(groups.detach(kGroup, pair.b.qp));
  EXPECT_FALSE(groups.detach(kGroup, pair.b.qp));
  EXPECT_EQ(groups.groups_of(second), std::vector<IpAddress>{kGroup});
  pair.b.engine->destroy(second);  // leaves what it was in
  EXPECT_EQ(groups.find(kGroup), nullptr);
  pair.send_to(kGroup, kMulticastQpn);
  EXPECT_TRUE(pair.poll(pair.b.receives).empty());
  EXPECT_EQ(pair.b.engine->counters().drops_no_group, 1u);
}

TEST(Multicast, OneGroupHasALimit) {
  MulticastGroups groups;
  std::vector<uint8_t> places(MulticastGroups::kMembersMax + 1);
  for (size_t i = 0; i < places.size(); ++i)
    EXPECT_EQ(
        groups.attach(kGroup, reinterpret_cast<QueuePair*>(&places[i])),
        i < MulticastGroups::kMembersMax ? MulticastGroups::Attach::kDone : MulticastGroups::Attach::kFull);
}

TEST(Multicast, ToAGroupByAnotherNumberIsLost) {
  GroupPair pair;
  Tap sent(pair.a);
  pair.send_to(kGroup, pair.b.qp->qpn());
  pair.send_to(pair.address_of(pair.b), kMulticastQpn);
  EXPECT_TRUE(sent.packets.empty());
  EXPECT_EQ(pair.a.engine->counters().drops_unreachable, 2u);
  for (const Completion& completion : pair.poll(pair.a.sends))
    EXPECT_EQ(completion.status, CompletionStatus::kSuccess) << "it is a datagram";
}

TEST(Multicast, WhatIsNoDatagramToAGroupIsDropped) {
  GroupPair pair;
  std::vector<uint8_t> into(100);
  pair.post_receive_to(*pair.b.qp, 1, into.data(), 100);
  const IpAddress host = pair.address_of(pair.a);
  pair.hear(to_all(Opcode::kUdSendOnly), host, pair.address_of(pair.b));
  pair.hear(to_all(Opcode::kUdSendOnly), kGroup, kGroup);
  EXPECT_EQ(pair.b.engine->counters().drops_bad_multicast, 2u);
  pair.hear(to_all(Opcode::kRcSendOnly), host, kGroup);
  EXPECT_EQ(pair.b.engine->counters().drops_bad_multicast, 3u);
  pair.hear(to_all(Opcode::kUdSendOnly), host, IpAddress::v4(239, 1, 2, 4));
  EXPECT_EQ(pair.b.engine->counters().drops_no_group, 1u);
  EXPECT_TRUE(pair.poll(pair.b.receives).empty());
  pair.hear(to_all(Opcode::kUdSendOnly), host, kGroup);
  EXPECT_EQ(pair.poll(pair.b.receives).size(), 1u) << "and this one is";
}

// --- planes that are silent ---

PairOptions four_planes() {
  PairOptions options = multicast_options();
  options.planes = 4;
  return options;
}

// Sends one after the other, a millisecond each; how many came.
uint64_t send_many(
    GroupPair& pair, int count, const std::function<void()>& meanwhile = [] {}) {
  static std::vector<uint8_t> into(100);
  const uint64_t before = pair.b.receives.pushed();
  for (int i = 0; i < count; ++i) {
    pair.post_receive_to(*pair.b.qp, 1, into.data(), 100);
    pair.send_to(kGroup, kMulticastQpn);
    meanwhile();
    pair.run_for(kMillisecond);
  }
  return pair.b.receives.pushed() - before;
}

// The plane by which the next one goes.
size_t plane_in_use(GroupPair& pair) {
  size_t used = pair.a.ports.size();
  for (size_t i = 0; i < pair.a.ports.size(); ++i)
    pair.a.ports[i]->drop = [&used, i](const PipePort::Frame& frame) {
      if (is_ud(parse(frame).bth.opcode)) used = i;
      return false;
    };
  send_many(pair, 1);
  for (auto& port : pair.a.ports) port->drop = nullptr;
  return used;
}

void silence(PipePort& port) {
  port.drop = [](const PipePort::Frame&) { return true; };
}

TEST(Multicast, PlanesOfWhichNothingIsKnownTakeTurns) {
  GroupPair pair(four_planes());
  EXPECT_EQ(send_many(pair, 40), 40u);
  silence(*pair.a.ports[2]);
  EXPECT_EQ(send_many(pair, 40), 30u);
}

// Something else goes on between the hosts, by all planes that work.
TEST(Multicast, KeepsToPlanesThatAreHeard) {
  GroupPair pair(four_planes());
  size_t silent = 4;
  const auto hear_others = [&] {
    for (size_t i = 0; i < 4; ++i)
      if (i != silent) pair.a.ports[i]->arrived.emplace(pair.now(), PipePort::Frame(60));
  };
  EXPECT_EQ(send_many(pair, 20, hear_others), 20u);
  silent = plane_in_use(pair);
  ASSERT_LT(silent, 4u);
  EXPECT_EQ(plane_in_use(pair), silent) << "it keeps to its plane";
  silence(*pair.a.ports[silent]);
  send_many(pair, 1000, hear_others);
  EXPECT_EQ(send_many(pair, 50, hear_others), 50u);
}

TEST(Multicast, ToAProcessOfThisHostLeavesASilentPlane) {
  PairOptions options = four_planes();
  options.within_host = true;
  GroupPair pair(options);
  for (auto& port : pair.a.ports) port->members = {pair.b.qp->qpn()};
  EXPECT_EQ(send_many(pair, 40), 40u);
  const size_t used = plane_in_use(pair);
  ASSERT_LT(used, 4u);
  silence(*pair.a.ports[used]);
  const uint64_t came = send_many(pair, 100);
  EXPECT_GT(came, 50u);
  EXPECT_LT(came, 100u) << "else this shows nothing";
  EXPECT_EQ(send_many(pair, 50), 50u);
}

TEST(Multicast, NobodyHasTheNumberOfAll) {
  PairOptions options = multicast_options();
  options.first_qpn = Qpn::kMask - 15;  // sixteen numbers: the last is that of all
  WirePair pair(options);
  std::set<uint32_t> numbers{pair.a.qp->qpn().value()};
  for (QueuePair* made; (made = pair.a.engine->create(pair.a.qp->config())) != nullptr;)
    numbers.insert(made->qpn().value());
  EXPECT_EQ(numbers.size(), 15u);
  EXPECT_FALSE(numbers.contains(Qpn::kMask));
}

}  // namespace
}  // namespace mrc::test
