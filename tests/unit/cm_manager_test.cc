// SPDX-License-Identifier: BSD-2-Clause
// The life of connections between two connection managers, on good and bad networks.
#include <gtest/gtest.h>

#include <variant>
#include <vector>

#include "libmrc/cm/manager.h"
#include "tests/unit/cm_network.h"
#include "tests/unit/golden/seed.h"

namespace mrc::cm {
namespace {

TEST(CmManager, ConnectsAndDisconnects) {
  Network net;
  const uint8_t data[] = {1, 2, 3, 4};
  Manager::Call call = net.call();
  call.private_data = data;
  const CommunicationId id = net.a.manager.connect(call, net.now);
  EXPECT_EQ(slot_of(id), 1u);
  net.run(100 * kMillisecond);
  const Event* request = net.b.first(Kind::kRequest);
  ASSERT_NE(request, nullptr);
  EXPECT_EQ(request->owner, kListener);
  EXPECT_EQ(request->private_data.size(), 56u);
  EXPECT_EQ(request->private_data[3], 4);
  EXPECT_EQ(request->there.qpn, Qpn{0x4001});
  EXPECT_EQ(request->there.responder_resources, 4);
  EXPECT_EQ(request->there.initiator_depth, 2);
  const CommunicationId passive_id = request->connection;
  const Event* reply = net.a.first(Kind::kReply);
  ASSERT_NE(reply, nullptr);
  EXPECT_EQ(reply->private_data.size(), 196u);
  EXPECT_EQ(reply->private_data[0], 9);
  EXPECT_EQ(net.b.count(Kind::kEstablished), 1u);
  EXPECT_EQ(net.seen.size(), 3u);
  const Connection* passive = net.b.manager.find(passive_id);
  EXPECT_EQ(passive->state, State::kEstablished);
  EXPECT_EQ(passive->addresses.source_port, 5555);
  EXPECT_EQ(passive->mtu, 5);

  EXPECT_TRUE(net.b.manager.disconnect(passive_id, {}, net.now));
  net.run(100 * kMillisecond);
  EXPECT_EQ(net.a.count(Kind::kDisconnected), 1u);
  EXPECT_EQ(net.b.count(Kind::kDisconnected), 1u);
  EXPECT_TRUE(net.a.manager.disconnect(id, {}, net.now));  // as programs do; it is over already
  EXPECT_EQ(net.a.count(Kind::kTimeWaitOver), 0u);
  net.run(2 * kSecond);
  EXPECT_EQ(net.a.count(Kind::kTimeWaitOver), 1u);
  EXPECT_EQ(net.b.count(Kind::kTimeWaitOver), 1u);
  EXPECT_TRUE(net.a.manager.disconnect(id, {}, net.now));  // and slow ones
  EXPECT_EQ(net.a.manager.counters().unexpected + net.b.manager.counters().unexpected, 0u);
  net.a.manager.release(id, net.now);
  net.b.manager.release(passive_id, net.now);
  EXPECT_EQ(net.a.connections() + net.b.connections(), 0u);
}

TEST(CmManager, EveryMessageLostOnceIsRepeated) {
  for (size_t lost = 0; lost < 5; ++lost) {
    Network net;
    net.lose = lost;
    net.a.manager.connect(net.call(), net.now);
    net.run(kSecond);
    ASSERT_EQ(net.b.count(Kind::kEstablished), 1u) << lost;
    EXPECT_TRUE(net.b.manager.disconnect(net.b.first(Kind::kEstablished)->connection, {}, net.now));
    net.run(kSecond);
    EXPECT_GT(net.seen.size(), 5u) << lost;
    EXPECT_EQ(net.b.count(Kind::kRequest), 1u) << lost;
    EXPECT_EQ(net.a.count(Kind::kReply), 1u) << lost;
    EXPECT_EQ(net.b.count(Kind::kEstablished), 1u) << lost;
    EXPECT_EQ(net.a.count(Kind::kDisconnected), 1u) << lost;
    EXPECT_EQ(net.b.count(Kind::kDisconnected), 1u) << lost;
  }
}

// The whole life of many connections on a bad network: every event exactly once, and nothing is left.
TEST(CmManager, SurvivesLossRepetitionAndDelay) {
  auto seeds = golden::seeded_random();
  for (int round = 0; round < 150; ++round) {
    const uint64_t seed = seeds();
    SCOPED_TRACE(seed);
    Network net;
    net.random.seed(seed);
    net.loss_percent = seed % 25;  // 15 tries in a row are not lost at that
    net.repeat_percent = seed / 40 % 50;
    net.delay_max = seed % 3 * 300 * kMillisecond;
    std::vector<CommunicationId> ids;
    for (uint32_t i = 0; i < 5; ++i) {
      Manager::Call call = net.call();
      call.here.qpn = Qpn{0x4001 + i};
      call.owner = i;
      ids.push_back(net.a.manager.connect(call, net.now));
    }
    // Who is asked for patience (MRA) is silent for 69 s, and the message after that may be lost, too.
    net.run(1000 * kSecond);
    EXPECT_EQ(net.b.count(Kind::kRequest), 5u);
    EXPECT_EQ(net.a.count(Kind::kReply), 5u);
    EXPECT_EQ(net.b.count(Kind::kEstablished), 5u);
    EXPECT_EQ(net.a.count(Kind::kUnreachable) + net.b.count(Kind::kUnreachable), 0u);
    for (size_t i = 0; i < ids.size(); ++i) {
      if (i % 2 == 0) net.a.manager.disconnect(ids[i], {}, net.now);
    }
    for (const Event& event : net.b.events)
      if (event.kind == Kind::kRequest && net.chance(50))
        net.b.manager.disconnect(event.connection, {}, net.now);
    net.run(100 * kSecond);
    for (const CommunicationId id : ids) net.a.manager.release(id, net.now);
    net.run(100 * kSecond);
    EXPECT_EQ(net.a.count(Kind::kDisconnected) + net.b.count(Kind::kDisconnected),
              net.a.count(Kind::kTimeWaitOver) + net.b.count(Kind::kTimeWaitOver));
    for (const Event& event : net.b.events)
      if (event.kind == Kind::kRequest) net.b.manager.release(event.connection, net.now);
    net.run(100 * kSecond);
    EXPECT_EQ(net.a.connections() + net.b.connections(), 0u);
    EXPECT_LE(net.b.count(Kind::kDisconnected), 5u);
  }
}

TEST(CmManager, NobodyListens) {
  Network net;
  net.b.manager.stop_listening(kListener);
  net.a.manager.connect(net.call(), net.now);
  net.run(kSecond);
  ASSERT_EQ(net.a.count(Kind::kRejected), 1u);
  EXPECT_EQ(net.a.first(Kind::kRejected)->reason, 8);
  EXPECT_EQ(net.b.connections(), 0u);
}

TEST(CmManager, TheListenerThatNamesTheAddressComesFirst) {
  Network net;
  net.b.manager.listen({kService, {false, false, false, kAddressB}, false, 2000});
  net.b.manager.listen({kService, {false, false, false, kAddressA}, false, 3000});
  net.a.manager.connect(net.call(), net.now);
  net.run(kSecond);
  ASSERT_NE(net.b.first(Kind::kRequest), nullptr);
  EXPECT_EQ(net.b.first(Kind::kRequest)->owner, 2000u);
}

TEST(CmManager, RejectWithReason) {
  Network net;
  net.automatic = false;
  net.loss_percent = 0;
  net.a.manager.connect(net.call(), net.now);
  net.run(100 * kMillisecond);
  const CommunicationId id = net.b.first(Kind::kRequest)->connection;
  const uint8_t why[] = {'n', 'o'};
  net.loss_percent = 100;  // and it has to be said twice
  EXPECT_TRUE(net.b.manager.reject(id, RejectReason::kConsumer, why, net.now));
  EXPECT_FALSE(net.b.manager.accept(id, 2, {}, {}, net.now));
  net.b.manager.release(id, net.now);
  net.run(10 * kMillisecond);
  net.loss_percent = 0;
  net.run(kSecond);
  ASSERT_EQ(net.a.count(Kind::kRejected), 1u);
  EXPECT_EQ(net.a.first(Kind::kRejected)->reason, 28);
  EXPECT_EQ(net.a.first(Kind::kRejected)->private_data.size(), 148u);
  EXPECT_EQ(net.a.first(Kind::kRejected)->private_data[1], 'o');
  EXPECT_EQ(net.b.count(Kind::kRequest), 1u);
  net.run(5 * kSecond);
  EXPECT_EQ(net.b.connections(), 0u);
}

TEST(CmManager, RejectOfTheReply) {
  Network net;
  net.automatic = false;
  const CommunicationId id = net.a.manager.connect(net.call(), net.now);
  net.run(100 * kMillisecond);
  EXPECT_TRUE(net.b.manager.accept(net.b.first(Kind::kRequest)->connection, 2, {}, {}, net.now));
  net.run(100 * kMillisecond);
  EXPECT_TRUE(net.a.manager.reject(id, RejectReason::kConsumer, {}, net.now));
  EXPECT_FALSE(net.a.manager.ready(id, {}));
  net.run(kSecond);
  EXPECT_EQ(net.b.count(Kind::kRejected), 1u);
}

TEST(CmManager, SilenceIsUnreachable) {
  Network net;
  net.loss_percent = 100;
  const CommunicationId id = net.a.manager.connect(net.call(), net.now);
  net.run(30 * kSecond);
  EXPECT_EQ(net.a.count(Kind::kUnreachable), 0u);
  net.run(60 * kSecond);
  EXPECT_EQ(net.a.count(Kind::kUnreachable), 1u);
  EXPECT_EQ(net.a.manager.counters().repeated, 14u);
  net.a.manager.release(id, net.now);
  EXPECT_EQ(net.a.connections(), 0u);
}

TEST(CmManager, SlowProgramsAreWaitedFor) {
  Network net;
  net.automatic = false;
  net.a.manager.connect(net.call(), net.now);
  net.run(60 * kSecond);  // the answer to a repetition asks for patience
  EXPECT_EQ(net.b.count(Kind::kRequest), 1u);
  EXPECT_EQ(net.a.count(Kind::kUnreachable), 0u);
  EXPECT_LE(net.seen.size(), 4u);
  net.automatic = true;
  EXPECT_TRUE(net.b.manager.accept(net.b.first(Kind::kRequest)->connection, 2, {}, {}, net.now));
  net.run(kSecond);
  EXPECT_EQ(net.b.count(Kind::kEstablished), 1u);
}

TEST(CmManager, WhoGivesUpTellsTheOther) {
  Network net;
  net.automatic = false;
  const CommunicationId id = net.a.manager.connect(net.call(), net.now);
  net.run(100 * kMillisecond);
  const CommunicationId passive = net.b.first(Kind::kRequest)->connection;
  net.a.manager.release(id, net.now);
  net.run(100 * kMillisecond);
  EXPECT_EQ(net.b.count(Kind::kRejected), 1u);
  EXPECT_FALSE(net.b.manager.accept(passive, 2, {}, {}, net.now));
  net.b.manager.release(passive, net.now);
  EXPECT_EQ(net.a.connections() + net.b.connections(), 0u);
}

TEST(CmManager, ReleaseEndsAConnection) {
  Network net;
  const CommunicationId id = net.a.manager.connect(net.call(), net.now);
  net.run(kSecond);
  net.a.manager.release(id, net.now);
  net.run(kSecond);
  EXPECT_EQ(net.b.count(Kind::kDisconnected), 1u);
  EXPECT_EQ(net.a.count(Kind::kDisconnected), 0u);  // nobody listens there any more
  net.run(5 * kSecond);
  EXPECT_EQ(net.a.connections(), 0u);
}

TEST(CmManager, DataCanComeBeforeTheReadyMessage) {
  Network net;
  const CommunicationId id = net.a.manager.connect(net.call(), net.now);
  while (net.b.first(Kind::kRequest) == nullptr) net.run(500);
  const CommunicationId passive = net.b.first(Kind::kRequest)->connection;
  net.run(10);
  EXPECT_TRUE(net.b.manager.established_by_data(passive));
  EXPECT_FALSE(net.b.manager.established_by_data(passive));
  net.run(kSecond);
  EXPECT_EQ(net.b.count(Kind::kEstablished), 1u);
  EXPECT_EQ(net.a.manager.find(id)->state, State::kEstablished);
}

TEST(CmManager, ADisconnectThatOvertakesTheReadyMessage) {
  Network net;
  net.lose = 2;  // the ready message
  const CommunicationId id = net.a.manager.connect(net.call(), net.now);
  net.run(10 * kMillisecond);
  EXPECT_TRUE(net.a.manager.disconnect(id, {}, net.now));
  net.run(10 * kMillisecond);
  ASSERT_EQ(net.b.events.size(), 3u);
  EXPECT_EQ(net.b.events[1].kind, Kind::kEstablished);
  EXPECT_EQ(net.b.events[2].kind, Kind::kDisconnected);
}

// The peer was killed and started again: it has its queue pair numbers again, but knows no connection.
TEST(CmManager, AQueuePairThatAsksAgainHasLostItsConnection) {
  Network net;
  net.a.manager.connect(net.call(), net.now);
  net.run(kSecond);
  net.a.restart(9);
  net.a.manager.connect(net.call(), net.now);
  net.run(kSecond);
  EXPECT_EQ(net.b.count(Kind::kDisconnected), 1u);
  EXPECT_EQ(net.b.count(Kind::kEstablished), 2u) << "the request that was repeated is a new connection";
  EXPECT_EQ(net.a.count(Kind::kRejected), 0u);
}

// It has the connection and asks nevertheless: the connection stays.
TEST(CmManager, AQueuePairThatAsksTwiceIsRefused) {
  Network net;
  net.a.manager.connect(net.call(), net.now);
  net.run(kSecond);
  net.a.manager.connect(net.call(), net.now);
  net.run(kSecond);
  EXPECT_EQ(net.b.count(Kind::kDisconnected), 0u);
  ASSERT_EQ(net.a.count(Kind::kRejected), 1u);
  EXPECT_EQ(net.a.first(Kind::kRejected)->reason, 10);
}

TEST(CmManager, APeerThatDiedIsADisconnect) {
  Network net;
  net.a.manager.connect(net.call(), net.now);
  net.run(kSecond);
  const CommunicationId passive = net.b.first(Kind::kEstablished)->connection;
  net.b.manager.lost(passive, net.now);
  net.b.manager.lost(passive, net.now);
  net.run(0);
  EXPECT_EQ(net.b.count(Kind::kDisconnected), 1u);
}

TEST(CmManager, MessagesOfNobodyAreAnsweredOrDropped) {
  Network net;
  const GidPair gids{kAddressB, kAddressA};
  const CommunicationId theirs{1u << kSlotShift | 5}, ours{2u << kSlotShift | 6};
  net.b.manager.receive(encode({1, DisconnectRequest{theirs, ours, Qpn{7}, {}}}), gids, net.now);
  Reply reply;
  reply.local = theirs;
  reply.remote = ours;
  net.b.manager.receive(encode({1, reply}), gids, net.now);
  net.b.manager.receive(encode({1, Ready{theirs, ours, {}}}), gids, net.now);
  net.b.manager.receive(encode({1, Receipt{theirs, ours, {}, 31, {}}}), gids, net.now);
  net.b.manager.receive(encode({1, DisconnectReply{theirs, ours, {}}}), gids, net.now);
  net.b.manager.receive(encode({1, ServiceReply{ours, {}, {}, {}, 0, {}}}), gids, net.now);
  Rejection rejection;
  rejection.local = theirs;
  rejection.remote = ours;
  net.b.manager.receive(encode({1, rejection}), gids, net.now);
  net.b.manager.receive(std::vector<uint8_t>(255), gids, net.now);
  EXPECT_EQ(net.b.manager.counters().malformed, 1u);
  EXPECT_EQ(net.b.manager.counters().unexpected, 7u);
  const auto out = net.b.manager.take_outgoing();
  ASSERT_EQ(out.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<DisconnectReply>(decode(out[0].mad)->body));
  EXPECT_EQ(std::get<Rejection>(decode(out[1].mad)->body).reason, RejectReason::kInvalidCommunicationId);
  EXPECT_EQ(out[1].target.slot, 1u);
  EXPECT_TRUE(net.b.manager.take_events().empty());
}

TEST(CmManager, ImpossibleRequestsAreRejected) {
  Network net;
  const GidPair gids{kAddressB, kAddressA};
  const auto reason_for = [&](auto&& change) {
    Request request;
    request.local = CommunicationId{1u << kSlotShift | 5};
    request.service = kService;
    request.mtu = 5;
    request.local_gid = kAddressA;
    request.remote_gid = kAddressB;
    write_ip_service({1, kAddressA, kAddressB},
                     std::span<uint8_t>(request.private_data).first<IpServiceHeader::kBytes>());
    change(request);
    net.b.manager.receive(encode({1, request}), gids, net.now);
    return std::get<Rejection>(decode(net.b.manager.take_outgoing().at(0).mad)->body).reason;
  };
  EXPECT_EQ(reason_for([](Request& r) { r.transport = 3; }), RejectReason::kInvalidTransport);
  EXPECT_EQ(reason_for([](Request& r) { r.local_gid = kAddressB; }), RejectReason::kInvalidGid);
  EXPECT_EQ(reason_for([](Request& r) { r.remote_gid = kAddressA; }), RejectReason::kInvalidGid);
  EXPECT_EQ(reason_for([](Request& r) { r.mtu = 0; }), RejectReason::kInvalidMtu);
  EXPECT_EQ(reason_for([](Request& r) { r.mtu = 6; }), RejectReason::kInvalidMtu);
  EXPECT_EQ(reason_for([](Request& r) { r.private_data[0] = 9; }), RejectReason::kUnsupportedRequest);
  EXPECT_EQ(reason_for([](Request& r) { r.service = service_of(0x0106, 1); }),
            RejectReason::kInvalidServiceId);
  EXPECT_EQ(net.b.connections(), 0u);
}

TEST(CmManager, TooManyConnections) {
  ManagerConfig config = config_of(2);
  config.connections_max = 3;
  Manager manager(config);
  Network net;
  for (int i = 0; i < 3; ++i) EXPECT_NE(manager.connect(net.call(), net.now), CommunicationId{});
  EXPECT_EQ(manager.connect(net.call(), net.now), CommunicationId{});
  EXPECT_EQ(manager.request_service(net.call(), net.now), CommunicationId{});
}

TEST(CmManager, Datagrams) {
  auto seeds = golden::seeded_random();
  for (int round = 0; round < 50; ++round) {
    const uint64_t seed = seeds();
    SCOPED_TRACE(seed);
    Network net;
    net.random.seed(seed);
    net.loss_percent = seed % 25;  // 15 tries in a row are not lost at that
    net.repeat_percent = seed / 50 % 50;
    const uint8_t data[] = {4, 5};
    Manager::Call call = net.call(kDatagrams);
    call.private_data = data;
    const CommunicationId id = net.a.manager.request_service(call, net.now);
    net.run(60 * kSecond);
    ASSERT_EQ(net.b.count(Kind::kServiceRequest), 1u);
    EXPECT_EQ(net.b.first(Kind::kServiceRequest)->owner, kListener + 1);
    EXPECT_EQ(net.b.first(Kind::kServiceRequest)->private_data.size(), 180u);
    EXPECT_EQ(net.b.first(Kind::kServiceRequest)->private_data[1], 5);
    ASSERT_EQ(net.a.count(Kind::kServiceReply), 1u);
    const Event& reply = *net.a.first(Kind::kServiceReply);
    EXPECT_EQ(reply.service_status, ServiceStatus::kValid);
    EXPECT_EQ(reply.there.queue_key, 0x01234567u);
    EXPECT_GE(reply.there.qpn.value(), 0x8000u);
    EXPECT_EQ(reply.private_data.size(), 136u);
    EXPECT_EQ(reply.private_data[2], 7);
    net.a.manager.release(id, net.now);
    net.b.manager.release(net.b.first(Kind::kServiceRequest)->connection, net.now);
    net.run(10 * kSecond);
    EXPECT_EQ(net.a.connections() + net.b.connections(), 0u);
  }
}

TEST(CmManager, DatagramsThatMayAllBeLostEndOnce) {
  auto seeds = golden::seeded_random();
  size_t answered = 0;
  constexpr size_t kRounds = 200;
  for (size_t round = 0; round < kRounds; ++round) {
    const uint64_t seed = seeds();
    SCOPED_TRACE(seed);
    Network net;
    net.random.seed(seed);
    net.loss_percent = 70;
    const CommunicationId id = net.a.manager.request_service(net.call(kDatagrams), net.now);
    net.run(100 * kSecond);
    EXPECT_EQ(net.a.count(Kind::kServiceReply) + net.a.count(Kind::kUnreachable), 1u);
    answered += net.a.count(Kind::kServiceReply);
    net.a.manager.release(id, net.now);
    EXPECT_EQ(net.a.connections(), 0u);
  }
  // A try comes through once in 11 times, so that both ends are about as frequent.
  EXPECT_GT(answered, kRounds / 10);
  EXPECT_LT(answered, kRounds - kRounds / 10);
}

TEST(CmManager, DatagramsForNobody) {
  Network net;
  net.a.manager.request_service(net.call(), net.now);  // a service of connections
  net.run(kSecond);
  ASSERT_EQ(net.a.count(Kind::kServiceReply), 1u);
  EXPECT_EQ(net.a.first(Kind::kServiceReply)->service_status, ServiceStatus::kUnsupported);
}

TEST(CmManager, DatagramsRejected) {
  Network net;
  net.automatic = false;
  net.a.manager.request_service(net.call(kDatagrams), net.now);
  net.run(100 * kMillisecond);
  net.b.manager.release(net.b.first(Kind::kServiceRequest)->connection, net.now);
  net.run(100 * kMillisecond);
  ASSERT_EQ(net.a.count(Kind::kServiceReply), 1u);
  EXPECT_EQ(net.a.first(Kind::kServiceReply)->service_status, ServiceStatus::kRejected);
  net.run(5 * kSecond);
  EXPECT_EQ(net.b.connections(), 0u);
}

// Whatever comes in, in whatever state: no crash, no endless growth.
TEST(CmManager, Noise) {
  auto random = golden::seeded_random();
  Network net;
  const GidPair gids{kAddressB, kAddressA};
  std::vector<uint32_t> known;
  for (int i = 0; i < 30000; ++i) {
    Mad mad = encode({random(), Ready{}});
    for (size_t at = 18; at < kMadBytes; ++at) mad[at] = static_cast<uint8_t>(random());
    mad[17] = static_cast<uint8_t>(0x10 + random() % 9);
    if (mad[17] == 0x10 || mad[17] == 0x17) {
      // Often enough a request that is taken.
      const uint64_t service = static_cast<uint64_t>(mad[17] == 0x10 ? kService : kDatagrams);
      for (int b = 0; b < 8; ++b) mad[32 + b] = static_cast<uint8_t>(service >> (56 - 8 * b));
      mad[mad[17] == 0x10 ? 164 : 40] = 0;
      mad[mad[17] == 0x10 ? 165 : 41] = 0x40;
      if (mad[17] == 0x10) {
        std::copy(kAddressA.bytes.begin(), kAddressA.bytes.end(), mad.begin() + 80);
        std::copy(kAddressB.bytes.begin(), kAddressB.bytes.end(), mad.begin() + 96);
      }
    } else if (!known.empty() && random() % 4 != 0) {
      const uint32_t id = known[random() % known.size()];
      const size_t at = mad[17] == 0x18 ? 24 : 28;
      for (int b = 0; b < 4; ++b) mad[at + b] = static_cast<uint8_t>(id >> (24 - 8 * b));
      // And often from the peer, by what it says.
      const Connection* connection = net.b.manager.find(CommunicationId{id});
      if (connection != nullptr && random() % 2 == 0)
        for (int b = 0; b < 8; ++b)
          mad[8 + b] = static_cast<uint8_t>(connection->transaction >> (56 - 8 * b));
    }
    net.b.manager.receive(mad, gids, net.now);
    for (const Event& event : net.b.manager.take_events()) {
      if (event.kind == Kind::kRequest || event.kind == Kind::kServiceRequest) {
        known.push_back(static_cast<uint32_t>(event.connection));
        if (random() % 2 == 0) net.b.manager.accept(event.connection, 5, {}, {}, net.now);
      }
    }
    if (!known.empty() && random() % 3 == 0) {
      const size_t at = random() % known.size();
      net.b.manager.release(CommunicationId{known[at]}, net.now);
      known.erase(known.begin() + static_cast<ptrdiff_t>(at));
    }
    net.now += random() % (200 * kMillisecond);
    net.b.manager.on_time(net.now);
    net.b.manager.take_outgoing();
  }
  for (const uint32_t id : known) net.b.manager.release(CommunicationId{id}, net.now);
  net.now += 300 * kSecond;
  for (int i = 0; i < 200; ++i) net.b.manager.on_time(net.now += kSecond);
  EXPECT_EQ(net.b.connections(), 0u);
  EXPECT_EQ(net.b.manager.next_deadline(), kNever);
}

}  // namespace
}  // namespace mrc::cm
