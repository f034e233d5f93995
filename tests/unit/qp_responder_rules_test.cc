// SPDX-License-Identifier: BSD-2-Clause
// What MRC asks of a responder, rule by rule (docs/protocol.md), seen on the wire.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/unit/qp_wire_tap.h"

namespace mrc::test {
namespace {

constexpr uint32_t kFirst = 5;  // PSN of a's first packet

TEST(ResponderRules, PacketsArePlacedAsTheyArrive) {
  RulePair pair;
  Tap tap(pair.a);
  bool blocked = true;
  tap.drop = [&](const Packet& packet) { return blocked && packet.bth.psn == Psn(kFirst); };
  pair.write(1, 3 * 1024);
  pair.run_for(30 * kMicrosecond);
  EXPECT_EQ(pair.target[0], 0) << "its packet was kept back";
  EXPECT_EQ(0, std::memcmp(pair.target.data() + 1024, pair.data.data() + 1024, 2048));
  EXPECT_TRUE(pair.a.sends.empty());
  blocked = false;
  ASSERT_TRUE(pair.run([&] { return !pair.a.sends.empty(); }, kSecond));
  EXPECT_EQ(0, std::memcmp(pair.target.data(), pair.data.data(), 3072));
}

TEST(ResponderRules, ADuplicateIsAnsweredAndNotPlaced) {
  RulePair pair;
  Tap sent(pair.a);
  pair.write(1, 1024);
  ASSERT_TRUE(pair.run([&] { return !pair.a.sends.empty(); }, kSecond));
  pair.target[0] = 0x77;  // the application has gone on
  Tap answers(pair.b);
  pair.b.ports[0]->arrived.emplace(pair.now(), sent.frames.at(0));
  pair.run_for(10 * kMicrosecond);
  EXPECT_EQ(pair.target[0], 0x77);
  EXPECT_EQ(answers.count(Opcode::kSack), 1u);
  EXPECT_EQ(answers.count(Opcode::kAcknowledge), 1u) << "the requester may have missed it";
  EXPECT_EQ(pair.b.engine->counters().duplicates, 1u);
}

// Eight paths on one plane, of which the operator of the receiver has denied some.
class DeniedArrivals : public PathSource {
 public:
  std::vector<EvEntry> paths_to(const IpAddress&) override {
    std::vector<EvEntry> entries;
    for (uint32_t i = 0; i < 8; ++i) entries.push_back({.entropy = make_entropy(0, i), .plane = 0});
    return entries;
  }
  std::vector<EvEntry> paths_from(const IpAddress& source) override {
    std::vector<EvEntry> entries = paths_to(source);
    entries[3].denied = denied;
    return entries;
  }
  bool denied = true;
};

// MRC 1.4, ALWAYS_SKIP: told at once, in answers to probes too, and not any more when the link is allowed.
TEST(ResponderRules, ThePeerIsToldToLeavePathsOverDeniedLinks) {
  DeniedArrivals paths;
  PairOptions options = strict_options(1);
  options.tune = [&paths](EngineConfig* config) {
    config->path_source = &paths;
    config->transport.paths_per_plane = 8;
    config->transport.tell_denied = true;
  };
  RulePair pair(options);
  const auto bad_paths = [&] {
    std::vector<Entropy> bad;
    const PathSet& set = pair.a.qp->paths();
    for (size_t i = 0; i < set.size(); ++i)
      if (set.at(PathId(i)).state == PathState::kAssumedBad) bad.push_back(set.at(PathId(i)).entropy);
    return bad;
  };
  Tap answers(pair.b);
  pair.write(1, 64 * 1024);
  ASSERT_TRUE(pair.run([&] { return !pair.a.sends.empty(); }, kSecond));
  size_t told = 0;
  for (const Packet& packet : answers.packets) {
    if (packet.bth.opcode != Opcode::kSack || packet.sack.mark == PathMark::kNone) continue;
    EXPECT_EQ(packet.sack.mark, PathMark::kAlwaysSkip);
    EXPECT_EQ(packet.sack.entropy, make_entropy(0, 3));
    ++told;
  }
  EXPECT_GT(told, 0u);
  EXPECT_EQ(bad_paths(), std::vector{make_entropy(0, 3)});
  pair.run_for(100 * kMillisecond);
  EXPECT_GT(pair.a.engine->counters().probes_answered, 0u);
  EXPECT_EQ(bad_paths().size(), 1u) << "probes of it are answered in the same way";
  paths.denied = false;
  pair.b.engine->follow_profiles(pair.now());
  ASSERT_TRUE(pair.run([&] { return bad_paths().empty(); }, 5 * kSecond));
  EXPECT_EQ(pair.a.engine->counters().retransmits(), 0u) << "nothing was lost by it";
}

TEST(ResponderRules, ImmediatesWaitForEverythingBefore) {
  RulePair pair;
  for (uint64_t i = 0; i < 4; ++i) pair.post_receive(pair.b, i, {});
  Tap tap(pair.a);
  bool blocked = true;
  tap.drop = [&](const Packet& packet) { return blocked && packet.bth.psn == Psn(kFirst); };
  pair.write(0, 1024);
  for (uint32_t i = 1; i <= 4; ++i) pair.write(i, 512, i * 1024, Operation::kWriteImm);
  pair.run_for(40 * kMicrosecond);
  EXPECT_TRUE(pair.b.receives.empty());
  EXPECT_EQ(pair.target[4096], pair.data[4096]) << "the data are there already";
  blocked = false;
  ASSERT_TRUE(pair.run([&] { return pair.b.receives.pushed() == 4; }, kSecond));
  const auto received = pair.poll(pair.b.receives);
  for (uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(received[i].work_id, i);
    EXPECT_EQ(received[i].immediate, i + 1);
  }
}

// How many SACKs a packet causes at once.
size_t sacks_after(RulePair& pair, Tap& tap, const Bth& bth, const Craft& craft = {}) {
  tap.clear();
  pair.put(bth.psn.value(), bth, craft);
  pair.run_for(3 * kMicrosecond);
  return tap.count(Opcode::kSack);
}

TEST(ResponderRules, WhatMakesASackGoOut) {
  RulePair pair;
  Tap tap(pair.b);
  uint32_t psn = kFirst;
  EXPECT_EQ(sacks_after(pair, tap, pair.bth(psn)), 1u) << "the first packet";
  // 16 KiB and a little: every packet counts as 1 KiB at least.
  Craft small;
  small.payload = {1, 2, 3, 4};
  size_t sacks = 0;
  for (int i = 0; i < 16; ++i) sacks += sacks_after(pair, tap, pair.bth(++psn), small);
  EXPECT_EQ(sacks, 0u);
  EXPECT_EQ(sacks_after(pair, tap, pair.bth(++psn), small), 1u) << "more than 16 KiB";
  EXPECT_EQ(sacks_after(pair, tap, pair.bth(++psn)), 0u) << "the count begins anew";
  EXPECT_EQ(sacks_after(pair, tap, pair.bth(++psn, true)), 1u) << "AckReq";
  EXPECT_EQ(sacks_after(pair, tap, pair.bth(++psn, false, true)), 1u) << "a retransmission";
  Craft marked;
  marked.ecn = Ecn::kCongestion;
  EXPECT_EQ(sacks_after(pair, tap, pair.bth(++psn), marked), 1u) << "CE";
  tap.clear();
  Bth probe;
  probe.opcode = Opcode::kProbe;
  probe.destination = pair.b.qp->qpn();
  Peth peth;
  peth.probe_id = 77;
  peth.source_qpn_low = static_cast<uint16_t>(pair.a.qp->qpn().value());
  peth.destination_qpn_low = static_cast<uint16_t>(pair.b.qp->qpn().value());
  inject(pair, pair.b, {}, probe, peth);
  pair.run_for(3 * kMicrosecond);
  ASSERT_EQ(tap.count(Opcode::kSack), 1u) << "a probe";
  EXPECT_TRUE(tap.last(Opcode::kSack).sack.answers_probe);
  EXPECT_EQ(tap.last(Opcode::kSack).sack.trigger, 77u);
}

TEST(ResponderRules, WhatASackTells) {
  RulePair pair;
  Tap tap(pair.b);
  pair.put(kFirst, pair.bth(kFirst), {});
  pair.put(kFirst + 2, pair.bth(kFirst + 2), {});
  pair.run_for(3 * kMicrosecond);
  tap.clear();
  Craft marked;
  marked.ecn = Ecn::kCongestion;
  marked.entropy = Entropy{0xC123};
  pair.put(kFirst + 5, pair.bth(kFirst + 5), marked, 0x4321);
  pair.run_for(3 * kMicrosecond);
  ASSERT_GE(tap.count(Opcode::kSack), 1u);
  const Packet& packet = tap.last(Opcode::kSack);
  const Sack& sack = packet.sack;
  EXPECT_EQ(sack.cumulative_psn, Psn(kFirst));
  EXPECT_EQ(packet.bth.psn, Psn(kFirst));
  EXPECT_EQ(static_cast<int16_t>(sack.trigger), 5);
  EXPECT_EQ(sack.entropy, Entropy{0xC123});
  EXPECT_EQ(sack.timestamp, 0x4321);
  EXPECT_EQ(sack.mark, PathMark::kSkipOnce);
  EXPECT_EQ(sack.out_of_order, 2u);
  EXPECT_EQ(sack.received_units, (3u * (1024 + 88) + 255) / 256) << "nominal sizes, SPEC 8.3.1";
  EXPECT_EQ(sack.mpr, 0u) << "dynamic MPR is off";
  const Psn base = sack.cumulative_psn + sack.bitmap_offset;
  for (uint32_t psn = kFirst + 1; psn <= kFirst + 5; ++psn) {
    if (Psn(psn) < base) continue;
    const bool there = psn == kFirst + 2 || psn == kFirst + 5;
    EXPECT_EQ((sack.bitmap >> (Psn(psn) - base) & 1) != 0, there) << psn;
  }
}

TEST(ResponderRules, ATrimmedPacketIsAskedFor) {
  for (const bool last_hop : {false, true}) {
    RulePair pair;
    Tap tap(pair.b);
    Craft trimmed;
    trimmed.dscp = last_hop ? 16 : 12;
    trimmed.cut = 14 + 20 + 8 + 12 + 4 + 4 + 10;
    trimmed.entropy = Entropy{0xC222};
    pair.put(kFirst + 1, pair.bth(kFirst + 1), trimmed, 0x2222);
    pair.run_for(3 * kMicrosecond);
    ASSERT_EQ(tap.count(Opcode::kNack), 1u);
    const Neth& neth = tap.last(Opcode::kNack).neth;
    EXPECT_EQ(neth.reason, last_hop ? NackReason::kTrimmedLastHop : NackReason::kTrimmed);
    EXPECT_EQ(neth.psn, Psn(kFirst + 1));
    EXPECT_EQ(neth.entropy, Entropy{0xC222});
    EXPECT_EQ(neth.timestamp, 0x2222);
    EXPECT_EQ(pair.b.engine->counters().nacks_sent_by[nack_index(neth.reason)], 1u);
    // Once the data are there, a SACK says so instead.
    pair.put(kFirst, pair.bth(kFirst), {});
    pair.run_for(3 * kMicrosecond);
    tap.clear();
    pair.put(kFirst, pair.bth(kFirst), trimmed);
    pair.run_for(3 * kMicrosecond);
    EXPECT_EQ(tap.count(Opcode::kNack), 0u);
    EXPECT_EQ(tap.count(Opcode::kSack), 1u);
  }
}

// Beyond MRC: a receiver-aware responder counts who sends, and says so where it is heard first.
TEST(ResponderRules, NacksCarryTheDegreeOfIncast) {
  for (const auto algorithm : {CongestionAlgorithm::kNscc, CongestionAlgorithm::kReceiverAware}) {
    PairOptions options = strict_options();
    options.tune = [algorithm](EngineConfig* config) {
      config->transport.congestion = algorithm;
      config->transport.link_rate_bps = 100'000'000'000;
      config->transport.nscc = nscc_defaults(100'000'000'000, 12 * kMicrosecond, 1024, true);
    };
    RulePair pair(options);
    Tap tap(pair.b);
    Craft trimmed;
    trimmed.dscp = 16;
    trimmed.cut = 14 + 20 + 8 + 12 + 4 + 4 + 10;
    pair.put(kFirst, pair.bth(kFirst), trimmed);
    pair.run_for(3 * kMicrosecond);
    ASSERT_EQ(tap.count(Opcode::kNack), 1u);
    const bool counts = algorithm == CongestionAlgorithm::kReceiverAware;
    EXPECT_EQ(tap.last(Opcode::kNack).neth.vendor_info, counts ? encode_incast_degree(1) : 0);
  }
}

TEST(ResponderRules, OutOfTheWindowIsToldOnceInAWhile) {
  RulePair pair;
  Tap tap(pair.b);
  pair.run_for(200 * kMicrosecond);
  for (uint32_t i = 0; i < 10; ++i) pair.put(kFirst, pair.bth(kFirst + 1024 + i), {});
  pair.run_for(5 * kMicrosecond);
  EXPECT_EQ(pair.b.engine->counters().out_of_window, 10u);
  ASSERT_EQ(tap.count(Opcode::kNack), 1u);
  EXPECT_EQ(tap.last(Opcode::kNack).neth.reason, NackReason::kPsnOutOfWindow);
  EXPECT_EQ(pair.target[(kFirst % 512) * 1024], 0);
}

TEST(ResponderRules, EndpointRequestsAreAnsweredFromQpn2) {
  RulePair pair;
  Tap tap(pair.b);
  Bth bth;
  bth.opcode = Opcode::kEndpointRequest;
  bth.destination = kEndpointQpn;
  bth.psn = Psn(0x4242);
  Erth erth;
  erth.operation = EndpointOperation::kEvProbe;
  erth.time = {0x5555, true};
  Craft craft;
  craft.source = IpAddress::v4(10, 9, 9, 9);  // nobody it is connected to
  craft.entropy = Entropy{0xC0DE};
  inject(pair, pair.b, craft, bth, erth);
  pair.run_for(3 * kMicrosecond);
  ASSERT_EQ(tap.count(Opcode::kEndpointResponse), 1u);
  const Packet& answer = tap.last(Opcode::kEndpointResponse);
  EXPECT_EQ(answer.bth.destination, kEndpointQpn);
  EXPECT_EQ(answer.bth.psn, Psn(0x4242));
  EXPECT_EQ(answer.eeth.timestamp, 0x5555);
  EXPECT_EQ(answer.destination, craft.source);
  EXPECT_EQ(answer.entropy, craft.entropy);
}

// Packets of WRITEs that would touch a byte outside of the region, whichever part of the message they are.
TEST(ResponderRules, NothingIsPlacedOutsideTheRegion) {
  constexpr uint32_t kRegion = 8192;
  constexpr uint8_t kUntouched = 0xA5;
  struct Case {
    const char* what;
    Opcode opcode;
    int64_t at;  // from the start of the region
    uint32_t message_bytes;
    bool refused;
  };
  for (const Case& each : {Case{"all inside", Opcode::kWriteOnly, kRegion - 1024, 1024, false},
                           Case{"a byte behind", Opcode::kWriteOnly, kRegion - 1023, 1024, true},
                           Case{"a byte before", Opcode::kWriteOnly, -1, 1024, true},
                           Case{"far away", Opcode::kWriteOnly, int64_t{1} << 40, 1024, true},
                           Case{"a message that does not fit", Opcode::kWriteFirst, 1024, kRegion, true},
                           Case{"longer than the region", Opcode::kWriteMiddle, 1024, kRegion + 1, true},
                           Case{"a middle that is the end", Opcode::kWriteMiddle, kRegion - 1024, 4096, true},
                           Case{"a middle behind the end", Opcode::kWriteMiddle, kRegion, 4096, true},
                           Case{"a last that began before", Opcode::kWriteLast, 1024, 4096, true},
                           Case{"a last behind the end", Opcode::kWriteLast, kRegion - 1023, 4096, true}}) {
    SCOPED_TRACE(each.what);
    RulePair pair;
    std::vector<uint8_t> memory(3 * kRegion, kUntouched);
    const Segment region = pair.segment(pair.b, memory.data() + kRegion, kRegion, kRemoteWrite);
    Bth bth = pair.bth(kFirst, true);
    bth.opcode = each.opcode;
    Craft craft;
    craft.payload.assign(1024, 0x11);
    inject(pair, pair.b, craft, bth, Meth{}, Tseth{},
           Reth{region.address + static_cast<uint64_t>(each.at), region.key, each.message_bytes});
    pair.run_for(20 * kMicrosecond);
    EXPECT_EQ(pair.b.engine->counters().naks_sent, each.refused ? 1u : 0u);
    EXPECT_EQ(std::count(memory.begin(), memory.end(), kUntouched),
              memory.size() - (each.refused ? 0 : 1024));
  }
}

TEST(ResponderRules, PortUpdatesCountFromPeersOnly) {
  RulePair pair(strict_options(2));
  Bth bth;
  bth.opcode = Opcode::kEndpointRequest;
  bth.destination = kEndpointQpn;
  Erth erth;
  erth.operation = EndpointOperation::kPortStatusUpdate;
  erth.port_status_mask = 1;
  Craft stranger;
  stranger.source = IpAddress::v4(10, 9, 9, 9);
  inject(pair, pair.b, stranger, bth, erth);
  pair.run_for(3 * kMicrosecond);
  EXPECT_EQ(pair.b.qp->paths().port_planes(), 3u);
  EXPECT_EQ(pair.b.engine->counters().port_updates_refused, 1u);
  inject(pair, pair.b, {}, bth, erth);
  pair.run_for(3 * kMicrosecond);
  EXPECT_EQ(pair.b.qp->paths().port_planes(), 1u);
}

TEST(ResponderRules, APortUpdateThatWasOvertakenChangesNothing) {
  RulePair pair(strict_options(2));
  Bth bth;
  bth.opcode = Opcode::kEndpointRequest;
  bth.destination = kEndpointQpn;
  const auto tell = [&](uint32_t mask, uint16_t timestamp) {
    Erth erth;
    erth.operation = EndpointOperation::kPortStatusUpdate;
    erth.port_status_mask = mask;
    erth.time = {timestamp, true};
    inject(pair, pair.b, {}, bth, erth);
    pair.run_for(3 * kMicrosecond);
    return pair.b.qp->paths().port_planes();
  };
  EXPECT_EQ(tell(1, 0xFFF0), 1u);
  EXPECT_EQ(tell(3, 5), 3u) << "time stamps wrap";
  EXPECT_EQ(tell(1, 0xFFF0), 3u) << "a late copy of the first";
  EXPECT_EQ(pair.b.engine->counters().port_updates_old, 1u);
  EXPECT_EQ(tell(1, 6), 1u);
  pair.run_for(20 * kMillisecond);
  EXPECT_EQ(tell(3, 0), 3u) << "old stamps say nothing when the last was long ago";
}

// MRC 2: max_wimm_dest. While the first is missing, the third is one too many for who takes two at a time.
TEST(ResponderRules, MoreImmediatesThanAgreedEndTheConnection) {
  for (const uint16_t taken : {2, 3}) {
    PairOptions options = strict_options();
    RulePair pair(options);
    QueuePairAttributes reset;
    reset.state = QueuePairState::kReset;
    for (End* end : {&pair.a, &pair.b}) ASSERT_TRUE(end->engine->modify(*end->qp, reset, pair.now()));
    QueuePairAttributes agreed;
    agreed.immediates_taken = taken;
    ASSERT_TRUE(pair.b.engine->modify(*pair.b.qp, agreed, pair.now()));
    pair.reconnect(options);
    EXPECT_FALSE(pair.b.engine->modify(*pair.b.qp, agreed, pair.now())) << "too late";
    for (uint64_t i = 0; i < 3; ++i) pair.post_receive(pair.b, i, {});
    Tap tap(pair.a);
    tap.drop = [](const Packet& packet) {
      return packet.bth.psn == Psn(kFirst) && !packet.bth.retransmission;
    };
    for (uint32_t i = 0; i < 3; ++i) pair.write(i, 512, i * 1024, Operation::kWriteImm);
    ASSERT_TRUE(pair.run([&] { return pair.a.sends.pushed() == 3; }, kSecond)) << taken;
    const std::vector<Completion> ended = pair.poll(pair.a.sends);
    if (taken == 3) {
      for (const Completion& completion : ended) EXPECT_EQ(completion.status, CompletionStatus::kSuccess);
    } else {
      EXPECT_NE(ended.back().status, CompletionStatus::kSuccess);
      EXPECT_EQ(pair.b.qp->state(), QueuePairState::kError);
    }
  }
}

TEST(ResponderRules, WhoOnlyReceivesProbesItsWayBack) {
  PairOptions options = strict_options(2);
  RulePair pair(options);
  Tap tap(pair.b);
  for (uint32_t i = 0; i < 40; ++i) {
    pair.write(i, 16 * 1024);
    pair.run_for(100 * kMicrosecond);
  }
  EXPECT_GE(tap.count(Opcode::kProbe), 5u);
  EXPECT_LE(tap.count(Opcode::kProbe), 20u) << "once in a while";
  EXPECT_GE(pair.b.engine->counters().probes_answered, tap.count(Opcode::kProbe) - 1);
  EXPECT_EQ(pair.a.engine->counters().probes_sent, 0u) << "whoever sends hears of its paths";
}

}  // namespace
}  // namespace mrc::test
