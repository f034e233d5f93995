// SPDX-License-Identifier: BSD-2-Clause
// MRC 6: EV -> outer destination -> EV.
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "libmrc/path/path_set.h"
#include "libmrc/path/srv6_template.h"

namespace mrc {
namespace {

constexpr uint32_t kBlock = 0xFCBBBBBB;

TEST(Srv6Template, TwoTiersAreT0T1T0Host) {
  const auto paths = Srv6Template::two_tier(kBlock, 3, 7, 5, 16);
  ASSERT_TRUE(paths);
  // tier(4) | plane(4) | index(8); the plane in every uSID, the uplink in the T1's.
  const std::array<uint16_t, 4> usids{0x2203, 0x120B, 0x2207, 0x9205};
  EXPECT_EQ(paths->address(2, 11), make_usid_address(kBlock, usids));
}

TEST(Srv6Template, ThreeTiersUseAllSixUsids) {
  const auto paths = Srv6Template::three_tier(
      kBlock, 3, 7, 5, {.t1_per_pod = 4, .t2_per_group = 8, .source_pod = 1, .destination_pod = 2});
  ASSERT_TRUE(paths);
  EXPECT_EQ(paths->uplinks(), 32u);
  // Uplink 19 = group 2, spine 3.
  const std::array<uint16_t, 6> usids{0x2103, 0x1106, 0x3113, 0x110A, 0x2107, 0x9105};
  EXPECT_EQ(paths->address(1, 19), make_usid_address(kBlock, usids));
}

TEST(Srv6Template, SameLeafHasNoChoice) {
  const Srv6Template paths = Srv6Template::same_leaf(kBlock, 3, 5);
  EXPECT_EQ(paths.uplinks(), 1u);
  EXPECT_EQ(paths.address(4, 0), make_usid_address(kBlock, std::array<uint16_t, 2>{0x2403, 0x9405}));
  EXPECT_EQ(paths.parse(paths.address(4, 0)), (Srv6Template::Uplink{4, 0}));
}

TEST(Srv6Template, TheInverseFindsPlaneAndUplink) {
  const auto two = Srv6Template::two_tier(kBlock, 3, 7, 5, 256);
  const auto three = Srv6Template::three_tier(
      kBlock, 3, 7, 5, {.t1_per_pod = 8, .t2_per_group = 32, .source_pod = 0, .destination_pod = 31});
  ASSERT_TRUE(two && three);
  for (const Srv6Template& paths : {*two, *three}) {
    std::set<std::array<uint8_t, 16>> seen;
    for (Plane plane = 0; plane < 16; ++plane)
      for (uint32_t uplink = 0; uplink < paths.uplinks(); ++uplink) {
        const IpAddress address = paths.address(plane, uplink);
        ASSERT_TRUE(seen.insert(address.bytes).second);
        ASSERT_EQ(paths.parse(address), (Srv6Template::Uplink{plane, uplink}));
      }
  }
}

TEST(Srv6Template, ForeignAddressesAreRefused) {
  const auto paths = Srv6Template::two_tier(kBlock, 3, 7, 5, 16);
  const auto other = Srv6Template::two_tier(kBlock, 3, 8, 5, 16);
  EXPECT_FALSE(paths->parse(other->address(1, 1)));
  EXPECT_FALSE(paths->parse(IpAddress{}));
  IpAddress shifted = paths->address(1, 1);
  shift_usid(&shifted);
  EXPECT_FALSE(paths->parse(shifted));
  IpAddress beyond = Srv6Template::two_tier(kBlock, 3, 7, 5, 17)->address(1, 16);
  EXPECT_FALSE(paths->parse(beyond)) << "there is no such uplink";
}

TEST(Srv6Template, RefusesWhatDoesNotFitTheLayout) {
  EXPECT_FALSE(Srv6Template::two_tier(kBlock, 1, 2, 3, 0));
  EXPECT_FALSE(Srv6Template::two_tier(kBlock, 1, 2, 3, 257));
  EXPECT_FALSE(Srv6Template::three_tier(kBlock, 1, 2, 3, {.t1_per_pod = 32, .t2_per_group = 9}));
  EXPECT_FALSE(
      Srv6Template::three_tier(kBlock, 1, 2, 3, {.t1_per_pod = 8, .t2_per_group = 8, .destination_pod = 32}));
  EXPECT_FALSE(Srv6Template::three_tier(kBlock, 1, 2, 3, {.t1_per_pod = 0}));
}

TEST(Srv6Template, GivesAPathSetItsPaths) {
  const auto paths = Srv6Template::two_tier(kBlock, 3, 7, 5, 32);
  const std::vector<EvEntry> entries = paths->entries(8);
  EXPECT_EQ(entries.size(), 256u);
  PathSetConfig config;
  config.planes = 8;
  config.paths_per_plane = 16;
  PathSet set;
  set.reset(config, entries, 1);
  EXPECT_EQ(set.size(), 256u);
  EXPECT_EQ(set.active(), 128u);
  for (int i = 0; i < 200; ++i) {
    const Path& path = set.at(set.select(~PlaneMask{0}));
    const auto found = paths->parse(set.way(path).outer_destination);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->plane, path.plane);
    EXPECT_EQ(make_entropy(found->plane, found->uplink), path.entropy) << "the EV can be echoed";
  }
}

}  // namespace
}  // namespace mrc
