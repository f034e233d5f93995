// SPDX-License-Identifier: BSD-2-Clause
// Which paths lead over a link that an operator has denied.
#include <gtest/gtest.h>

#include <array>

#include "libmrc/path/denied_links.h"
#include "libmrc/path/srv6_template.h"

namespace mrc {
namespace {

constexpr FabricShape kFabric{.block = 0xFCBBBBBB, .usids = {}, .spines = 4};
constexpr FabricPlace kOwn{0, 4};
constexpr FabricPlace kPeer{1, 9};

// From host 4 on leaf 0 to host 9 on leaf 1, over 2 planes of 4 spines.
class TwoPlanes : public PathSource {
 public:
  std::vector<EvEntry> paths_to(const IpAddress&) override {
    return Srv6Template(kFabric, kOwn, kPeer).entries(2);
  }
  std::vector<EvEntry> paths_from(const IpAddress&) override {
    return Srv6Template(kFabric, kPeer, kOwn).entries(2);
  }
  std::optional<IpAddress> outer_source(Plane plane) const override {
    return outer_source_of(kFabric, kOwn, plane);
  }
  std::optional<IpAddress> peer_outer_source(const IpAddress&, Plane plane) const override {
    return outer_source_of(kFabric, kPeer, plane);
  }
};

// Of all eight paths, plane by plane and spine by spine: a letter for each.
std::string seen(std::vector<UsidLink> links, bool arriving = false) {
  TwoPlanes all;
  DeniedLinks denied;
  denied.assign(std::move(links));
  AllowedPaths allowed(all, denied);
  std::string letters;
  for (const EvEntry& entry : arriving ? allowed.paths_from({}) : allowed.paths_to({}))
    letters += entry.denied ? 'x' : '.';
  return letters;
}

TEST(DeniedLinks, TakeThePathsThatLeadOverThem) {
  EXPECT_EQ(seen({}), "........");
  EXPECT_EQ(seen({{0x2000, 0x1002}}), "..x.....") << "the first uplink";
  EXPECT_EQ(seen({{0x1002, 0x2000}}), "..x.....") << "in either order";
  EXPECT_EQ(seen({{0x1103, 0x2101}}), ".......x") << "on the way down";
  EXPECT_EQ(seen({{0x1103, 0x2102}}), "........") << "to another leaf";
  EXPECT_EQ(seen({{0x2000, 0x2001}}), "........") << "they do not follow each other";
}

TEST(DeniedLinks, OfHostsAreWholePlanes) {
  EXPECT_EQ(seen({{0x9004, 0x2000}}), "xxxx....") << "ours";
  EXPECT_EQ(seen({{0x2101, 0x9109}}), "....xxxx") << "theirs";
  EXPECT_EQ(seen({{0x9005, 0x2000}}), "........") << "a neighbour's";
}

TEST(DeniedLinks, AreKnownOnTheWayOfOthersToo) {
  EXPECT_EQ(seen({}, true), "........");
  EXPECT_EQ(seen({{0x2000, 0x1002}}, true), "..x.....") << "its way down to us";
  EXPECT_EQ(seen({{0x2101, 0x1103}}, true), ".......x") << "the first uplink of the peer";
  EXPECT_EQ(seen({{0x9109, 0x2101}}, true), "....xxxx") << "its own";
  EXPECT_EQ(seen({{0x9004, 0x2000}}, true), "xxxx....") << "ours";
}

TEST(DeniedLinks, WithOneEndAreSwitches) {
  EXPECT_EQ(seen({{0x1001, 0}}), ".x......");
  EXPECT_EQ(seen({{0x2100, 0}}), "....xxxx");
}

TEST(DeniedLinks, NeverTakeTheLastPath) {
  EXPECT_EQ(seen({{0x2000, 0}, {0x2101, 0}}), "........") << "a bad path is better than none";
  EXPECT_EQ(seen({{0x2000, 0}, {0x1100, 0}, {0x1101, 0}, {0x1102, 0}}), "xxxxxxx.");
}

TEST(DeniedLinks, AreFoundBehindASegmentToo) {
  DeniedLinks denied;
  denied.assign({{0x1002, 0x2001}});
  EvEntry entry;
  entry.has_outer = entry.has_segment = true;
  entry.outer_destination = make_usid_address(kFabric.block, std::array<uint16_t, 2>{0x2000, 0x1002});
  entry.segment = make_usid_address(kFabric.block, std::array<uint16_t, 2>{0x2001, 0x9009});
  EvEntry good = entry;
  good.outer_destination = make_usid_address(kFabric.block, std::array<uint16_t, 2>{0x2000, 0x1001});
  std::vector<EvEntry> entries = {entry, good};
  denied.apply(nullptr, &entries);
  EXPECT_TRUE(entries[0].denied);
  EXPECT_FALSE(entries[1].denied);
}

}  // namespace
}  // namespace mrc
