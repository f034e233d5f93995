// SPDX-License-Identifier: BSD-2-Clause
// What MRC asks of a requester, rule by rule (docs/protocol.md), seen on the wire. One file, as the table of
// rules is one: a rule is found by its name.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <set>

#include "tests/unit/qp_wire_tap.h"

namespace mrc::test {
namespace {

constexpr uint32_t kFirst = 5;  // PSN of a's first packet

bool is_data(const Packet& packet) {
  return is_write(packet.bth.opcode);
}
bool drop_all(const Packet&) {
  return true;
}
std::set<uint32_t> psns_of(const Tap& tap) {
  std::set<uint32_t> psns;
  for (const Packet& packet : tap.packets)
    if (is_data(packet)) psns.insert(packet.bth.psn.value());
  return psns;
}

// NSCC with a window of about a dozen packets.
PairOptions small_window_options() {
  PairOptions options = strict_options();
  options.tune = [](EngineConfig* config) {
    config->transport.congestion = CongestionAlgorithm::kNscc;
    config->transport.nscc = nscc_defaults(1'000'000'000, 50 * kMicrosecond, 1112, false);
  };
  return options;
}

TEST(RequesterRules, TheSamePacketAgainOnAFreshPath) {
  RulePair pair;
  Tap tap(pair.a);
  // The path of the first packet is dead.
  std::optional<Entropy> dead;
  tap.drop = [&](const Packet& packet) {
    if (!dead) dead = packet.entropy;
    return packet.entropy == *dead;
  };
  pair.write(1, 8 * 1024);
  ASSERT_TRUE(pair.run([&] { return !pair.a.sends.empty(); }, kSecond));
  std::vector<Packet> copies;
  for (const Packet& packet : tap.packets)
    if (packet.bth.psn == Psn(kFirst) && is_data(packet)) copies.push_back(packet);
  ASSERT_EQ(copies.size(), 2u);
  EXPECT_FALSE(copies[0].bth.retransmission);
  EXPECT_TRUE(copies[1].bth.retransmission);
  EXPECT_EQ(copies[0].bth.opcode, copies[1].bth.opcode);
  EXPECT_EQ(copies[0].reth.address, copies[1].reth.address);
  EXPECT_EQ(copies[0].meth.msn, copies[1].meth.msn);
  EXPECT_NE(copies[0].time.timestamp, copies[1].time.timestamp);
  EXPECT_NE(copies[0].entropy, copies[1].entropy) << "the path that lost it is out";
  EXPECT_GE(pair.a.engine->counters().retransmissions_sent, 1u);
}

TEST(RequesterRules, NeverMoreThanMprPacketsBeyondTheCumulativePsn) {
  PairOptions options = strict_options();
  options.tune = [](EngineConfig* config) { config->transport.window_packets = 64; };
  RulePair pair(options);
  Tap tap(pair.a);
  tap.drop = [](const Packet& packet) { return packet.bth.psn == Psn(kFirst); };
  pair.write(1, 200 * 1024);
  pair.run_for(5 * kMillisecond);
  const auto psns = psns_of(tap);
  EXPECT_EQ(*psns.rbegin(), kFirst + 63);
  EXPECT_EQ(psns.size(), 64u);
}

TEST(RequesterRules, NeverMoreInFlightThanTheCongestionWindow) {
  RulePair pair(small_window_options());
  Tap tap(pair.a);
  tap.drop = drop_all;
  pair.write(1, 200 * 1024);
  pair.run_for(50 * kMicrosecond);
  // MRC 5.1: it goes on while the window is larger than what is in flight.
  const uint64_t window = pair.a.qp->peer()->controller.cwnd();
  const uint64_t packets = psns_of(tap).size();
  EXPECT_EQ(packets, (window + nominal_size(1024) - 1) / nominal_size(1024));
  EXPECT_LT(packets, 20u);
}

// [P] Who waits for a small window hears something once a round trip at least.
TEST(RequesterRules, InASmallWindowSomethingUnderWayAsksForAnAnswer) {
  RulePair pair(small_window_options());
  Tap tap(pair.a);
  pair.write(1, 200 * 1024);
  pair.run_for(20 * kMicrosecond);
  ASSERT_GE(tap.packets.size(), 3u);
  EXPECT_TRUE(tap.packets[0].bth.ack_request) << "nothing else was under way";
  EXPECT_FALSE(tap.packets[1].bth.ack_request);
  ASSERT_TRUE(pair.run([&] { return !pair.a.sends.empty(); }, kSecond));
  EXPECT_EQ(pair.a.engine->counters().probes_sent, 0u);
}

// MRC 5.1, 7: the program's traffic class, but none that the protocol needs for itself.
TEST(RequesterRules, DataTravelInTheClassThatWasAskedFor) {
  const auto class_of_data = [](std::optional<uint8_t> wanted) {
    PairOptions options = strict_options();
    options.dscp = wanted;
    options.tune = [](EngineConfig* config) { config->transport.dscp_data = 4; };
    RulePair pair(options);
    Tap tap(pair.a);
    Tap answers(pair.b);
    pair.write(1, 1024);
    EXPECT_TRUE(pair.run([&] { return !pair.a.sends.empty(); }, kSecond));
    EXPECT_EQ(answers.last(Opcode::kAcknowledge).dscp, 46) << "answers keep theirs";
    return tap.last(Opcode::kWriteOnly).dscp;
  };
  EXPECT_EQ(class_of_data({}), 4);
  EXPECT_EQ(class_of_data(0), 4);
  EXPECT_EQ(class_of_data(26), 26);
  for (const uint8_t taken : {12, 16, 46}) EXPECT_EQ(class_of_data(taken), 4);
}

TEST(RequesterRules, NeverMoreThanMaxWimmImmediatesInFlight) {
  PairOptions options = strict_options();
  options.tune = [](EngineConfig* config) { config->transport.immediates_max = 4; };
  RulePair pair(options);
  for (uint64_t i = 0; i < 10; ++i) pair.post_receive(pair.b, i, {});
  Tap answers(pair.b);
  answers.drop = drop_all;
  Tap tap(pair.a);
  for (uint32_t i = 0; i < 10; ++i) pair.write(i, 512, i * 1024, Operation::kWriteImm);
  pair.run_for(60 * kMicrosecond);
  EXPECT_EQ(psns_of(tap).size(), 4u);
  answers.drop = nullptr;
  ASSERT_TRUE(pair.run([&] { return pair.a.sends.pushed() == 10; }, kSecond));
  EXPECT_EQ(pair.b.receives.pushed(), 10u);
}

TEST(RequesterRules, SacksAreMergedAndEveryGapIsFilledOnce) {
  RulePair pair;
  Tap tap(pair.a);
  const std::set<uint32_t> gaps = {kFirst + 3, kFirst + 70, kFirst + 71, kFirst + 150, kFirst + 290};
  tap.drop = [&](const Packet& packet) {
    return is_data(packet) && !packet.bth.retransmission && gaps.count(packet.bth.psn.value()) != 0;
  };
  pair.write(1, 300 * 1024);
  ASSERT_TRUE(pair.run([&] { return !pair.a.sends.empty(); }, kSecond));
  std::vector<uint32_t> again;
  for (const Packet& packet : tap.packets)
    if (packet.bth.retransmission) again.push_back(packet.bth.psn.value());
  EXPECT_EQ(again.size(), gaps.size()) << "nothing that arrived is repeated";
  EXPECT_EQ(std::set<uint32_t>(again.begin(), again.end()), gaps);
  EXPECT_EQ(0, std::memcmp(pair.target.data(), pair.data.data(), 300 * 1024));
}

// [P] What others have overtaken is likely lost: it goes before what nothing is known of.
TEST(RequesterRules, CopiesBeginWithWhatWasOvertaken) {
  PairOptions options = strict_options();
  options.tune = [](EngineConfig* config) {
    config->transport.window_bytes = 16 * 1112;
    config->transport.reorder_window_min = kMillisecond;
    config->transport.paths_per_plane = 64;
  };
  RulePair pair(options);
  Tap tap(pair.a);
  tap.drop = [](const Packet& packet) {
    return packet.bth.psn == Psn(kFirst + 3) && !packet.bth.retransmission;
  };
  pair.write(1, 16 * 1024);
  ASSERT_TRUE(pair.run([&] { return pair.a.sends.pushed() == 1; }, kSecond));
  tap.clear();
  // One in the middle, and the end, of which nothing is known.
  const uint32_t overtaken = kFirst + 16 + 2, end = kFirst + 16 + 8;
  tap.drop = [&](const Packet& packet) {
    const uint32_t psn = packet.bth.psn.value();
    return is_data(packet) && !packet.bth.retransmission && (psn == overtaken || psn >= end);
  };
  pair.write(2, 16 * 1024);
  ASSERT_TRUE(pair.run([&] { return pair.a.sends.pushed() == 2; }, kSecond));
  std::vector<uint32_t> copies;
  for (const Packet& packet : tap.packets)
    if (is_data(packet) && packet.bth.retransmission) copies.push_back(packet.bth.psn.value() - kFirst - 16);
  EXPECT_EQ(copies, (std::vector<uint32_t>{2, 15, 14, 13, 12, 11, 10, 9, 8}));
}

// [P] Packets may overtake each other for long, but it is not likely that one and its copy are both late.
TEST(RequesterRules, ALostCopyIsFoundSoonerThanTheReorderWindow) {
  PairOptions options = strict_options();
  options.tune = [](EngineConfig* config) {
    config->transport.reorder_window_min = kMillisecond;
    config->transport.paths_per_plane = 64;
  };
  RulePair pair(options);
  Tap tap(pair.a);
  tap.drop = [](const Packet& packet) {
    return packet.bth.psn == Psn(kFirst + 3) && !packet.bth.retransmission;
  };
  pair.write(1, 16 * 1024);
  ASSERT_TRUE(pair.run([&] { return pair.a.sends.pushed() == 1; }, kSecond));
  uint32_t dropped = 0;
  tap.drop = [&](const Packet& packet) {
    return is_data(packet) && packet.bth.psn == Psn(kFirst + 16 + 4) && ++dropped <= 2;
  };
  const Nanoseconds begun = pair.now();
  const uint64_t repeated = pair.a.engine->counters().retransmissions_sent;
  pair.write(2, 16 * 1024);
  ASSERT_TRUE(pair.run([&] { return pair.a.sends.pushed() == 2; }, kSecond));
  EXPECT_GE(dropped, 3u);
  EXPECT_EQ(pair.a.engine->counters().retransmissions_sent, repeated + 1);
  EXPECT_LT(pair.now() - begun, kMillisecond / 2);
}

// [P] Message after message, and the end of each first: that is what a message waits for in a queue.
TEST(RequesterRules, CopiesBeginAtTheEndOfAMessage) {
  PairOptions options = strict_options();
  options.planes = 1;  // packets of several planes leave plane by plane
  RulePair pair(options);
  Tap tap(pair.a);
  tap.drop = [](const Packet& packet) {
    return packet.bth.psn == Psn(kFirst + 3) && !packet.bth.retransmission;
  };
  pair.write(1, 16 * 1024);
  ASSERT_TRUE(pair.run([&] { return !pair.a.sends.empty(); }, kSecond));
  tap.clear();
  pair.write(2, 8 * 1024);
  pair.write(3, 8 * 1024);
  ASSERT_TRUE(pair.run([&] { return pair.a.engine->counters().messages_completed == 3; }, kSecond));
  std::vector<uint32_t> copies;
  for (const Packet& packet : tap.packets)
    if (is_data(packet) && packet.bth.retransmission) copies.push_back(packet.bth.psn.value() - kFirst);
  EXPECT_EQ(copies, (std::vector<uint32_t>{23, 22, 21, 20, 19, 18, 17, 16, 31, 30, 29, 28, 27, 26, 25, 24}));
}

// [P] A path whose answers come later than those of others carries its share of what is new, and of copies
// less.
TEST(RequesterRules, CopiesLeaveLatePathsOut) {
  PairOptions options = strict_options();
  options.tune = [](EngineConfig* config) {
    config->transport.paths_per_plane = 16;
    config->transport.sack_threshold_bytes = 0;  // told of each before its copy is there
  };
  RulePair pair(options);
  Tap tap(pair.a);
  std::optional<Entropy> late;  // of the first packet of the third message
  Nanoseconds delay = 5 * kMicrosecond;
  pair.a.ports[0]->delay = [&] { return delay; };
  tap.drop = [&](const Packet& packet) {
    if (is_data(packet) && packet.bth.psn == Psn(kFirst + 32) && !late) late = packet.entropy;
    delay = (packet.entropy == late ? 49 : 45) * kMicrosecond;
    return packet.bth.psn == Psn(kFirst + 3) && !packet.bth.retransmission;
  };
  for (uint64_t id = 1; id <= 20; ++id) {
    pair.write(id, 16 * 1024);
    ASSERT_TRUE(pair.run([&] { return pair.a.sends.pushed() == id; }, kSecond));
  }
  tap.clear();
  for (uint64_t id = 21; id <= 60; ++id) {
    pair.write(id, 16 * 1024);
    ASSERT_TRUE(pair.run([&] { return pair.a.sends.pushed() == id; }, kSecond));
  }
  std::array<int, 2> all{}, by_late{};  // first; again
  for (const Packet& packet : tap.packets) {
    if (!is_data(packet)) continue;
    ++all[packet.bth.retransmission];
    by_late[packet.bth.retransmission] += packet.entropy == late ? 1 : 0;
  }
  ASSERT_EQ(all[0], 640);
  ASSERT_GT(all[1], 320);
  EXPECT_GT(16 * by_late[0], all[0] / 2);
  EXPECT_LT(16 * by_late[1], all[1] / 4);
}

// MRC 3.3 (c): packets may overtake each other for as long as they like, but not by more than a window.
TEST(RequesterRules, MoreThanAWindowBehindAGapIsALoss) {
  PairOptions options = strict_options();
  options.tune = [](EngineConfig* config) {
    config->transport.reorder_window_min = kSecond;
    config->transport.paths_per_plane = 64;  // so that no path is used twice before it is found
    config->transport.window_bytes = 20 * 1112;
  };
  RulePair pair(options);
  Tap tap(pair.a);
  tap.drop = [&](const Packet& packet) {
    return packet.bth.psn == Psn(kFirst) && !packet.bth.retransmission;
  };
  pair.write(1, 60 * 1024);
  ASSERT_TRUE(pair.run([&] { return !pair.a.sends.empty(); }, kSecond));
  const Counters& counters = pair.a.engine->counters();
  EXPECT_EQ(counters.retransmits_out_of_order, 1u);
  EXPECT_EQ(counters.retransmits(), 1u);
  EXPECT_LT(pair.now(), 200 * kMicrosecond);
}

// MRC 3.3 (b): what nothing can overtake any more is late after a round trip and the time packets may
// overtake each other. One question before that, whether it has come since, and no waiting for the silence.
TEST(RequesterRules, AGapInTheLastWindowIsFilledBeforeTheSilenceEnds) {
  PairOptions options = strict_options();
  options.tune = [](EngineConfig* config) {
    config->transport.paths_per_plane = 64;
    config->transport.reorder_window_min = 5 * kMicrosecond;
    config->transport.silence_min = 10 * kMillisecond;
  };
  RulePair pair(options);
  pair.write(1, 1024);  // makes the round trip known
  ASSERT_TRUE(pair.run([&] { return !pair.a.sends.empty(); }, kSecond));
  const Nanoseconds begin = pair.now();
  Tap tap(pair.a);
  tap.drop = [&](const Packet& packet) {
    return packet.bth.psn == Psn(kFirst + 2) && !packet.bth.retransmission;
  };
  pair.write(2, 4 * 1024);
  ASSERT_TRUE(pair.run([&] { return pair.a.sends.pushed() == 2; }, kSecond));
  EXPECT_LE(tap.count(Opcode::kProbe), 1u) << "whether it has come since";
  EXPECT_EQ(pair.a.engine->counters().retransmits_reordering, 1u);
  EXPECT_LT(pair.now() - begin, 100 * kMicrosecond);
}

// MRC 3.2: a bitmap ends 64 packets above where it begins, and those that were lost lie further up. All that
// the peer holds is known, though, so the rest is missing.
TEST(RequesterRules, WhatWasLostBehindALongWindowIsFoundByAsking) {
  PairOptions options = strict_options();
  options.tune = [](EngineConfig* config) { config->transport.window_bytes = 200 * 1112; };
  RulePair pair(options);
  Tap tap(pair.a);
  tap.drop = [&](const Packet& packet) {
    const auto above = packet.bth.psn - Psn(kFirst);
    return is_data(packet) && (above == 0 || (above > 100 && !packet.bth.retransmission));
  };
  pair.write(1, 200 * 1024);
  const auto came_again = [&] {
    return std::any_of(tap.packets.begin(), tap.packets.end(), [](const Packet& packet) {
      return is_data(packet) && packet.bth.retransmission && packet.bth.psn == Psn(kFirst + 199);
    });
  };
  EXPECT_TRUE(pair.run(came_again, 5 * kMillisecond));
  EXPECT_EQ(pair.a.engine->counters().retransmits_timeout, 0u);
  tap.drop = nullptr;
  ASSERT_TRUE(pair.run([&] { return !pair.a.sends.empty(); }, kSecond));
  EXPECT_EQ(0, std::memcmp(pair.target.data(), pair.data.data(), 200 * 1024));
}

// MRC 3.4: which copy was answered is known by the reflected timestamp, however often it was sent.
TEST(RequesterRules, TheReflectedTimestampMakesARoundTripOfTheLastCopy) {
  RulePair pair(strict_options());
  Tap tap(pair.a);
  const RttEstimator& rtt = pair.a.qp->mrc()->requester().rtt();
  for (uint64_t id = 1; id <= 20; ++id) {
    pair.write(id, 1024);
    ASSERT_TRUE(pair.run([&] { return pair.a.sends.pushed() == id; }, kSecond));
  }
  const Nanoseconds before = rtt.smoothed();
  // The first copy is lost, and no question gets through. The way of the second takes 80 us longer.
  size_t copies = 0;
  Nanoseconds delay = 5 * kMicrosecond;
  pair.a.ports[0]->delay = [&] { return delay; };
  tap.drop = [&](const Packet& packet) {
    if (!is_data(packet)) return true;
    if (++copies == 2) delay = 85 * kMicrosecond;
    return copies != 2;
  };
  Nanoseconds heard = 0;
  const Nanoseconds begin = pair.now();
  pair.write(21, 1024);
  ASSERT_TRUE(pair.run(
      [&] {
        if (rtt.smoothed() != before && heard == 0) heard = rtt.smoothed();
        return pair.a.sends.pushed() == 21;
      },
      kSecond));
  ASSERT_GT(pair.now() - begin, 200 * kMicrosecond) << "the first copy is much older";
  // One sample of about 90 us among the others: not the age of the first copy, nor none at all.
  EXPECT_NEAR(static_cast<double>(heard - before), static_cast<double>(90 * kMicrosecond - before) / 8,
              1000.0);
}

// MRC 3.3 (b): the others overtake what waits in a plane's long queue. That is known of the plane soon.
TEST(RequesterRules, AGrowingQueueInOnePlaneIsNoLoss) {
  PairOptions options = strict_options(4);
  options.tune = [](EngineConfig* config) {
    config->transport.reorder_window_min = 20 * kMicrosecond;
    config->transport.window_bytes = 64 * 1112;
    config->transport.sack_threshold_bytes = 2048;
  };
  RulePair pair(options);
  Nanoseconds delay = 5 * kMicrosecond;
  pair.a.ports[0]->delay = [&] { return delay += 500; };
  for (uint64_t i = 1; delay < 300 * kMicrosecond; ++i) {
    ASSERT_LT(i, 100u);
    pair.write(i, 256 * 1024);
    ASSERT_TRUE(pair.run([&] { return pair.a.sends.pushed() == i; }, kSecond));
  }
  EXPECT_EQ(pair.a.engine->counters().retransmits(), 0u);
}

// [P] Turns are equal, but a plane that is slow does not gather the window and leave the others idle.
TEST(RequesterRules, ASlowPlaneDoesNotHoldTheWholeWindow) {
  constexpr uint64_t kWindow = 64 * nominal_size(1024);
  PairOptions options = strict_options(4);
  options.tune = [](EngineConfig* config) {
    config->transport.reorder_window_min = 5 * kMillisecond;
    config->transport.window_bytes = kWindow;
    config->transport.sack_threshold_bytes = 2048;
  };
  RulePair pair(options);
  pair.a.ports[0]->delay = [] { return kMillisecond; };
  const SentPackets& sent = pair.a.qp->mrc()->requester().sent();
  uint64_t most = 0;
  for (uint64_t i = 1; i <= 5; ++i) {
    pair.write(i, i == 1 ? 8 * 1024 : 256 * 1024);  // the first one makes the round trips known
    ASSERT_TRUE(pair.run(
        [&] {
          most = std::max(most, sent.in_flight_by(0));
          return pair.a.sends.pushed() == i;
        },
        kSecond));
    for (Plane plane = 0; plane < 4; ++plane) EXPECT_EQ(sent.in_flight_by(plane), 0u);
  }
  EXPECT_GT(most, kWindow / 8);
  EXPECT_LE(most, kWindow * 5 / 16 + nominal_size(1024));
  EXPECT_LT(pair.now(), 6 * kMillisecond);  // one round trip of the slow plane per message; was four
  EXPECT_EQ(pair.a.engine->counters().retransmits(), 0u);
}

// MRC 3.3 (b) [P]: a first copy that comes after all doubles the patience.
TEST(RequesterRules, WhoWasWrongAboutALossWaitsLonger) {
  PairOptions options = strict_options(4);
  options.tune = [](EngineConfig* config) {
    config->transport.reorder_window_min = 5 * kMicrosecond;
    config->transport.window_bytes = 64 * 1112;
  };
  RulePair pair(options);
  Nanoseconds delay = 5 * kMicrosecond;
  pair.a.ports[0]->delay = [&] { return delay; };
  pair.write(1, 256 * 1024);
  ASSERT_TRUE(pair.run([&] { return pair.a.sends.pushed() == 1; }, kSecond));
  uint64_t wrong[2];
  for (uint64_t& count : wrong) {
    const uint64_t before = pair.a.engine->counters().retransmits();
    delay += 40 * kMicrosecond;
    const uint64_t done = pair.a.sends.pushed() + 1;
    pair.write(done, 256 * 1024);
    ASSERT_TRUE(pair.run([&] { return pair.a.sends.pushed() == done; }, kSecond));
    count = pair.a.engine->counters().retransmits() - before;
  }
  EXPECT_GT(wrong[0], 0u) << "else this shows nothing";
  EXPECT_EQ(wrong[1], 0u);
}

// One packet is under way, and the peer says this about it.
struct Nacked {
  explicit Nacked(const PairOptions& options = strict_options()) : pair(options), tap(pair.a) {
    tap.drop = drop_all;
    pair.write(1, 1024);
    pair.run_for(2 * kMicrosecond);
  }
  void nack(NackReason reason, int psn_change = 0, int stamp_change = 0) {
    const Packet packet = tap.packets.at(tap.packets.size() - 1);
    Bth bth;
    bth.opcode = Opcode::kNack;
    bth.destination = pair.a.qp->qpn();
    bth.psn = packet.bth.psn;
    Neth neth;
    neth.reason = reason;
    neth.psn = packet.bth.psn + psn_change;
    neth.entropy = packet.entropy;
    neth.source_qpn_low = static_cast<uint16_t>(pair.b.qp->qpn().value());
    neth.destination_qpn_low = static_cast<uint16_t>(pair.a.qp->qpn().value());
    neth.timestamp = static_cast<uint16_t>(packet.time.timestamp + stamp_change);
    tap.clear();
    inject(pair, pair.a, {}, bth, neth);
    pair.run_for(2 * kMicrosecond);
  }
  size_t sent_again() const { return static_cast<size_t>(psns_of(tap).count(kFirst)); }

  RulePair pair;
  Tap tap;
};

TEST(RequesterRules, EveryNackReasonHasItsReaction) {
  struct Reaction {
    NackReason reason;
    bool penalises_path;
    bool charges_retry;
  };
  constexpr Reaction kTable[] = {
      {NackReason::kTrimmed, true, false},    {NackReason::kTrimmedLastHop, false, false},
      {NackReason::kNoBitmap, false, true},   {NackReason::kNoPacketBuffer, false, true},
      {NackReason::kNoResource, false, true}, {NackReason::kPsnOutOfWindow, false, true},
  };
  for (const Reaction& row : kTable) {
    SCOPED_TRACE(static_cast<int>(row.reason));
    Nacked world;
    const Counters& counters = world.pair.a.engine->counters();
    world.nack(row.reason);
    EXPECT_EQ(world.sent_again(), 1u) << "at once";
    EXPECT_EQ(counters.retransmits_nack, 1u);
    const bool trimmed = row.reason == NackReason::kTrimmed || row.reason == NackReason::kTrimmedLastHop;
    EXPECT_EQ(counters.retransmits_trimmed, trimmed ? 1u : 0u);
    RetransmitCounts causes{};
    causes[static_cast<size_t>(trimmed ? RetransmitCause::kTrim : RetransmitCause::kNack)] = 1;
    EXPECT_EQ(world.pair.a.qp->retransmits(), causes);
    EXPECT_EQ(counters.nacks_received_by[nack_index(row.reason)], 1u);
    EXPECT_EQ(counters.paths.skipped, row.penalises_path ? 1u : 0u);
    EXPECT_EQ(counters.paths_demoted, 0u);
    // Retries: seven of them, and then it is over.
    for (int i = 0; i < 6; ++i) world.nack(row.reason);
    EXPECT_TRUE(world.pair.a.sends.empty());
    world.nack(row.reason);
    const auto ended = world.pair.poll(world.pair.a.sends);
    ASSERT_EQ(ended.size(), row.charges_retry ? 1u : 0u);
    for (const Completion& end : ended) EXPECT_EQ(end.status, CompletionStatus::kRetryExceeded);
  }
}

TEST(RequesterRules, AnUnexpectedEventEndsTheConnectionAtOnce) {
  Nacked world;
  world.nack(NackReason::kUnexpectedEvent);
  const auto ended = world.pair.poll(world.pair.a.sends);
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].status, CompletionStatus::kRemoteOperationError);
}

TEST(RequesterRules, ANackOfAnEarlierCopyChangesNothing) {
  Nacked world;
  world.nack(NackReason::kTrimmed, 0, -3);
  EXPECT_EQ(world.sent_again(), 0u);
  EXPECT_EQ(world.pair.a.engine->counters().nacks_stale, 1u);
}

TEST(RequesterRules, SilenceIsAskedAboutThenRepeatedThenFatal) {
  PairOptions options = strict_options();
  options.timeout = 2 * kMillisecond;
  options.retry_linear = 2;
  options.retry_exponential = 2;
  RulePair pair(options);
  Tap tap(pair.a);
  tap.drop = drop_all;
  pair.write(1, 1024);
  pair.run_for(1900 * kMicrosecond);
  EXPECT_EQ(psns_of(tap).size(), 1u);
  EXPECT_GE(tap.count(Opcode::kProbe), 1u) << "a probe before any timer";
  EXPECT_EQ(tap.count(Opcode::kWriteOnly), 1u);
  // Attempts after 2 ms, two more of the kind, then after 4 and, in vain, 8 ms.
  ASSERT_TRUE(pair.run([&] { return !pair.a.sends.empty(); }, kSecond));
  EXPECT_EQ(pair.poll(pair.a.sends)[0].status, CompletionStatus::kRetryExceeded);
  EXPECT_EQ(tap.count(Opcode::kWriteOnly), 5u);
  EXPECT_EQ(pair.a.engine->counters().retransmits_timeout, 4u);
  EXPECT_EQ(pair.a.engine->counters().retry_exceeded, 1u);
  EXPECT_NEAR(static_cast<double>(pair.now()), 18e6, 1e6);
}

TEST(RequesterRules, CompletionsWaitForTheTransportAck) {
  RulePair pair;
  Tap answers(pair.b);
  answers.drop = [](const Packet& packet) { return packet.bth.opcode == Opcode::kAcknowledge; };
  pair.write(1, 1024);
  pair.run_for(500 * kMicrosecond);
  EXPECT_GE(pair.a.engine->counters().sacks_received, 1u);
  EXPECT_TRUE(pair.a.sends.empty()) << "a SACK alone completes nothing";
  answers.drop = nullptr;
  ASSERT_TRUE(pair.run([&] { return !pair.a.sends.empty(); }, kSecond));
  EXPECT_EQ(pair.poll(pair.a.sends)[0].status, CompletionStatus::kSuccess);
}

TEST(RequesterRules, ARefusalComesInItsTurn) {
  RulePair pair;
  Tap tap(pair.a);
  bool blocked = true;
  tap.drop = [&](const Packet& packet) { return blocked && packet.bth.psn == Psn(kFirst); };
  pair.write(1, 1024);
  pair.write(2, 1024)->remote_key = MemoryKey{0xDEAD};
  pair.run_for(30 * kMicrosecond);
  EXPECT_TRUE(pair.a.sends.empty()) << "SACKed, and refused later";
  blocked = false;
  ASSERT_TRUE(pair.run([&] { return pair.a.sends.pushed() == 2; }, kSecond));
  const auto done = pair.poll(pair.a.sends);
  EXPECT_EQ(done[0].status, CompletionStatus::kSuccess);
  EXPECT_EQ(done[1].status, CompletionStatus::kRemoteAccessError);
}

TEST(RequesterRules, DynamicMprIsToldAndObeyed) {
  PairOptions options = strict_options();
  options.tune = [](EngineConfig* config) { config->transport.dynamic_mpr = true; };
  RulePair pair(options);
  QueuePairAttributes attributes;
  attributes.mpr = 100;
  EXPECT_FALSE(pair.b.engine->modify(*pair.b.qp, attributes, pair.now())) << "units of 128";
  attributes.mpr = 256;
  ASSERT_TRUE(pair.b.engine->modify(*pair.b.qp, attributes, pair.now()));
  Tap answers(pair.b);
  pair.write(1, 1024);
  ASSERT_TRUE(pair.run([&] { return !pair.a.sends.empty(); }, kSecond));
  EXPECT_EQ(answers.last(Opcode::kSack).sack.mpr, 2u);
  EXPECT_EQ(pair.a.qp->mrc()->requester().mpr(), 256u);
  Tap tap(pair.a);
  tap.drop = [](const Packet& packet) { return packet.bth.psn == Psn(kFirst + 1); };
  pair.write(2, 600 * 1024);
  pair.run_for(2 * kMillisecond);
  EXPECT_EQ(*psns_of(tap).rbegin(), kFirst + 256);
  // It shrinks: nothing new until what is out there fits.
  attributes.mpr = 128;
  ASSERT_TRUE(pair.b.engine->modify(*pair.b.qp, attributes, pair.now()));
  pair.run_for(2 * kMillisecond);
  EXPECT_EQ(pair.a.qp->mrc()->requester().mpr(), 128u);
  tap.drop = nullptr;
  ASSERT_TRUE(pair.run([&] { return pair.a.sends.pushed() == 2; }, kSecond));
  EXPECT_EQ(0, std::memcmp(pair.target.data(), pair.data.data(), 600 * 1024));
}

// The responder changes its mind under load: when more queue pairs receive than it has room for, each is
// welcome with less, and with all of it again when they are done.
void see_mpr_shrink(uint32_t full_windows, uint8_t told_to_twelve) {
  PairOptions options = strict_options();
  options.tune = [full_windows](EngineConfig* config) {
    config->transport.dynamic_mpr = true;
    config->transport.full_windows = full_windows;
  };
  RulePair pair(options);
  std::vector<QueuePair*> senders{pair.a.qp};
  for (int i = 1; i < 12; ++i) {
    pair.a.qp = pair.a.engine->create(pair.a.qp->config());
    pair.b.qp = pair.b.engine->create(pair.b.qp->config());
    ASSERT_NE(pair.b.qp, nullptr);
    pair.reconnect(options);
    senders.push_back(pair.a.qp);
  }
  Tap answers(pair.b);
  const auto told_when = [&](size_t count) {
    for (int round = 0; round < 4; ++round) {
      for (size_t i = 0; i < count; ++i) {
        pair.a.qp = senders[i];
        pair.write(1, 4096);
      }
      pair.run_for(kMillisecond);
    }
    return answers.last(Opcode::kSack).sack.mpr;
  };
  EXPECT_EQ(told_when(1), 8u) << "the whole window of 1024";
  EXPECT_EQ(told_when(12), told_to_twelve);
  EXPECT_EQ(told_when(1), 8u);
}

TEST(RequesterRules, DynamicMprShrinksWhenManyReceive) {
  see_mpr_shrink(8, 5);
  see_mpr_shrink(2, 1);
}

TEST(RequesterRules, MprThatIsNotNegotiatedIsNotTold) {
  RulePair pair;
  QueuePairAttributes attributes;
  attributes.mpr = 128;
  ASSERT_TRUE(pair.b.engine->modify(*pair.b.qp, attributes, pair.now()));
  Tap answers(pair.b);
  pair.write(1, 1024);
  ASSERT_TRUE(pair.run([&] { return !pair.a.sends.empty(); }, kSecond));
  EXPECT_EQ(answers.last(Opcode::kSack).sack.mpr, 0u);
  EXPECT_GT(pair.a.qp->mrc()->requester().mpr(), 1024u);
}

TEST(ControllerRules, AnEvProbeMeasuresTheRoundTrip) {
  RulePair pair(strict_options(2));
  pair.run_for(10 * kMicrosecond);
  Tap tap(pair.a);
  EvProbe probe;
  probe.source = pair.address_of(pair.a);
  probe.destination = pair.address_of(pair.b);
  probe.path.plane = 1;
  probe.path.entropy = make_entropy(1, 9);
  probe.cookie = 99;
  ASSERT_TRUE(pair.a.engine->send_ev_probe(probe, pair.now()));
  pair.run_for(30 * kMicrosecond);
  ASSERT_EQ(pair.a.seen.probes.count(99), 1u);
  EXPECT_NEAR(static_cast<double>(pair.a.seen.probes[99]), 10e3, 3e3) << "5 us each way";
  EXPECT_EQ(tap.last(Opcode::kEndpointRequest).entropy, probe.path.entropy);
  EXPECT_EQ(tap.last(Opcode::kEndpointRequest).erth.operation, EndpointOperation::kEvProbe);
  EXPECT_EQ(pair.a.engine->counters().ev_probes_answered, 1u);
  probe.path.plane = 2;
  EXPECT_FALSE(pair.a.engine->send_ev_probe(probe, pair.now())) << "there is no such port";
}

TEST(ControllerRules, APortThatGoesDownIsToldAndComesBack) {
  RulePair pair(strict_options(2));
  pair.write(1, 64 * 1024);
  ASSERT_TRUE(pair.run([&] { return !pair.a.sends.empty(); }, kSecond));
  pair.a.ports[0]->up = false;
  pair.run_for(200 * kMicrosecond);
  EXPECT_EQ(pair.a.qp->paths().port_planes(), 2u);
  EXPECT_EQ(pair.b.qp->paths().port_planes(), 2u) << "the peer was told";
  Tap tap(pair.a);
  pair.write(2, 64 * 1024);
  ASSERT_TRUE(pair.run([&] { return pair.a.sends.pushed() == 2; }, kSecond));
  EXPECT_EQ(pair.a.qp->paths().active_planes(), 2u);
  pair.a.ports[0]->up = true;
  pair.run_for(200 * kMicrosecond);
  EXPECT_EQ(pair.b.qp->paths().port_planes(), 3u);
  EXPECT_GE(pair.b.engine->counters().port_updates_received, 2u);
}

TEST(ControllerRules, TheAnswerToAnEarlierAnnouncementIsNotEnough) {
  RulePair pair(strict_options(2));
  Tap told(pair.a);
  Tap answers(pair.b);
  answers.drop = [](const Packet&) { return true; };
  pair.a.ports[0]->up = false;
  pair.run_for(200 * kMicrosecond);
  ASSERT_EQ(pair.b.qp->paths().port_planes(), 2u);
  ASSERT_FALSE(answers.frames.empty());
  // The port is back, but the peer does not hear of it; its first answer comes now.
  told.drop = [](const Packet&) { return true; };
  pair.a.ports[0]->up = true;
  pair.run_for(100 * kMicrosecond);
  pair.a.ports[1]->arrived.emplace(pair.now(), answers.frames.front());
  pair.run_for(100 * kMicrosecond);
  EXPECT_EQ(pair.a.engine->counters().endpoint_answers_received, 1u);
  told.drop = answers.drop = nullptr;
  pair.run_for(2 * kMillisecond);
  EXPECT_EQ(pair.b.qp->paths().port_planes(), 3u);
}

TEST(ControllerRules, WhoMissedThatAPortIsBackIsToldAgain) {
  RulePair pair(strict_options(2));
  pair.a.ports[0]->up = false;
  pair.run_for(200 * kMicrosecond);
  ASSERT_EQ(pair.b.qp->paths().port_planes(), 2u);
  Tap tap(pair.a);
  tap.drop = [](const Packet&) { return true; };
  pair.a.ports[0]->up = true;
  pair.run_for(20 * kMillisecond);
  EXPECT_EQ(tap.count(Opcode::kEndpointRequest), 14u) << "seven times, by both ports";
  tap.drop = nullptr;
  EXPECT_TRUE(pair.run([&] { return pair.b.qp->paths().port_planes() == 3u; }, 2 * kSecond));
}

TEST(EventTrace, TellsTheStoryOfALoss) {
  RulePair pair;
  pair.a.qp->trace().enable(64);
  Tap tap(pair.a);
  // The path of the first packet is dead.
  std::optional<Entropy> dead;
  tap.drop = [&](const Packet& packet) {
    if (!dead) dead = packet.entropy;
    return packet.entropy == *dead;
  };
  pair.write(1, 8 * 1024);
  ASSERT_TRUE(pair.run([&] { return !pair.a.sends.empty(); }, kSecond));
  const EventTrace& trace = pair.a.qp->trace();
  std::vector<TraceEvent> story;
  for (size_t i = 0; i < trace.size(); ++i)
    if (trace.at(i).psn == Psn(kFirst)) story.push_back(trace.at(i).event);
  ASSERT_GE(story.size(), 4u);
  EXPECT_EQ(story[0], TraceEvent::kSent);
  EXPECT_TRUE(story[1] == TraceEvent::kLostSamePath || story[1] == TraceEvent::kLostReordering);
  EXPECT_EQ(story[2], TraceEvent::kPathBad);
  EXPECT_EQ(story[3], TraceEvent::kSentAgain);
  EXPECT_STREQ(name_of(story[3]), "sent_again");
  EXPECT_FALSE(pair.b.qp->trace().on());
}

TEST(EventTrace, KeepsTheNewest) {
  EventTrace trace;
  trace.note(1, TraceEvent::kSent, Psn(1));
  EXPECT_EQ(trace.size(), 0u) << "off";
  trace.enable(4);
  for (uint32_t i = 0; i < 10; ++i) trace.note(i, TraceEvent::kSent, Psn(i));
  ASSERT_EQ(trace.size(), 4u);
  EXPECT_EQ(trace.forgotten(), 6u);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(trace.at(i).psn, Psn(static_cast<uint32_t>(6 + i)));
}

}  // namespace
}  // namespace mrc::test
