// SPDX-License-Identifier: BSD-2-Clause
// MRC 4.6: what the peer is said to have told of its ports, when that is not so, and when nothing is left.
#include <gtest/gtest.h>

#include "tests/unit/qp_wire_tap.h"

namespace mrc::test {
namespace {

// As if the other end had told `to` of its ports.
void tell_ports(WirePair& pair, End& to, PlaneMask usable, uint16_t timestamp = 0) {
  Bth bth;
  bth.opcode = Opcode::kEndpointRequest;
  bth.destination = kEndpointQpn;
  Erth erth;
  erth.operation = EndpointOperation::kPortStatusUpdate;
  erth.port_status_mask = usable;
  erth.time = {timestamp, true};
  inject(pair, to, {}, bth, erth);
}

// A message takes many round trips.
PairOptions slow_options() {
  PairOptions options = strict_options(2);
  options.tune = [](EngineConfig* config) { config->transport.window_bytes = 64 * 1112; };
  return options;
}

TEST(PortNews, OneForgedUpdateDoesNotStopTheTraffic) {
  for (const PlaneMask usable : {PlaneMask{0}, PlaneMask{1}}) {
    RulePair pair(slow_options());
    pair.write(1, 1 << 20);
    pair.run_for(20 * kMicrosecond);
    tell_ports(pair, pair.a, usable);
    pair.run_for(2 * kMicrosecond);
    EXPECT_EQ(pair.a.qp->paths().port_planes(), usable) << "believed at first";
    ASSERT_TRUE(pair.run([&] { return !pair.a.sends.empty(); }, 20 * kMillisecond));
    EXPECT_EQ(pair.poll(pair.a.sends)[0].status, CompletionStatus::kSuccess);
    EXPECT_EQ(pair.a.qp->paths().port_planes(), 3u);
    EXPECT_EQ(pair.a.engine->counters().port_updates_refuted, usable == 0 ? 2u : 1u);
    tell_ports(pair, pair.a, usable, 1);
    pair.run_for(2 * kMicrosecond);
    EXPECT_EQ(pair.a.qp->paths().port_planes(), 3u) << "of planes that still deliver it is not believed";
  }
}

TEST(PortNews, ThatIsTrueHoldsUntilItIsTakenBack) {
  RulePair pair(strict_options(2));
  pair.set_step(5 * kMicrosecond);
  pair.b.ports[1]->up = false;
  ASSERT_TRUE(pair.run([&] { return pair.a.qp->paths().port_planes() == 1; }, 10 * kMillisecond));
  for (int i = 0; i < 30; ++i) {  // longer than the life of news that is not repeated
    pair.run_for(100 * kMillisecond);
    ASSERT_EQ(pair.a.qp->paths().port_planes(), 1u);
  }
  EXPECT_EQ(pair.a.engine->counters().port_updates_refuted, 0u);
  pair.b.ports[1]->up = true;
  ASSERT_TRUE(pair.run([&] { return pair.a.qp->paths().port_planes() == 3; }, 10 * kMillisecond));
}

TEST(PortNews, ThatIsNotRepeatedExpires) {
  RulePair pair(strict_options(2));
  pair.set_step(5 * kMicrosecond);
  Tap tap(pair.b);
  tap.drop = [](const Packet& packet) { return packet.bth.opcode == Opcode::kSack; };
  tell_ports(pair, pair.a, 0);
  pair.run_for(900 * kMillisecond);
  EXPECT_EQ(pair.a.qp->paths().port_planes(), 0u);
  pair.run_for(200 * kMillisecond);
  EXPECT_EQ(pair.a.qp->paths().port_planes(), 3u);
}

// Whatever the reason: what waits ends in the time that the retries take, and nobody turns in circles.
TEST(PortNews, WhenNoPortIsLeftTheRetriesEnd) {
  for (const bool here : {true, false}) {
    PairOptions options = strict_options(2);
    options.retry_linear = 3;
    RulePair pair(options);
    pair.run_for(100 * kMicrosecond);
    for (auto& port : pair.a.ports) {
      if (here) port->up = false;
      port->drop = [](const PipePort::Frame&) { return true; };
    }
    if (!here) tell_ports(pair, pair.a, 0);
    pair.run_for(100 * kMicrosecond);
    pair.write(1, 64 * 1024);
    pair.run_for(100 * kMicrosecond);
    EXPECT_GT(pair.a.engine->next_deadline(), pair.now()) << "it need not be asked all the time";
    ASSERT_TRUE(pair.run([&] { return !pair.a.sends.empty(); }, 100 * kMillisecond));
    EXPECT_EQ(pair.poll(pair.a.sends)[0].status, CompletionStatus::kRetryExceeded);
    EXPECT_GT(pair.now(), 35 * kMillisecond);
    EXPECT_EQ(pair.a.engine->counters().retry_exceeded, 1u);
  }
}

TEST(PortNews, WhatWasUnderWayEndsToo) {
  RulePair pair(slow_options());
  pair.write(1, 1 << 20);
  pair.run_for(20 * kMicrosecond);
  for (auto& port : pair.a.ports) port->up = false;
  ASSERT_TRUE(pair.run([&] { return !pair.a.sends.empty(); }, 200 * kMillisecond));
  EXPECT_EQ(pair.poll(pair.a.sends)[0].status, CompletionStatus::kRetryExceeded);
}

TEST(PortNews, AShortOutageOfAllPortsCostsNothingButTime) {
  RulePair pair(slow_options());
  pair.write(1, 1 << 20);
  pair.run_for(20 * kMicrosecond);
  for (auto& port : pair.a.ports) port->up = false;
  pair.run_for(30 * kMillisecond);
  for (auto& port : pair.a.ports) port->up = true;
  ASSERT_TRUE(pair.run([&] { return !pair.a.sends.empty(); }, 20 * kMillisecond));
  EXPECT_EQ(pair.poll(pair.a.sends)[0].status, CompletionStatus::kSuccess);
  EXPECT_EQ(pair.data, pair.target);
}

// When the port comes back all who have waited for it want to send, and the last ones find no room. They come
// again when there is some, for no more news will call them.
TEST(PortNews, WhoFindsNoRoomAfterAnOutageComesAgain) {
  RulePair pair(slow_options());
  for (auto& port : pair.a.ports) port->up = false;
  pair.run_for(kMillisecond);
  pair.write(1, 4096);
  pair.run_for(kMillisecond);
  for (auto& port : pair.a.ports) {
    port->linked = false;
    port->up = true;
  }
  pair.run_for(kMillisecond / 2);
  for (auto& port : pair.a.ports) port->linked = true;
  // Before the peer is told of the ports once more: its answer would call it, too.
  ASSERT_TRUE(pair.run([&] { return !pair.a.sends.empty(); }, 100 * kMicrosecond));
  EXPECT_EQ(pair.poll(pair.a.sends)[0].status, CompletionStatus::kSuccess);
}

TEST(PortNews, APeerWithoutANextHopIsGivenUp) {
  PairOptions options = strict_options(1);
  options.b_reaches_a = false;
  RulePair pair(options);
  pair.set_step(50 * kMicrosecond);
  pair.post(pair.b, Operation::kWrite, 1, {{pair.to.address, 1024, pair.to.key}});
  pair.ring(pair.b);
  pair.run_for(4 * kSecond);
  EXPECT_TRUE(pair.b.sends.empty()) << "that may take a while";
  ASSERT_TRUE(pair.run([&] { return !pair.b.sends.empty(); }, 2 * kSecond));
  EXPECT_EQ(pair.poll(pair.b.sends)[0].status, CompletionStatus::kRetryExceeded);
}

// Which queue pair to that host was made first, and what it speaks, does not matter.
TEST(PortNews, OldNewsAreOldAlsoBesidePlainRc) {
  RulePair pair(strict_options(2));
  QueuePairConfig config;
  config.domain = WirePair::kDomain;
  config.send_completions = &pair.a.sends;
  config.receive_completions = &pair.a.receives;
  config.transport = Transport::kRc;
  const auto connect = [&](Transport transport) {
    config.transport = transport;
    QueuePair* qp = pair.a.engine->create(config);
    QueuePairAttributes attributes;
    attributes.state = QueuePairState::kInit;
    EXPECT_TRUE(pair.a.engine->modify(*qp, attributes, pair.now()));
    attributes.state = QueuePairState::kReadyToReceive;
    attributes.source = pair.address_of(pair.a);
    attributes.destination = pair.address_of(pair.b);
    attributes.destination_qpn = Qpn{99};
    attributes.mtu = 1024;
    attributes.receive_psn = Psn{0};
    EXPECT_TRUE(pair.a.engine->modify(*qp, attributes, pair.now()));
    return qp;
  };
  pair.a.engine->destroy(pair.a.qp);
  connect(Transport::kRc);
  const QueuePair* mrc = connect(Transport::kMrcStrict);
  tell_ports(pair, pair.a, 3, 100);
  pair.run_for(2 * kMicrosecond);
  tell_ports(pair, pair.a, 1, 50);
  pair.run_for(2 * kMicrosecond);
  EXPECT_EQ(mrc->paths().port_planes(), 3u);
  EXPECT_EQ(pair.a.engine->counters().port_updates_old, 1u);
}

}  // namespace
}  // namespace mrc::test
