// SPDX-License-Identifier: BSD-2-Clause
// Messages of others: every message of a connection manager, as somebody would send it who is not the peer,
// or who knows less than it. Each of them would be taken if that one thing were right.
#include <gtest/gtest.h>

#include <functional>
#include <variant>
#include <vector>

#include "libmrc/cm/manager.h"
#include "tests/unit/cm_network.h"

namespace mrc::cm {
namespace {

constexpr IpAddress kStranger = IpAddress::v4(10, 0, 0, 99);

// A message that has been caught on its way, and is changed before it arrives.
struct Forger {
  explicit Forger(Network& to) : net(to) { net.automatic = false; }

  // The last of its kind that went to a side.
  template <typename M>
  Message caught() const {
    for (auto at = net.seen.rbegin(); at != net.seen.rend(); ++at) {
      const auto message = decode(at->mad);
      if (std::holds_alternative<M>(message->body)) return *message;
    }
    ADD_FAILURE() << "no such message";
    return {};
  }
  void arrive(Side& at, const Message& message, const GidPair& gids) {
    at.manager.receive(encode(message), gids, net.now);
    deliver();
  }
  // From another address, to another address, of another transaction.
  void arrive_in_all_wrong_ways(Side& at, const Message& message) {
    const GidPair right =
        at.address == kAddressA ? GidPair{kAddressA, kAddressB} : GidPair{kAddressB, kAddressA};
    arrive(at, message, {right.local, kStranger});
    arrive(at, message, {kStranger, right.remote});
    arrive_with_wrong_transaction(at, message);
  }
  void arrive_with_wrong_transaction(Side& at, Message message) {
    const GidPair right =
        at.address == kAddressA ? GidPair{kAddressA, kAddressB} : GidPair{kAddressB, kAddressA};
    ++message.transaction;
    arrive(at, message, right);
  }
  // What there is to hear, without anything being delivered.
  void deliver() {
    for (Side* side : {&net.a, &net.b}) {
      for (const Outgoing& out : side->manager.take_outgoing()) answers.push_back(out);
      for (Event& event : side->manager.take_events()) side->events.push_back(std::move(event));
    }
  }

  Network& net;
  std::vector<Outgoing> answers;
};

// Both sides as far as they shall be, step by step as programs go.
CommunicationId asked(Network& net) {
  const CommunicationId id = net.a.manager.connect(net.call(), net.now);
  net.run(kMillisecond);
  return id;
}
CommunicationId accepted(Network& net) {
  EndPoint here;
  here.qpn = Qpn{0x8001};
  here.first_psn = Psn{0x222};
  const CommunicationId id = net.b.first(Kind::kRequest)->connection;
  EXPECT_TRUE(net.b.manager.accept(id, 2, here, {}, net.now));
  return id;
}
CommunicationId connected(Network& net) {
  const CommunicationId id = asked(net);
  accepted(net);
  net.run(kMillisecond);
  EXPECT_TRUE(net.a.manager.ready(id, {}));
  net.run(kMillisecond);
  EXPECT_EQ(net.b.count(Kind::kEstablished), 1u);
  return id;
}

TEST(CmForgery, ReplyOfAStranger) {
  Network net;
  Forger forger(net);
  const CommunicationId id = asked(net);
  accepted(net);
  net.lose = 1;  // the reply itself does not arrive yet
  net.run(0);
  forger.arrive_in_all_wrong_ways(net.a, forger.caught<Reply>());
  EXPECT_EQ(net.a.manager.find(id)->state, State::kRequestSent);
  EXPECT_EQ(net.a.events.size(), 0u);
  EXPECT_EQ(net.a.manager.counters().mismatched, 3u);
  EXPECT_TRUE(forger.answers.empty()) << "who guesses learns nothing";
  forger.arrive(net.a, forger.caught<Reply>(), {kAddressA, kAddressB});
  EXPECT_EQ(net.a.count(Kind::kReply), 1u);
}

TEST(CmForgery, RejectionOfAStranger) {
  Network net;
  Forger forger(net);
  const CommunicationId id = asked(net);
  Rejection rejection;
  rejection.remote = id;
  rejection.reason = RejectReason::kConsumer;
  const Message message{forger.caught<Request>().transaction, rejection};
  forger.arrive_in_all_wrong_ways(net.a, message);
  EXPECT_EQ(net.a.manager.find(id)->state, State::kRequestSent);
  EXPECT_EQ(net.a.manager.counters().mismatched, 3u);
  forger.arrive(net.a, message, {kAddressA, kAddressB});
  EXPECT_EQ(net.a.count(Kind::kRejected), 1u);
}

// Who gives up names his request by GUID and id: a third party may know both.
TEST(CmForgery, RejectionInTheNameOfOneWhoAsks) {
  Network net;
  Forger forger(net);
  asked(net);
  const Message request = forger.caught<Request>();
  Rejection rejection;
  rejection.local = std::get<Request>(request.body).local;
  rejection.reason = RejectReason::kTimeout;
  rejection.info_bytes = 8;
  for (unsigned i = 0; i < 8; ++i) rejection.info[i] = static_cast<uint8_t>(uint64_t{0x101} >> (8 * (7 - i)));
  const Message message{request.transaction, rejection};
  forger.arrive_in_all_wrong_ways(net.b, message);
  EXPECT_EQ(net.b.count(Kind::kRejected), 0u);
  forger.arrive(net.b, message, {kAddressB, kAddressA});
  EXPECT_EQ(net.b.count(Kind::kRejected), 1u);
}

TEST(CmForgery, ReceiptOfAStranger) {
  Network net;
  Forger forger(net);
  const CommunicationId id = asked(net);
  const Nanoseconds deadline = net.a.manager.next_deadline();
  const Message message{forger.caught<Request>().transaction,
                        Receipt{CommunicationId{5}, id, Subject::kRequest, 31, {}}};
  forger.arrive_in_all_wrong_ways(net.a, message);
  EXPECT_EQ(net.a.manager.next_deadline(), deadline);
  forger.arrive(net.a, message, {kAddressA, kAddressB});
  EXPECT_GT(net.a.manager.next_deadline(), deadline + kSecond);
}

TEST(CmForgery, ReadyOfAStranger) {
  Network net;
  Forger forger(net);
  const CommunicationId active = asked(net);
  const CommunicationId passive = accepted(net);
  net.run(kMillisecond);
  const Message message{forger.caught<Reply>().transaction, Ready{active, passive, {}}};
  forger.arrive_in_all_wrong_ways(net.b, message);
  EXPECT_EQ(net.b.manager.find(passive)->state, State::kReplySent);
  forger.arrive(net.b, {message.transaction, Ready{CommunicationId{7}, passive, {}}}, {kAddressB, kAddressA});
  EXPECT_EQ(net.b.manager.find(passive)->state, State::kReplySent);
  forger.arrive(net.b, message, {kAddressB, kAddressA});
  EXPECT_EQ(net.b.count(Kind::kEstablished), 1u);
}

TEST(CmForgery, DisconnectOfAStranger) {
  Network net;
  Forger forger(net);
  const CommunicationId active = connected(net);
  const CommunicationId passive = net.b.first(Kind::kEstablished)->connection;
  const auto ends = [&](const DisconnectRequest& request, const GidPair& gids) {
    forger.arrive(net.a, {77, request}, gids);
    return net.a.count(Kind::kDisconnected) > 0;
  };
  const Qpn ours{0x4001};
  EXPECT_FALSE(ends({passive, active, ours, {}}, {kAddressA, kStranger}));
  EXPECT_FALSE(ends({passive, active, ours, {}}, {kStranger, kAddressB}));
  EXPECT_FALSE(ends({passive, active, Qpn{0x4002}, {}}, {kAddressA, kAddressB}));
  EXPECT_FALSE(ends({passive, active, Qpn{0}, {}}, {kAddressA, kAddressB}));
  EXPECT_TRUE(forger.answers.empty());
  EXPECT_FALSE(ends({CommunicationId{3}, active, ours, {}}, {kAddressA, kAddressB}));
  EXPECT_EQ(net.a.manager.find(active)->state, State::kEstablished);
  EXPECT_TRUE(ends({passive, active, ours, {}}, {kAddressA, kAddressB}));
}

TEST(CmForgery, AnswerToADisconnectOfAStranger) {
  Network net;
  Forger forger(net);
  const CommunicationId active = connected(net);
  const CommunicationId passive = net.b.first(Kind::kEstablished)->connection;
  EXPECT_TRUE(net.a.manager.disconnect(active, {}, net.now));
  net.lose = net.seen.size();
  net.run(0);
  const Message message{forger.caught<DisconnectRequest>().transaction, DisconnectReply{passive, active, {}}};
  forger.arrive_in_all_wrong_ways(net.a, message);
  EXPECT_EQ(net.a.manager.find(active)->state, State::kDisconnectSent);
  forger.arrive(net.a, message, {kAddressA, kAddressB});
  EXPECT_EQ(net.a.count(Kind::kDisconnected), 1u);
}

// One datagram in the name of the peer used to end its connection.
TEST(CmForgery, RequestInTheNameOfAConnectedPeer) {
  Network net;
  Forger forger(net);
  connected(net);
  const Message real = forger.caught<Request>();
  for (uint32_t i = 0; i < 100; ++i) {
    Message forged = real;
    forged.transaction += 1 + i;
    std::get<Request>(forged.body).local = CommunicationId{1u << kSlotShift | (1000 + i)};
    net.b.manager.receive(encode(forged), {kAddressB, kAddressA}, net.now);
    net.run(50 * kMillisecond);
  }
  EXPECT_EQ(net.b.count(Kind::kDisconnected) + net.a.count(Kind::kDisconnected), 0u);
  EXPECT_EQ(net.b.count(Kind::kRequest), 1u);
  EXPECT_EQ(net.b.manager.find(net.b.first(Kind::kEstablished)->connection)->state, State::kEstablished);
}

// The peer was asked whether it has the connection; somebody else answers.
TEST(CmForgery, AnswerToADoubtOfAStranger) {
  Network net;
  Forger forger(net);
  const CommunicationId active = connected(net);
  const CommunicationId passive = net.b.first(Kind::kEstablished)->connection;
  Message forged = forger.caught<Request>();
  ++forged.transaction;
  std::get<Request>(forged.body).local = CommunicationId{1u << kSlotShift | 1000};
  forger.arrive(net.b, forged, {kAddressB, kAddressA});
  ASSERT_EQ(forger.answers.size(), 1u);
  const Message question = *decode(forger.answers[0].mad);
  const Message message{question.transaction, DisconnectReply{active, passive, {}}};
  forger.arrive_in_all_wrong_ways(net.b, message);
  forger.arrive(net.b, {forged.transaction, DisconnectReply{active, passive, {}}}, {kAddressB, kAddressA});
  EXPECT_EQ(net.b.manager.find(passive)->state, State::kEstablished);
  forger.arrive(net.b, message, {kAddressB, kAddressA});
  EXPECT_EQ(net.b.count(Kind::kDisconnected), 1u);
}

// A request that is repeated makes us say the reply again, but to nobody else.
TEST(CmForgery, RepetitionOfARequestByAStranger) {
  Network net;
  Forger forger(net);
  asked(net);
  accepted(net);
  net.run(0);
  const Message request = forger.caught<Request>();
  forger.arrive_with_wrong_transaction(net.b, request);
  EXPECT_TRUE(forger.answers.empty());
  forger.arrive(net.b, request, {kAddressB, kAddressA});
  ASSERT_EQ(forger.answers.size(), 1u);
  EXPECT_EQ(forger.answers[0].gids.remote, kAddressA);
  // From another address it is another's, and its GIDs are not those it says.
  forger.arrive(net.b, request, {kAddressB, kStranger});
  ASSERT_EQ(forger.answers.size(), 2u);
  EXPECT_EQ(std::get<Rejection>(decode(forger.answers[1].mad)->body).reason, RejectReason::kInvalidGid);
}

TEST(CmForgery, ServiceReplyOfAStranger) {
  Network net;
  Forger forger(net);
  const CommunicationId id = net.a.manager.request_service(net.call(kDatagrams), net.now);
  net.run(0);
  ServiceReply reply;
  reply.request = id;
  reply.qpn = Qpn{0x666};
  const Message message{forger.caught<ServiceRequest>().transaction, reply};
  forger.arrive_in_all_wrong_ways(net.a, message);
  EXPECT_EQ(net.a.count(Kind::kServiceReply), 0u);
  forger.arrive(net.a, message, {kAddressA, kAddressB});
  EXPECT_EQ(net.a.count(Kind::kServiceReply), 1u);
}

TEST(CmForgery, RepetitionOfAServiceRequestByAStranger) {
  Network net;
  Forger forger(net);
  net.a.manager.request_service(net.call(kDatagrams), net.now);
  net.run(kMillisecond);
  EXPECT_TRUE(net.b.manager.accept(net.b.first(Kind::kServiceRequest)->connection, 2, {}, {}, net.now));
  net.run(kMillisecond);
  forger.arrive_with_wrong_transaction(net.b, forger.caught<ServiceRequest>());
  EXPECT_TRUE(forger.answers.empty());
  EXPECT_EQ(net.b.count(Kind::kServiceRequest), 1u);
}

// Ids and transactions of the next connection cannot be told from those of the last.
TEST(CmForgery, IdsAndTransactionsHaveNoOrder) {
  Network net;
  std::vector<uint32_t> ids;
  std::vector<uint64_t> transactions;
  for (int i = 0; i < 64; ++i) {
    const CommunicationId id = net.a.manager.connect(net.call(), net.now);
    EXPECT_EQ(slot_of(id), 1u);
    ids.push_back(static_cast<uint32_t>(id));
    transactions.push_back(net.a.manager.find(id)->transaction);
  }
  unsigned near = 0;
  for (size_t i = 1; i < ids.size(); ++i) {
    if (ids[i] - ids[i - 1] + 1024 < 2048) ++near;
    if (static_cast<uint32_t>(transactions[i]) == ids[i]) ++near;
    if (transactions[i] - transactions[i - 1] + (uint64_t{1} << 40) < uint64_t{1} << 41) ++near;
  }
  EXPECT_LE(near, 1u);
}

class Recorded final : public RandomSource {
 public:
  uint64_t next() override { return ++count_ * 0x0101010101010101u; }
  uint64_t count_ = 0;
};

TEST(CmForgery, TheNumbersAreThoseOfTheGivenSource) {
  Recorded random;
  ManagerConfig config = config_of(3);
  config.random = &random;
  Manager manager(config);
  Network net;
  const uint64_t before = random.count_;
  const CommunicationId id = manager.connect(net.call(), net.now);
  EXPECT_EQ(static_cast<uint32_t>(id) & 0xFFFFFF,
            (((before + 1) * 0x010101) & 0x3FFFFF) | (3u << 22 & 0xFFFFFF));
  EXPECT_EQ(manager.find(id)->transaction, (before + 2) * 0x0101010101010101u);
}

// --- reflection ---

// Requests that are not asked for again and again by one who may not even be there.
TEST(CmForgery, AStrangerGetsFewAnswers) {
  Network net;
  const GidPair gids{kAddressB, kStranger};
  const DisconnectRequest request{CommunicationId{5}, CommunicationId{6}, Qpn{7}, {}};
  for (int i = 0; i < 10000; ++i) net.b.manager.receive(encode({1, request}), gids, net.now);
  EXPECT_EQ(net.b.manager.take_outgoing().size(), net.b.manager.config().answers_at_once);
  EXPECT_EQ(net.b.manager.counters().unheard, 10000 - net.b.manager.config().answers_at_once);
  // Others do not suffer, and after a while the stranger is heard again.
  net.b.manager.receive(encode({1, request}), {kAddressB, kAddressA}, net.now);
  EXPECT_EQ(net.b.manager.take_outgoing().size(), 1u);
  net.b.manager.receive(encode({1, request}), gids, net.now + kSecond);
  EXPECT_EQ(net.b.manager.take_outgoing().size(), 1u);
}

TEST(CmForgery, AStrangerCannotTakeAllConnections) {
  Network net;
  Request request;
  request.service = kService;
  request.mtu = 5;
  request.local_gid = kStranger;
  request.remote_gid = kAddressB;
  write_ip_service({1, kStranger, kAddressB},
                   std::span<uint8_t>(request.private_data).first<IpServiceHeader::kBytes>());
  const uint32_t most = net.b.manager.config().pending_per_source_max;
  for (uint32_t i = 0; i < 2 * most; ++i) {
    request.local = CommunicationId{i + 1};
    request.qpn = Qpn{i + 16};
    net.b.manager.receive(encode({i, request}), {kAddressB, kStranger}, net.now);
  }
  EXPECT_EQ(net.b.connections(), most);
  EXPECT_EQ(net.b.manager.counters().unheard, most);
  net.b.manager.take_events();
  net.a.manager.connect(net.call(), net.now);
  net.run(kSecond);
  EXPECT_EQ(net.a.count(Kind::kReply), 1u);
}

}  // namespace
}  // namespace mrc::cm
