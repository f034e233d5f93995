// SPDX-License-Identifier: BSD-2-Clause
// MRC 6: EV -> outer destination -> EV, in fabrics of two and three tiers, with any numbers of uSIDs.
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "libmrc/path/srv6_template.h"
#include "tests/unit/path_made.h"

namespace mrc {
namespace {

constexpr uint32_t kBlock = 0xFCBBBBBB;

FabricShape two_tiers(uint32_t spines) {
  FabricShape shape;
  shape.block = kBlock;
  shape.spines = spines;
  return shape;
}

FabricShape three_tiers(uint32_t leaves_per_pod, uint32_t spines, uint32_t cores_per_spine) {
  FabricShape shape = two_tiers(spines);
  shape.leaves_per_pod = leaves_per_pod;
  shape.cores_per_spine = cores_per_spine;
  return shape;
}

TEST(Srv6Template, TwoTiersAreT0T1T0Host) {
  const Srv6Template paths(two_tiers(16), {3, 1}, {7, 5});
  EXPECT_EQ(paths.uplinks(), 16u);
  // tier(4) | plane(4) | number(8); the plane in every uSID, the uplink in the T1's.
  const std::array<uint16_t, 4> usids{0x2203, 0x120B, 0x2207, 0x9205};
  EXPECT_EQ(paths.address(2, 11), make_usid_address(kBlock, usids));
}

TEST(Srv6Template, ThreeTiersUseAllSixUsids) {
  // From pod 1 to pod 2.
  const Srv6Template paths(three_tiers(16, 4, 8), {0x13, 1}, {0x27, 5});
  EXPECT_EQ(paths.uplinks(), 32u);
  // Uplink 19 = group 2, core 3.
  const std::array<uint16_t, 6> usids{0x2113, 0x1106, 0x3113, 0x110A, 0x2127, 0x9105};
  EXPECT_EQ(paths.address(1, 19), make_usid_address(kBlock, usids));
}

TEST(Srv6Template, WithinAPodThereIsNoCore) {
  const Srv6Template paths(three_tiers(16, 4, 8), {0x13, 1}, {0x17, 5});
  EXPECT_EQ(paths.uplinks(), 4u);
  EXPECT_EQ(paths.address(1, 3),
            make_usid_address(kBlock, std::array<uint16_t, 4>{0x2113, 0x1107, 0x2117, 0x9105}));
}

TEST(Srv6Template, SameLeafHasNoChoice) {
  const Srv6Template paths(two_tiers(16), {3, 1}, {3, 5});
  EXPECT_EQ(paths.uplinks(), 1u);
  EXPECT_EQ(paths.address(4, 0), make_usid_address(kBlock, std::array<uint16_t, 2>{0x2403, 0x9405}));
  EXPECT_EQ(paths.parse(4, paths.address(4, 0)), 0u);
}

TEST(Srv6Template, TheInverseFindsTheUplink) {
  FabricShape wide = three_tiers(64, 64, 64);  // 128 pods: 524,288 hosts
  wide.usids.first = {0x4000, 0x1000, 0x8000, 1};
  wide.usids.plane_step = 0;
  for (const Srv6Template& paths :
       {Srv6Template(two_tiers(256), {3, 0}, {7, 5}), Srv6Template(three_tiers(8, 8, 32), {0, 0}, {255, 5}),
        Srv6Template(wide, {0, 0}, {8191, 63})}) {
    for (const Plane plane : {0, 7, 15}) {
      std::set<std::array<uint8_t, 16>> seen;
      for (uint32_t uplink = 0; uplink < paths.uplinks(); ++uplink) {
        const IpAddress address = paths.address(plane, uplink);
        ASSERT_TRUE(seen.insert(address.bytes).second);
        ASSERT_EQ(paths.parse(plane, address), uplink);
      }
    }
  }
}

TEST(Srv6Template, ForeignAddressesAreRefused) {
  const Srv6Template paths(two_tiers(16), {3, 1}, {7, 5});
  const Srv6Template other(two_tiers(16), {3, 1}, {8, 5});
  EXPECT_FALSE(paths.parse(1, other.address(1, 1)));
  EXPECT_FALSE(paths.parse(2, paths.address(1, 1))) << "another plane";
  EXPECT_FALSE(paths.parse(1, IpAddress{}));
  IpAddress shifted = paths.address(1, 1);
  shift_usid(&shifted);
  EXPECT_FALSE(paths.parse(1, shifted));
  EXPECT_FALSE(paths.parse(1, Srv6Template(two_tiers(17), {3, 1}, {7, 5}).address(1, 16)))
      << "there is no such uplink";
}

TEST(Srv6Template, GivesAPathSetItsPaths) {
  const Srv6Template paths(two_tiers(32), {3, 1}, {7, 5});
  const std::vector<EvEntry> entries = paths.entries(8);
  EXPECT_EQ(entries.size(), 256u);
  PathSetConfig config;
  config.planes = 8;
  config.paths_per_plane = 16;
  SprayedPaths set;
  set.reset(config, entries, 1);
  EXPECT_EQ(set.size(), 256u);
  EXPECT_EQ(set.active(), 128u);
  for (int i = 0; i < 200; ++i) {
    const Path& path = set.at(set.select(~PlaneMask{0}));
    const auto found = paths.parse(path.plane, set.way(path).outer_destination);
    ASSERT_TRUE(found);
    EXPECT_EQ(make_entropy(path.plane, *found), path.entropy) << "the EV can be echoed";
  }
}

// A host takes 512 of 4,096 ways. All of its spines are among them, each as often; and the hosts of a leaf
// together use all cores.
TEST(Srv6Template, OfManyUplinksAHostTakesSome) {
  FabricShape shape = three_tiers(64, 64, 64);
  shape.usids.first = {0x4000, 0x1000, 0x8000, 1};
  shape.usids.plane_step = 0;
  std::set<uint32_t> used;
  for (uint32_t host = 0; host < 64; ++host) {
    const Srv6Template paths(shape, {5, host}, {8000, 5});
    ASSERT_EQ(paths.paths(), Srv6Template::kPathsMax);
    std::array<uint32_t, 64> by_spine{};
    std::set<uint32_t> entropies;
    for (uint32_t path = 0; path < paths.paths(); ++path) {
      const EvEntry entry = paths.entry(3, path);
      const auto uplink = paths.parse(3, entry.outer_destination);
      ASSERT_TRUE(uplink);
      used.insert(*uplink);
      ++by_spine[*uplink / 64];
      EXPECT_TRUE(entropies.insert(static_cast<uint32_t>(entry.entropy)).second);
    }
    for (const uint32_t count : by_spine) EXPECT_EQ(count, 8u);
  }
  EXPECT_EQ(used.size(), 4096u);
}

TEST(UsidPlan, KindsAndPlanesDoNotMeet) {
  const UsidPlan lab;
  for (size_t kind = 0; kind < kUsidKinds; ++kind) EXPECT_EQ(lab.room(static_cast<UsidKind>(kind), 16), 256u);
  EXPECT_EQ(lab.usid(UsidKind::kSpine, 1, 3), 0x1103);
  EXPECT_EQ(lab.usid(UsidKind::kLeaf, 15, 255), 0x2FFF);

  UsidPlan wide;  // close together, all planes alike
  wide.first = {0x4001, 0x0101, 0x8001, 1};
  wide.plane_step = 0;
  EXPECT_EQ(wide.room(UsidKind::kHost, 16), 0x100u);
  EXPECT_EQ(wide.room(UsidKind::kLeaf, 16), 0x3F00u);
  EXPECT_EQ(wide.room(UsidKind::kSpine, 16), 0x4000u);
  EXPECT_EQ(wide.room(UsidKind::kCore, 16), 0x7FFFu) << "up to the last uSID";
  wide.first[static_cast<size_t>(UsidKind::kCore)] = 0;  // two tiers
  EXPECT_EQ(wide.room(UsidKind::kSpine, 16), 0xBFFFu);

  UsidPlan narrow;
  narrow.plane_step = 0x400;
  EXPECT_EQ(narrow.room(UsidKind::kLeaf, 4), 0x400u);
  EXPECT_EQ(narrow.room(UsidKind::kLeaf, 5), 0u) << "plane 4 would be plane 0 of the cores";
  narrow.first[0] = narrow.first[1];
  EXPECT_EQ(narrow.room(UsidKind::kLeaf, 1), 0u);
}

}  // namespace
}  // namespace mrc
