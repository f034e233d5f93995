// SPDX-License-Identifier: BSD-2-Clause
// What anybody gets who asks QPN 2: no more than the protocol needs, from one process of a host, not where
// the asker says, and not too often.
#include <gtest/gtest.h>

#include "libmrc/mrc/negotiation.h"
#include "tests/unit/qp_wire_tap.h"

namespace mrc::test {
namespace {

constexpr IpAddress kAnybody = IpAddress::v4(10, 9, 9, 9);

PairOptions extended_options() {
  PairOptions options;
  options.planes = 1;
  options.transport = Transport::kMrc;
  return options;
}

void ask(WirePair& pair, End& to, EndpointOperation operation, uint32_t mask, const IpAddress& source = {}) {
  Bth bth;
  bth.opcode = Opcode::kEndpointRequest;
  bth.destination = kEndpointQpn;
  bth.psn = Psn(0x4242);
  Erth erth;
  erth.operation = operation;
  erth.port_status_mask = mask;
  Craft craft;
  craft.source = source;
  inject(pair, to, craft, bth, erth);
  pair.run_for(3 * kMicrosecond);
}

TEST(EndpointAnswers, TellNoPsnOnceDataHaveArrived) {
  RulePair pair(extended_options());
  pair.run_for(5 * kMillisecond);
  Tap tap(pair.b);
  ask(pair, pair.b, EndpointOperation::kCapabilities, pair.b.qp->qpn().value());
  ASSERT_EQ(tap.count(Opcode::kEndpointResponse), 1u);
  EXPECT_EQ(tap.last(Opcode::kEndpointResponse).eeth.vendor_info, kSpeaksExtension | kTellsExpectedPsn);
  EXPECT_EQ(tap.last(Opcode::kEndpointResponse).eeth.expected_psn,
            pair.b.qp->mrc()->responder().expected().value());
  pair.write(1, 1024);
  ASSERT_TRUE(pair.run([&] { return !pair.a.sends.empty(); }, kSecond));
  tap.clear();
  ask(pair, pair.b, EndpointOperation::kCapabilities, pair.b.qp->qpn().value());
  ASSERT_EQ(tap.count(Opcode::kEndpointResponse), 1u);
  EXPECT_EQ(tap.last(Opcode::kEndpointResponse).eeth.vendor_info, kSpeaksExtension);
  EXPECT_EQ(tap.last(Opcode::kEndpointResponse).eeth.expected_psn, 0u);
}

TEST(EndpointAnswers, TellNoPsnToAnybodyElse) {
  RulePair pair(extended_options());
  pair.run_for(5 * kMillisecond);
  Tap tap(pair.b);
  ask(pair, pair.b, EndpointOperation::kCapabilities, pair.b.qp->qpn().value(), kAnybody);
  ASSERT_EQ(tap.count(Opcode::kEndpointResponse), 1u);
  EXPECT_EQ(tap.last(Opcode::kEndpointResponse).eeth.vendor_info, kSpeaksExtension);
  EXPECT_EQ(tap.last(Opcode::kEndpointResponse).eeth.expected_psn, 0u);
}

// The MAC address in the request is whatever its sender wrote there.
TEST(EndpointAnswers, GoToTheResolvedNextHop) {
  RulePair pair(extended_options());
  pair.run_for(5 * kMillisecond);
  Tap tap(pair.b);
  pair.b.ports[0]->next_hop = MacAddress{{2, 3, 4, 5, 6, 7}};
  ask(pair, pair.b, EndpointOperation::kEvProbe, 0, kAnybody);
  ASSERT_EQ(tap.count(Opcode::kEndpointResponse), 1u);
  EXPECT_TRUE(std::equal(tap.frames.back().begin(), tap.frames.back().begin() + 6,
                         pair.b.ports[0]->next_hop.bytes.begin()));
  pair.b.ports[0]->reachable = false;
  ask(pair, pair.b, EndpointOperation::kEvProbe, 0, kAnybody);
  ask(pair, pair.b, EndpointOperation::kCapabilities, pair.b.qp->qpn().value());
  EXPECT_EQ(tap.count(Opcode::kEndpointResponse), 1u);
  EXPECT_EQ(pair.b.engine->counters().tx_no_next_hop, 2u);
}

// All processes of a host hear it.
TEST(EndpointAnswers, OneProcessOfAHostAnswersAProbe) {
  RulePair pair(extended_options());
  pair.run_for(5 * kMillisecond);
  Tap tap(pair.b);
  pair.b.ports[0]->speaks = false;
  ask(pair, pair.b, EndpointOperation::kEvProbe, 0, kAnybody);
  ask(pair, pair.b, EndpointOperation::kEvProbe, 0);
  ask(pair, pair.b, EndpointOperation::kCapabilities, 0);
  ask(pair, pair.b, EndpointOperation::kCapabilities, pair.b.qp->qpn().value() + 100000);
  EXPECT_EQ(tap.count(Opcode::kEndpointResponse), 0u);
  ask(pair, pair.b, EndpointOperation::kCapabilities, pair.b.qp->qpn().value());
  EXPECT_EQ(tap.count(Opcode::kEndpointResponse), 1u) << "that one is meant";
  pair.b.ports[0]->speaks = true;
  ask(pair, pair.b, EndpointOperation::kEvProbe, 0, kAnybody);
  EXPECT_EQ(tap.count(Opcode::kEndpointResponse), 2u);
}

TEST(EndpointAnswers, AreNotForFloods) {
  RulePair pair(extended_options());
  pair.run_for(5 * kMillisecond);
  const Counters& counters = pair.b.engine->counters();
  for (int i = 0; i < 6000; ++i) ask(pair, pair.b, EndpointOperation::kEvProbe, 0, kAnybody);
  EXPECT_GT(counters.endpoint_answers_withheld, 1000u);
  EXPECT_EQ(counters.endpoint_answers_withheld + counters.endpoint_answers_sent,
            counters.endpoint_requests_received);
  const uint64_t sent = counters.endpoint_answers_sent;
  ask(pair, pair.b, EndpointOperation::kCapabilities, pair.b.qp->qpn().value());
  EXPECT_EQ(counters.endpoint_answers_sent, sent + 1) << "a peer does not suffer";
}

// --- what is taken for an answer, and for a packet of the peer ---

TEST(EndpointAnswers, OfAnotherHostAreNone) {
  RulePair pair(strict_options(1));
  pair.run_for(10 * kMicrosecond);
  EvProbe probe;
  probe.source = pair.address_of(pair.a);
  probe.destination = pair.address_of(pair.b);
  probe.cookie = 99;
  Tap tap(pair.a);
  Tap answers(pair.b);
  answers.drop = [](const Packet&) { return true; };
  ASSERT_TRUE(pair.a.engine->send_ev_probe(probe, pair.now()));
  pair.run_for(20 * kMicrosecond);
  Bth bth;
  bth.opcode = Opcode::kEndpointResponse;
  bth.destination = kEndpointQpn;
  bth.psn = tap.last(Opcode::kEndpointRequest).bth.psn;
  Eeth eeth;
  eeth.operation = EndpointOperation::kEvProbe;
  const auto arrives = [&](const IpAddress& source, Psn id) {
    Craft craft;
    craft.source = source;
    bth.psn = id;
    inject(pair, pair.a, craft, bth, eeth);
    pair.run_for(3 * kMicrosecond);
    return pair.a.seen.probes.count(99) > 0;
  };
  const Psn id = bth.psn;
  EXPECT_FALSE(arrives(kAnybody, id));
  EXPECT_FALSE(arrives({}, id + 1));
  EXPECT_EQ(pair.a.engine->counters().drops_bad_control, 2u);
  EXPECT_TRUE(arrives({}, id));
}

TEST(Strangers, CannotWriteAsThePeer) {
  RulePair pair;
  pair.run_for(10 * kMicrosecond);
  Craft craft;
  craft.source = kAnybody;
  const uint32_t first = pair.b.qp->mrc()->responder().expected().value();
  pair.put(first, pair.bth(first), craft);
  pair.run_for(10 * kMicrosecond);
  EXPECT_EQ(pair.b.engine->counters().drops_wrong_peer, 1u);
  EXPECT_FALSE(pair.b.qp->mrc()->responder().has_received());
  pair.put(first, pair.bth(first), {});
  pair.run_for(10 * kMicrosecond);
  EXPECT_TRUE(pair.b.qp->mrc()->responder().has_received());
}

TEST(Strangers, CannotAcknowledgeWhatWasNeverSent) {
  RulePair pair;
  Tap answers(pair.b);
  answers.drop = [](const Packet&) { return true; };
  Tap sent(pair.a);
  pair.write(1, 1024);
  pair.run_for(10 * kMicrosecond);
  Bth bth;
  bth.opcode = Opcode::kAcknowledge;
  bth.destination = pair.a.qp->qpn();
  const Psn psn = sent.last(Opcode::kWriteOnly).bth.psn;
  for (const uint32_t distance : {1u, 1000u, 1u << 23}) {
    bth.psn = psn + static_cast<int32_t>(distance);
    inject(pair, pair.a, {}, bth, Aeth{Aeth::kAck, 1});
  }
  pair.run_for(10 * kMicrosecond);
  EXPECT_TRUE(pair.a.sends.empty());
  EXPECT_EQ(pair.a.engine->counters().drops_bad_control, 3u);
  bth.psn = psn;
  inject(pair, pair.a, {}, bth, Aeth{Aeth::kAck, 1});
  pair.run_for(10 * kMicrosecond);
  EXPECT_FALSE(pair.a.sends.empty());
}

}  // namespace
}  // namespace mrc::test
