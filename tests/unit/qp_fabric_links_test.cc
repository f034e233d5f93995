// SPDX-License-Identifier: BSD-2-Clause
// Source routes: probes that come back to who has sent them, and links that are denied under a live queue
// pair.
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "libmrc/path/denied_links.h"
#include "libmrc/path/srv6_template.h"
#include "tests/unit/qp_wire_tap.h"

namespace mrc::test {
namespace {

constexpr uint32_t kSpines = 4;
constexpr FabricShape kFabric{.block = 0xFCBBBBBB, .usids = {}, .spines = kSpines};
constexpr FabricPlace kOwn{0, 4};

class OnePlane : public PathSource {
 public:
  std::vector<EvEntry> paths_to(const IpAddress&) override {
    return Srv6Template(kFabric, kOwn, {1, 9}).entries(1);
  }
  std::optional<IpAddress> outer_source(Plane plane) const override {
    return outer_source_of(kFabric, kOwn, plane);
  }
};

class NoProfiles : public ProfileSource {
 public:
  const PathProfile* paths(uint64_t) override { return nullptr; }
  const CongestionConfig* congestion(uint64_t) override { return nullptr; }
};

EvProbe probe_to_spine(RulePair& pair) {
  EvProbe probe;
  probe.source = probe.destination = pair.address_of(pair.a);
  probe.path.has_outer = true;
  probe.path.outer_destination =
      make_usid_address(kFabric.block, std::array<uint16_t, 4>{0x2000, 0x1002, 0x2000, 0x9004});
  probe.cookie = 7;
  return probe;
}

TEST(OwnProbes, AreTheirOwnAnswer) {
  OnePlane paths;
  PairOptions options = strict_options(1);
  options.tune = [&](EngineConfig* config) { config->path_source = &paths; };
  RulePair pair(options);
  pair.run_for(10 * kMicrosecond);
  Tap tap(pair.a);
  Tap others(pair.b);
  ASSERT_TRUE(pair.a.engine->send_ev_probe(probe_to_spine(pair), pair.now()));
  pair.run_for(20 * kMicrosecond);
  ASSERT_EQ(tap.count(Opcode::kEndpointRequest), 1u);
  EXPECT_EQ(others.count(Opcode::kEndpointResponse), 0u) << "another process of the host hears it, too";
  EXPECT_EQ(pair.a.seen.probes.count(7), 0u);
  // The switch sends it back, some time later.
  PipePort::Frame frame = tap.frames.back();
  PipePort& port = *pair.a.ports[0];
  port.arrived.emplace(port.now, frame);
  pair.run_for(10 * kMicrosecond);
  ASSERT_EQ(pair.a.seen.probes.count(7), 1u);
  EXPECT_GE(pair.a.seen.probes[7], 20 * kMicrosecond);
  EXPECT_EQ(tap.count(Opcode::kEndpointResponse), 0u) << "nobody answers it";
  // A copy is nothing.
  const uint64_t answered = pair.a.engine->counters().ev_probes_answered;
  port.arrived.emplace(port.now, std::move(frame));
  pair.run_for(10 * kMicrosecond);
  EXPECT_EQ(pair.a.engine->counters().ev_probes_answered, answered);
}

// Which outer destinations packets of data have had.
std::set<std::array<uint8_t, 16>> ways_in(const Tap& tap) {
  constexpr size_t kOuterDestinationAt = 14 + 24;
  std::set<std::array<uint8_t, 16>> ways;
  for (size_t i = 0; i < tap.frames.size(); ++i) {
    if (tap.packets[i].bth.opcode == Opcode::kEndpointRequest) continue;
    std::array<uint8_t, 16> way;
    std::copy_n(tap.frames[i].begin() + kOuterDestinationAt, way.size(), way.begin());
    ways.insert(way);
  }
  return ways;
}

TEST(DeniedLinks, AreLeftByLiveQueuePairsAndTakenAgain) {
  OnePlane paths;
  DeniedLinks denied;
  AllowedPaths allowed(paths, denied);
  NoProfiles none;
  PairOptions options = strict_options(1);
  options.tune = [&](EngineConfig* config) {
    config->path_source = &allowed;
    config->profiles = &none;
  };
  RulePair pair(options);
  Tap tap(pair.a);
  uint64_t id = 0;
  const auto used = [&] {
    tap.clear();
    pair.write(++id, 64 * 1024);
    EXPECT_TRUE(pair.run([&] { return pair.a.sends.pushed() == id; }, kSecond));
    return ways_in(tap);
  };
  const auto to_spine = [](uint32_t spine) {
    return Srv6Template(kFabric, kOwn, {1, 9}).address(0, spine).bytes;
  };
  EXPECT_EQ(used().size(), kSpines);
  denied.assign({{0x1002, 0x2001}});
  pair.a.engine->follow_profiles(pair.now());
  const auto without = used();
  EXPECT_EQ(without.size(), kSpines - 1);
  EXPECT_FALSE(without.contains(to_spine(2)));
  denied.assign({});
  pair.a.engine->follow_profiles(pair.now());
  EXPECT_TRUE(used().contains(to_spine(2)));
}

// The same, and how often it was asked.
class Counted : public OnePlane {
 public:
  uint64_t version() const override { return version_; }
  std::vector<EvEntry> paths_to(const IpAddress& destination) override {
    ++to_;
    return spines_ > 0
               ? Srv6Template(FabricShape{.block = 0xFCBBBBBB, .usids = {}, .spines = spines_}, kOwn, {1, 9})
                     .entries(1)
               : OnePlane::paths_to(destination);
  }
  std::vector<EvEntry> paths_from(const IpAddress&) override {
    ++from_;
    return {};
  }
  uint32_t to_ = 0;
  uint32_t from_ = 0;
  uint64_t version_ = 0;
  uint32_t spines_ = 0;  // of another fabric
};

// However many queue pairs lead there: what is worked out for one of them is that of all, until the source or
// what is denied may have changed.
TEST(OwnPaths, AreWorkedOutOnceForAPeer) {
  constexpr uint32_t kPairs = 12;
  Counted paths;
  NoProfiles none;
  PairOptions options = strict_options(1);
  options.tune = [&](EngineConfig* config) {
    config->path_source = &paths;
    config->profiles = &none;
    config->transport.tell_denied = true;
  };
  RulePair pair(options);
  EXPECT_EQ(paths.to_, 2u) << "by the engine at each end";
  EXPECT_EQ(paths.from_, 2u);
  std::vector<QueuePair*> all{pair.a.qp};
  const auto add = [&] {
    for (End* end : {static_cast<End*>(&pair.a), static_cast<End*>(&pair.b)})
      end->qp = end->engine->create(end->qp->config());
    pair.reconnect(options);
    all.push_back(pair.a.qp);
  };
  for (uint32_t i = 1; i < kPairs; ++i) add();
  EXPECT_EQ(paths.to_, 2u);
  EXPECT_EQ(paths.from_, 2u);
  pair.a.engine->follow_profiles(pair.now());
  pair.run_for(100 * kMicrosecond);
  EXPECT_EQ(paths.to_, 3u) << "something may be denied now, for all";
  EXPECT_EQ(paths.from_, 3u);
  // There is another list of hosts, and nobody was told: who connects finds it.
  paths.spines_ = 2;
  ++paths.version_;
  EXPECT_EQ(all.back()->paths().size(), kSpines);
  add();
  EXPECT_EQ(paths.to_, 5u);
  EXPECT_EQ(all.back()->paths().size(), 2u);
  add();
  EXPECT_EQ(paths.to_, 5u);
}

}  // namespace
}  // namespace mrc::test
