// SPDX-License-Identifier: BSD-2-Clause
// What queue pairs to one peer share of its paths: what one has lost all leave, one asks for all, and whoever
// is deaf or has gone takes nothing from the others.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/unit/qp_wire_tap.h"

namespace mrc::test {
namespace {

constexpr uint32_t kPaths = 16;  // on each of two planes

PairOptions options_with(ProfileSource* profiles = nullptr) {
  PairOptions options = strict_options(2);
  options.tune = [profiles](EngineConfig* config) {
    config->qpn_count = 64;
    config->transport.paths_per_plane = kPaths;
    config->transport.backups_per_plane = 0;
    config->profiles = profiles;
  };
  return options;
}

// Many queue pairs from one end to the other.
struct ManyPairs : RulePair {
  explicit ManyPairs(size_t count, ProfileSource* profiles = nullptr)
      : RulePair(options_with(profiles)), options(options_with(profiles)) {
    pairs.emplace_back(a.qp, b.qp);
    while (pairs.size() < count) add();
  }
  void add(const QueuePairAttributes& terms = {}) {
    for (End* end : {&a, &b}) {
      QueuePairConfig config;
      config.domain = kDomain;
      config.send_completions = &end->sends;
      config.receive_completions = &end->receives;
      config.send_entries = 64;
      config.transport = Transport::kMrcStrict;
      end->qp = end->engine->create(config);
      QueuePairAttributes init = terms;
      init.state = QueuePairState::kInit;
      ASSERT_TRUE(end->engine->modify(*end->qp, init, now()));
    }
    reconnect(options);
    pairs.emplace_back(a.qp, b.qp);
  }
  // What is written from now on is written by this one.
  void use(size_t number) { std::tie(a.qp, b.qp) = pairs[number]; }
  void write_by(size_t number, uint32_t bytes) {
    use(number);
    write(number, bytes);
  }
  bool await(size_t count) {
    size_t done = 0;
    return run(
        [&] {
          for (const Completion& completion : poll(a.sends)) {
            EXPECT_EQ(completion.status, CompletionStatus::kSuccess);
            ++done;
          }
          return done >= count;
        },
        kSecond);
  }
  const PathSet& paths(size_t number) const { return pairs[number].first->paths(); }
  void destroy(size_t number) {
    a.engine->destroy(pairs[number].first);
    b.engine->destroy(pairs[number].second);
    pairs.erase(pairs.begin() + static_cast<ptrdiff_t>(number));
  }

  PairOptions options;
  std::vector<std::pair<QueuePair*, QueuePair*>> pairs;
};

size_t bad(const PathSet& paths) {
  size_t count = 0;
  for (size_t i = 0; i < paths.size(); ++i)
    count += paths.at(PathId(static_cast<uint16_t>(i))).state == PathState::kAssumedBad ? 1 : 0;
  return count;
}

TEST(SharedPaths, WhatOneHasLostAllLeaveAndComeBackToAtOnce) {
  ManyPairs pair(3);
  ASSERT_EQ(&pair.paths(0), &pair.paths(1));
  const Entropy dead = pair.paths(0).at(PathId{5}).entropy;
  bool heals = false;
  Tap tap(pair.a);
  tap.drop = [&](const Packet& packet) { return !heals && packet.entropy == dead; };
  pair.write_by(0, 100'000);
  ASSERT_TRUE(pair.await(1));
  ASSERT_EQ(pair.paths(1).at(PathId{5}).state, PathState::kAssumedBad);
  tap.clear();
  pair.write_by(1, 100'000);
  pair.write_by(2, 100'000);
  ASSERT_TRUE(pair.await(2));
  for (const Packet& packet : tap.packets)
    EXPECT_FALSE(is_write(packet.bth.opcode) && packet.entropy == dead) << "it is known to be bad";
  EXPECT_EQ(pair.a.engine->counters().paths_demoted, 1u) << "found out once";
  heals = true;
  ASSERT_TRUE(pair.run([&] { return bad(pair.paths(0)) == 0; }, kSecond));
  EXPECT_EQ(pair.a.engine->counters().paths_restored, 1u);
  tap.clear();
  pair.write_by(2, 100'000);
  ASSERT_TRUE(pair.await(1));
  EXPECT_TRUE(std::any_of(tap.packets.begin(), tap.packets.end(), [&](const Packet& packet) {
    return is_write(packet.bth.opcode) && packet.entropy == dead;
  }));
}

// However many there are, a dead path is asked about as if there were one; when that one goes, by another.
TEST(SharedPaths, OneAsksForAll) {
  const auto questions = [](const Tap& tap) {
    std::map<uint16_t, int> by;
    for (const Packet& packet : tap.packets)
      if (packet.bth.opcode == Opcode::kProbe) ++by[packet.peth.source_qpn_low];
    return by;
  };
  int alone = 0;
  for (const size_t count : {1u, 20u}) {
    ManyPairs pair(count);
    pair.set_step(10 * kMicrosecond);
    const Entropy dead = pair.paths(0).at(PathId{5}).entropy;
    Tap tap(pair.a);
    tap.drop = [&](const Packet& packet) { return packet.entropy == dead; };
    for (size_t i = 0; i < count; ++i) pair.write_by(i, 100'000);
    ASSERT_TRUE(pair.await(count));
    tap.clear();
    pair.run_for(300 * kMillisecond);
    std::map<uint16_t, int> by = questions(tap);
    ASSERT_EQ(by.size(), 1u);
    if (count == 1) {
      alone = by.begin()->second;
      EXPECT_GT(alone, 3);
      continue;
    }
    EXPECT_LT(by.begin()->second, 2 * alone + 2);
    // It goes, in every way in which one can.
    for (int way = 0; way < 3; ++way) {
      const uint16_t asker = questions(tap).begin()->first;
      size_t number = 0;
      while (static_cast<uint16_t>(pair.pairs[number].first->qpn().value()) != asker) ++number;
      QueuePairAttributes attributes;
      attributes.state = way == 0 ? QueuePairState::kError : QueuePairState::kReset;
      if (way < 2)
        ASSERT_TRUE(pair.a.engine->modify(*pair.pairs[number].first, attributes, pair.now()));
      else
        pair.destroy(number);
      tap.clear();
      pair.run_for(3 * kSecond);
      by = questions(tap);
      ASSERT_EQ(by.size(), 1u) << way;
      EXPECT_NE(by.begin()->first, asker) << way;
    }
  }
}

// The other end of the one that asks is not there any more, and it has nothing to send that would show it.
TEST(SharedPaths, WhoGetsNoAnswersDoesNotAskForEver) {
  ManyPairs pair(4);
  pair.set_step(10 * kMicrosecond);
  bool heals = false;
  Tap tap(pair.a);
  tap.drop = [&](const Packet& packet) {
    return !heals && packet.entropy != pair.paths(0).at(PathId{3}).entropy;
  };
  pair.write_by(0, 20'000);
  pair.run_for(30 * kMillisecond);
  tap.drop = nullptr;
  ASSERT_TRUE(pair.await(1));
  ASSERT_GT(bad(pair.paths(0)), 4u);
  pair.b.engine->destroy(pair.pairs[0].second);
  heals = true;
  ASSERT_TRUE(pair.run([&] { return bad(pair.paths(0)) == 0; }, 5 * kSecond));
}

// What happens to a connection whose other end is not there says nothing about paths.
TEST(SharedPaths, WhoIsDeafTakesNoPathFromOthers) {
  ManyPairs pair(2);
  pair.set_step(10 * kMicrosecond);
  pair.b.engine->destroy(pair.pairs[0].second);
  pair.write_by(0, 200'000);
  ASSERT_TRUE(pair.run([&] { return pair.pairs[0].first->state() == QueuePairState::kError; }, 10 * kSecond));
  EXPECT_EQ(pair.paths(1).active(), pair.paths(1).places());
  EXPECT_EQ(pair.a.engine->counters().paths_demoted, 0u);
  pair.poll(pair.a.sends);
  pair.write_by(1, 200'000);
  EXPECT_TRUE(pair.await(1));
}

// A SACK that tells of a gap is late. What it misses has come meanwhile, and what another queue pair has sent
// later by the same path is known to have come, too.
TEST(SharedPaths, NobodyLosesAPacketByTheNewsOfAnother) {
  ManyPairs pair(2);
  const QueuePair& first = *pair.pairs[0].first;
  bool hold = false;
  std::vector<std::pair<size_t, PipePort::Frame>> overtaken;
  std::vector<PipePort::Frame> late;
  for (size_t plane = 0; plane < 2; ++plane) {
    pair.a.ports[plane]->drop = [&, plane](const PipePort::Frame& frame) {
      const Packet packet = parse(frame);
      if (!hold || packet.bth.opcode != Opcode::kWriteFirst ||
          packet.bth.destination != pair.pairs[0].second->qpn())
        return false;
      overtaken.emplace_back(plane, frame);
      return true;
    };
    pair.b.ports[plane]->drop = [&](const PipePort::Frame& frame) {
      if (!hold || parse(frame).bth.destination != first.qpn()) return false;
      late.push_back(frame);
      return true;
    };
  }
  for (size_t i = 0; i < 2; ++i) pair.write_by(i, 100'000);
  ASSERT_TRUE(pair.await(2));
  hold = true;
  pair.write_by(0, 2 * 1024);
  pair.run_for(8 * kMicrosecond);
  ASSERT_EQ(overtaken.size(), 1u);
  ASSERT_EQ(late.size(), 1u) << "a SACK with a gap";
  const SentPacket sent = first.mrc()->requester().sent().at(first.oldest_unacknowledged());
  pair.b.ports[overtaken[0].first]->arrived.emplace(pair.now(), overtaken[0].second);
  pair.write_by(1, 200'000);
  pair.run_for(40 * kMicrosecond);
  ASSERT_GT(pair.paths(0).at(sent.path).delivered_order, sent.order) << "of the other";
  hold = false;
  for (size_t i = 0; i < late.size(); ++i)
    pair.a.ports[0]->arrived.emplace(pair.now() + i * kMicrosecond, std::move(late[i]));
  ASSERT_TRUE(pair.await(2));
  EXPECT_EQ(pair.a.engine->counters().retransmissions_sent, 0u);
  EXPECT_EQ(pair.a.engine->counters().paths_demoted, 0u);
}

// The peer's ports are said to be down, and are not: one asks, and all go on when it is answered.
TEST(SharedPaths, WhoWaitsForAPlaneHearsThatItIsBack) {
  ManyPairs pair(20);
  for (size_t i = 0; i < 20; ++i) pair.write_by(i, 1000);
  ASSERT_TRUE(pair.await(20));
  Bth bth;
  bth.opcode = Opcode::kEndpointRequest;
  bth.destination = kEndpointQpn;
  Erth erth;
  erth.operation = EndpointOperation::kPortStatusUpdate;
  Tap tap(pair.a);
  tap.drop = [](const Packet& packet) { return packet.bth.opcode == Opcode::kProbe; };
  inject(pair, pair.a, {}, bth, erth);
  pair.run_for(5 * kMicrosecond);
  ASSERT_EQ(pair.paths(0).port_planes(), 0u);
  for (size_t i = 0; i < 20; ++i) pair.write_by(i, 1000);
  pair.run_for(5 * kMicrosecond);
  ASSERT_EQ(tap.count(Opcode::kWriteOnly), 0u) << "nobody has a way";
  tap.drop = nullptr;
  ASSERT_TRUE(pair.run([&] { return pair.paths(0).port_planes() != 0; }, 20 * kMillisecond));
  pair.run_for(60 * kMicrosecond);
  EXPECT_EQ(pair.poll(pair.a.sends).size(), 20u) << "and not when it wonders why it hears nothing";
}

class Profiles final : public ProfileSource {
 public:
  Profiles() {
    for (const uint64_t id : {1, 2}) {
      std::vector<EvEntry> entries;
      for (uint32_t i = 0; i < 8; ++i)
        entries.push_back({.entropy = make_entropy(static_cast<Plane>(i % 2), 100 + i),
                           .plane = static_cast<Plane>(i % 2)});
      profiles[id] = {std::make_shared<const std::vector<EvEntry>>(std::move(entries)), 2,
                      kPathEventAssumedBad};
    }
  }
  const PathProfile* paths(uint64_t id) override {
    const auto found = profiles.find(id);
    return found == profiles.end() ? nullptr : &found->second;
  }
  const CongestionConfig* congestion(uint64_t) override { return nullptr; }

  std::map<uint64_t, PathProfile> profiles;
};

TEST(SharedPaths, OnlyWhatWasMadeOfTheSameThingsIsShared) {
  Profiles profiles;
  ManyPairs pair(2, &profiles);
  QueuePairAttributes terms;
  std::set<const PathSet*> sets = {&pair.paths(0)};
  EXPECT_EQ(&pair.paths(1), &pair.paths(0));
  const auto expect_apart = [&](const QueuePairAttributes& with) {
    pair.add(with);
    EXPECT_TRUE(sets.insert(&pair.paths(pair.pairs.size() - 1)).second) << sets.size();
    pair.add(with);
    EXPECT_EQ(&pair.paths(pair.pairs.size() - 1), &pair.paths(pair.pairs.size() - 2)) << sets.size();
  };
  terms.paths_per_plane = kPaths / 2;
  expect_apart(terms);
  terms = {};
  terms.paths_min_active = 7;
  expect_apart(terms);
  terms = {};
  terms.path_profile = 1;
  expect_apart(terms);
  terms.path_profile = 2;
  expect_apart(terms);
  // Another class of traffic is another peer.
  pair.options.dscp = 10;
  expect_apart({});
  EXPECT_EQ(pair.a.engine->paths().all, 2 * (kPaths + kPaths / 2 + kPaths + 4 + 4 + kPaths));
}

// A profile that changes is followed once, and who connects before its turn has come has the same paths.
TEST(SharedPaths, FollowTheirProfileTogether) {
  Profiles profiles;
  ManyPairs pair(1, &profiles);
  QueuePairAttributes terms;
  terms.path_profile = 1;
  for (int i = 0; i < 30; ++i) pair.add(terms);
  const PathSet& shared = pair.paths(1);
  std::vector<EvEntry> changed = *profiles.profiles[1].entries;
  changed[3].denied = true;
  changed[4].entropy = Entropy{0xC0DE};
  profiles.profiles[1].entries = std::make_shared<const std::vector<EvEntry>>(changed);
  pair.add(terms);
  EXPECT_EQ(&pair.paths(31), &shared);
  pair.a.engine->follow_profiles(pair.now());
  pair.run_for(10 * kMicrosecond);
  EXPECT_EQ(pair.a.engine->counters().paths.denied, 1u) << "once for all";
  EXPECT_EQ(shared.size(), changed.size());
  EXPECT_NE(shared.find(Entropy{0xC0DE}, 0), kNoPath);
  changed[3].denied = false;
  profiles.profiles[1].entries = std::make_shared<const std::vector<EvEntry>>(changed);
  pair.a.engine->follow_profiles(pair.now());
  pair.run_for(10 * kMicrosecond);
  EXPECT_EQ(pair.a.engine->counters().paths.allowed, 1u);
  // What cannot be followed comes with the next connection, and there alone.
  std::swap(changed[0].plane, changed[1].plane);
  profiles.profiles[1].entries = std::make_shared<const std::vector<EvEntry>>(changed);
  pair.add(terms);
  EXPECT_NE(&pair.paths(32), &shared);
  pair.a.engine->follow_profiles(pair.now());
  pair.run_for(10 * kMicrosecond);
  pair.add(terms);
  EXPECT_EQ(&pair.paths(33), &pair.paths(32));
  std::swap(changed[0].plane, changed[1].plane);
  profiles.profiles[1].entries = std::make_shared<const std::vector<EvEntry>>(changed);
  pair.add(terms);
  EXPECT_EQ(&pair.paths(34), &shared) << "it is what it was again";
}

// MRC 4.7: the controller hears of a path once, whoever has lost it.
TEST(SharedPaths, WhatHappensToThemIsToldOnce) {
  Profiles profiles;
  ManyPairs pair(1, &profiles);
  QueuePairAttributes terms;
  for (int i = 0; i < 8; ++i) {
    terms.path_profile = 1 + i % 2;
    pair.add(terms);
  }
  const Entropy dead = pair.paths(1).at(PathId{2}).entropy;
  Tap tap(pair.a);
  tap.drop = [&](const Packet& packet) { return packet.entropy == dead; };
  for (size_t i = 1; i < 9; ++i) pair.write_by(i, 50'000);
  ASSERT_TRUE(pair.await(8));
  const std::map<std::pair<uint64_t, PathId>, int> once = {{{1, PathId{2}}, 1}, {{2, PathId{2}}, 1}};
  EXPECT_EQ(pair.a.seen.path_events, once) << "of each profile";
}

TEST(SharedPaths, GoWithTheLastWhoHasThem) {
  ManyPairs pair(4);
  EXPECT_EQ(pair.a.engine->paths().all, 2 * kPaths) << "counted once";
  const Entropy dead = pair.paths(0).at(PathId{5}).entropy;
  {
    Tap tap(pair.a);
    tap.drop = [&](const Packet& packet) { return packet.entropy == dead; };
    pair.write_by(0, 100'000);
    ASSERT_TRUE(pair.await(1));
    for (auto& port : pair.a.ports) port->drop = nullptr;
  }
  ASSERT_EQ(pair.a.engine->paths().active, 2 * kPaths - 1);
  for (int i = 0; i < 3; ++i) pair.destroy(0);
  pair.add();
  EXPECT_EQ(&pair.paths(1), &pair.paths(0));
  EXPECT_EQ(bad(pair.paths(1)), 1u) << "who comes later knows it, too";
  pair.destroy(1);
  pair.destroy(0);
  EXPECT_EQ(pair.a.engine->paths().all, 0u);
  EXPECT_EQ(pair.a.engine->paths().active, 0u);
  pair.add();
  EXPECT_EQ(bad(pair.paths(0)), 0u) << "that was another set";
  EXPECT_EQ(pair.a.engine->paths().active, 2 * kPaths);
}

// Each spreads for itself: the same paths, in orders of their own.
TEST(SharedPaths, EachHasAnOrderOfItsOwn) {
  ManyPairs pair(2);
  Tap tap(pair.a);
  std::vector<std::vector<Entropy>> order(2);
  tap.drop = [&](const Packet& packet) {
    if (is_write(packet.bth.opcode))
      order[packet.bth.destination == pair.pairs[1].second->qpn() ? 1 : 0].push_back(packet.entropy);
    return false;
  };
  for (size_t i = 0; i < 2; ++i) pair.write_by(i, 10 * 2 * kPaths * 1024);
  ASSERT_TRUE(pair.await(2));
  EXPECT_NE(order[0], order[1]);
  for (const auto& of_one : order) {
    std::map<Entropy, int> uses;
    for (const Entropy entropy : of_one) ++uses[entropy];
    EXPECT_EQ(uses.size(), 2 * kPaths);
    for (const auto& [entropy, count] : uses) EXPECT_NEAR(count, 10, 2);
  }
}

// They come and go in any order, while paths and ports fail: the books are right at any time.
TEST(SharedPaths, ManyComeAndGo) {
  Profiles profiles;
  ManyPairs pair(2, &profiles);
  pair.set_step(10 * kMicrosecond);
  uint64_t draw = 7;
  const auto below = [&draw](uint64_t limit) {
    draw = draw * 6364136223846793005u + 1442695040888963407u;
    return static_cast<size_t>((draw >> 33) % limit);
  };
  for (auto& port : pair.a.ports)
    port->drop = [&](const PipePort::Frame& frame) {
      return static_cast<uint32_t>(parse(frame).entropy) % 5 == 0 && below(2) == 0;
    };
  const auto check = [&] {
    for (const End* end : {&pair.a, &pair.b}) {
      std::set<const PathSet*> sets;
      PathTotals sum;
      for (const auto& [one, other] : pair.pairs) {
        const QueuePair* qp = end == &pair.a ? one : other;
        if (!qp->connected() || !sets.insert(&qp->paths()).second) continue;
        sum.active += static_cast<uint32_t>(qp->paths().active());
        sum.all += static_cast<uint32_t>(qp->paths().places());
        ASSERT_EQ(qp->peer_paths()->askers.empty(), false);
        ASSERT_GE(qp->paths().active(), qp->paths().floor());
      }
      ASSERT_EQ(end->engine->paths().active, sum.active);
      ASSERT_EQ(end->engine->paths().all, sum.all);
    }
  };
  for (int step = 0; step < 400; ++step) {
    QueuePairAttributes attributes;
    const size_t some = pair.pairs.empty() ? 0 : below(pair.pairs.size());
    switch (below(6)) {
      case 0:
      case 1:
        if (pair.pairs.size() == 20) break;
        if (below(3) == 0) attributes.path_profile = 1 + below(2);
        pair.add(attributes);
        break;
      case 2:
        if (!pair.pairs.empty()) pair.destroy(some);
        break;
      case 3:
        if (pair.pairs.empty()) break;
        attributes.state = below(2) == 0 ? QueuePairState::kError : QueuePairState::kReset;
        pair.a.engine->modify(*pair.pairs[some].first, attributes, pair.now());
        pair.b.engine->modify(*pair.pairs[some].second, attributes, pair.now());
        if (attributes.state == QueuePairState::kError || below(2) == 0) break;
        pair.use(some);
        pair.reconnect(pair.options);
        break;
      case 4: {
        PipePort& port = *pair.b.ports[1];
        port.up = !port.up;
        break;
      }
      default:
        for (size_t i = 0; i < pair.pairs.size(); ++i)
          if (pair.pairs[i].first->state() == QueuePairState::kReadyToSend) pair.write_by(i, 20'000);
    }
    pair.run_for(200 * kMicrosecond);
    pair.poll(pair.a.sends);
    ASSERT_NO_FATAL_FAILURE(check()) << step;
  }
  while (!pair.pairs.empty()) pair.destroy(0);
  check();
  EXPECT_EQ(pair.a.engine->paths().all, 0u);
  // How many depends on what was drawn.
  EXPECT_GT(pair.a.engine->counters().paths_demoted, 0u);
  EXPECT_GT(pair.a.engine->counters().paths_restored, 0u);
}

}  // namespace
}  // namespace mrc::test
