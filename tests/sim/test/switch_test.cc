// SPDX-License-Identifier: BSD-2-Clause
// Forwarding: every host reaches every other, uSIDs choose the path, the hash spreads and is stable.
#include <gtest/gtest.h>

#include <map>
#include <stdexcept>

#include "libmrc/wire/packet.h"
#include "tests/sim/test/harness.h"

namespace mrc::sim {
namespace {

uint64_t delivered(Fabric& fabric, const Link* link, bool up) {
  return fabric.channel(up ? link->up_channel : link->down_channel).counters().delivered;
}

TEST(Switch, EveryHostReachesEveryOther) {
  for (uint32_t tiers = 1; tiers <= 3; ++tiers) {
    TopologyConfig config;
    config.planes = 2;
    config.tiers = tiers;
    config.pods = 3;
    config.leaves = 2;
    config.spines = 2;
    config.cores_per_spine = 2;
    config.hosts_per_leaf = 3;
    Fabric fabric(config, 5);
    Recorder recorder(fabric);
    uint32_t sent = 0;
    for (uint32_t from = 0; from < config.host_count(); ++from) {
      for (uint32_t to = 0; to < config.host_count(); ++to) {
        for (Plane plane = 0; plane < 2; ++plane) {
          FrameSpec spec;
          spec.from = from;
          spec.to = to;
          spec.plane = plane;
          spec.payload = 64;
          spec.v4 = (from + to) % 2 == 0;
          spec.entropy = from * 100 + to;
          send_frame(fabric, spec);
          ++sent;
        }
      }
    }
    fabric.run_until(kPerMillisecond);
    ASSERT_EQ(recorder.arrivals.size(), sent) << tiers << " tiers";
    for (const Arrival& arrival : recorder.arrivals) EXPECT_EQ(arrival.host, arrival.entropy % 100);
  }
}

TEST(Switch, UsidsChooseTheSpine) {
  TopologyConfig config = two_tiers(4);
  config.planes = 3;
  Fabric fabric(config, 1);
  Recorder recorder(fabric);
  for (uint32_t choice = 0; choice < 4; ++choice) {
    for (uint32_t n = 0; n <= choice; ++n) {
      FrameSpec spec;
      spec.to = 3;
      spec.plane = 2;
      spec.srv6 = true;
      spec.outer_destination = fabric.usid_path(0, 3, 2, choice);
      send_frame(fabric, spec);
    }
  }
  fabric.run_until(kPerMillisecond);
  ASSERT_EQ(recorder.arrivals.size(), 10u);
  for (uint32_t spine = 0; spine < 4; ++spine)
    EXPECT_EQ(delivered(fabric, fabric.find_link(Link::Kind::kSpine, 2, 0, spine), true), spine + 1);
  for (const Arrival& arrival : recorder.arrivals) {
    EXPECT_EQ(arrival.host, 3u);
    Packet packet;
    ASSERT_EQ(decode(arrival.bytes, &packet), DecodeError::kNone);
    EXPECT_TRUE(icrc_matches(packet));
  }
}

TEST(Switch, UsidsChooseTheCore) {
  const TopologyConfig config = TopologyConfig::fat_tree(4);
  Fabric fabric(config, 1);
  Recorder recorder(fabric);
  const uint32_t to = config.host_count() - 1;
  for (uint32_t choice = 0; choice < 4; ++choice) {
    FrameSpec spec;
    spec.to = to;
    spec.srv6 = true;
    spec.v4 = true;  // the inner packet may be either
    spec.outer_destination = fabric.usid_path(0, to, 0, choice);
    send_frame(fabric, spec);
  }
  fabric.run_until(kPerMillisecond);
  ASSERT_EQ(recorder.arrivals.size(), 4u);
  for (uint32_t core = 0; core < 4; ++core)
    EXPECT_EQ(delivered(fabric, fabric.find_link(Link::Kind::kCore, 0, core / 2, core), true), 1u);
}

// A tier has more switches than a byte can count, and more than twelve bits.
TEST(Switch, UsidsReachEveryHostOfALargeNetwork) {
  TopologyConfig config;
  config.tiers = 3;
  config.pods = 96;
  config.leaves = 64;
  config.spines = 2;
  config.hosts_per_leaf = 1;
  config.cores_per_spine = 1;
  Fabric fabric(config, 1);
  Recorder recorder(fabric);
  for (uint32_t to = 1; to < config.host_count(); ++to) {
    FrameSpec spec;
    spec.to = to;
    spec.payload = 64;
    spec.entropy = to;
    spec.srv6 = true;
    spec.outer_destination = fabric.usid_path(0, to, 0, to);
    send_frame(fabric, spec);
  }
  fabric.run_until(kPerMillisecond);
  ASSERT_EQ(recorder.arrivals.size(), config.host_count() - 1);
  for (const Arrival& arrival : recorder.arrivals) EXPECT_EQ(arrival.host, arrival.entropy);
}

TEST(Switch, MoreSwitchesThanUsidsIsAnError) {
  TopologyConfig config = two_tiers(1);
  config.hosts_per_leaf = 1;
  config.leaves = 65'535 - 3;  // a spine, a host at a leaf, and no core, which counts as one
  EXPECT_NO_THROW(config.fabric_shape());
  ++config.leaves;
  EXPECT_THROW(Fabric(config, 1), std::invalid_argument);
}

TEST(Switch, UnknownUsidsAndAddressesAreDropped) {
  Fabric fabric(two_tiers(2), 1);
  Recorder recorder(fabric);
  FrameSpec spec;
  spec.srv6 = true;
  spec.outer_destination = fabric.usid_path(0, 3, 1, 0);  // of another plane
  send_frame(fabric, spec);
  spec.srv6 = false;
  spec.to = 4000;  // no such host: up, and nowhere from there
  send_frame(fabric, spec);
  fabric.run_until(kPerMillisecond);
  EXPECT_TRUE(recorder.arrivals.empty());
  EXPECT_EQ(fabric.core().trace.count(Fate::kDropNoRoute), 2u);
}

TEST(Switch, HopLimitEnds) {
  Fabric fabric(two_tiers(2), 1);
  Recorder recorder(fabric);
  FrameSpec spec;
  spec.to = 3;
  spec.hop_limit = 3;  // three switches, and the last one finds 1
  send_frame(fabric, spec);
  spec.hop_limit = 4;
  send_frame(fabric, spec);
  fabric.run_until(kPerMillisecond);
  EXPECT_EQ(recorder.arrivals.size(), 1u);
  EXPECT_EQ(fabric.core().trace.count(Fate::kDropHopLimit), 1u);
}

TEST(Switch, HashSpreadsOverEntropy) {
  for (const bool v4 : {false, true}) {
    Fabric fabric(two_tiers(8), 3);
    for (uint32_t i = 0; i < 1600; ++i) {
      FrameSpec spec;
      spec.to = 3;
      spec.payload = 64;
      spec.v4 = v4;
      spec.entropy = 0xC000 + i;
      send_frame(fabric, spec);
    }
    fabric.run_until(10 * kPerMillisecond);
    for (uint32_t spine = 0; spine < 8; ++spine) {
      const uint64_t share = delivered(fabric, fabric.find_link(Link::Kind::kSpine, 0, 0, spine), true);
      EXPECT_GT(share, 140u);
      EXPECT_LT(share, 260u);
    }
  }
}

// The flow label counts as well, and two switches do not decide alike.
TEST(Switch, HashUsesTheFlowLabelAndASaltOfItsOwn) {
  TopologyConfig config = TopologyConfig::fat_tree(8);
  Fabric fabric(config, 3);
  for (uint32_t i = 0; i < 1600; ++i) {
    FrameSpec spec;
    spec.to = config.host_count() - 1;
    spec.payload = 64;
    spec.entropy = i << 16 | 0xC000;
    send_frame(fabric, spec);
  }
  fabric.run_until(10 * kPerMillisecond);
  uint32_t used = 0;
  for (const Link& link : fabric.links())
    if (link.kind == Link::Kind::kCore && link.lower < config.spines && delivered(fabric, &link, true) > 50)
      ++used;
  EXPECT_EQ(used, 16u);
}

TEST(Switch, SameFlowSamePath) {
  Fabric fabric(two_tiers(8), 3);
  for (uint32_t i = 0; i < 100; ++i) {
    FrameSpec spec;
    spec.to = 3;
    send_frame(fabric, spec);
  }
  fabric.run_until(10 * kPerMillisecond);
  uint32_t used = 0;
  for (uint32_t spine = 0; spine < 8; ++spine)
    used += delivered(fabric, fabric.find_link(Link::Kind::kSpine, 0, 0, spine), true) > 0 ? 1 : 0;
  EXPECT_EQ(used, 1u);
}

TEST(Switch, RerouteLeavesOutLinksThatAreDown) {
  for (const bool reroute : {false, true}) {
    TopologyConfig config = two_tiers(4);
    config.reroute = reroute;
    Fabric fabric(config, 3);
    Recorder recorder(fabric);
    FaultPlan faults(fabric);
    faults.link_down(*fabric.find_link(Link::Kind::kSpine, 0, 0, 1), 0, kForever);
    fabric.run_until(1);
    for (uint32_t i = 0; i < 400; ++i) {
      FrameSpec spec;
      spec.to = 3;
      spec.payload = 64;
      spec.entropy = i;
      send_frame(fabric, spec);
    }
    fabric.run_until(10 * kPerMillisecond);
    if (reroute) {
      EXPECT_EQ(recorder.arrivals.size(), 400u);
    } else {
      EXPECT_NEAR(static_cast<double>(recorder.arrivals.size()), 300, 40);
    }
  }
}

}  // namespace
}  // namespace mrc::sim
