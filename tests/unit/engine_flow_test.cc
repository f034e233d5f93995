// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "libmrc/engine/flow_table.h"

namespace mrc {
namespace {

using Frame = std::vector<uint8_t>;

Frame udp_frame(uint8_t first_of_mac = 2) {
  Frame frame = {first_of_mac, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 9, 0x08, 0x00};
  const Frame rest = {0x45, 0x28, 0, 32, 0,    0,    0x40, 0,    64, 17, 0, 0, 10, 0, 0, 1,
                      10,   0,    0, 2,  0x04, 0xD2, 0x13, 0x88, 0,  12, 0, 0, 1,  2, 3, 4};
  frame.insert(frame.end(), rest.begin(), rest.end());
  return frame;
}

QueuePair* queue_pair(uintptr_t number) {
  return reinterpret_cast<QueuePair*>(number << 8);  // only told apart
}

Flow flow_to(uintptr_t number, uint64_t id, FlowKind kind = FlowKind::kMatching, uint16_t priority = 0) {
  Flow flow;
  flow.id = id;
  flow.kind = kind;
  flow.priority = priority;
  flow.qp = queue_pair(number);
  return flow;
}

std::vector<uint64_t> takers(const FlowTable& table, const Frame& frame) {
  std::vector<uint64_t> ids;
  table.for_each_taker(frame, [&](const Flow& flow) { ids.push_back(flow.id); });
  return ids;
}

using Ids = std::vector<uint64_t>;

TEST(FlowView, ReadsWhatIsThere) {
  const FlowView view(udp_frame());
  EXPECT_EQ(view.layers(), kLayerEthernet | kLayerIpv4 | kLayerUdp);
  EXPECT_EQ(view.key().protocol, 17);
  EXPECT_EQ(view.key().traffic_class, 0x28);
  EXPECT_EQ(view.key().hop_limit, 64);
  EXPECT_EQ(view.key().ip_flags, 2);
  EXPECT_EQ(view.key().source_port, (std::array<uint8_t, 2>{0x04, 0xD2}));
  EXPECT_EQ(view.key().destination_port, (std::array<uint8_t, 2>{0x13, 0x88}));
  EXPECT_FALSE(view.to_many());
}

// Whatever its length, nothing behind its end is read (a sanitizer would say so), and fewer layers are seen.
TEST(FlowView, CutOffAnywhere) {
  const Frame whole = udp_frame();
  uint8_t before = 0;
  for (size_t bytes = 0; bytes <= whole.size(); ++bytes) {
    const Frame part(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(bytes));
    const uint8_t layers = FlowView(part).layers();
    EXPECT_EQ(layers & before, before);
    before = layers;
  }
  EXPECT_EQ(before, kLayerEthernet | kLayerIpv4 | kLayerUdp);
}

TEST(FlowView, ALaterFragmentHasNoPorts) {
  Frame frame = udp_frame();
  frame[14 + 7] = 1;
  EXPECT_EQ(FlowView(frame).layers(), kLayerEthernet | kLayerIpv4);
}

TEST(FlowView, OptionsOfIpv4AreStepped) {
  Frame frame = udp_frame();
  frame[14] = 0x46;
  const uint8_t option[] = {1, 1, 1, 0};
  frame.insert(frame.begin() + 14 + 20, std::begin(option), std::end(option));
  EXPECT_EQ(FlowView(frame).key().destination_port, (std::array<uint8_t, 2>{0x13, 0x88}));
  frame[14] = 0x4F;  // more than there is
  EXPECT_EQ(FlowView(frame).layers(), kLayerEthernet);
}

TEST(FlowTable, WithoutFlowsNobodyGetsAnything) {
  FlowTable table;
  EXPECT_TRUE(table.empty());
  EXPECT_TRUE(takers(table, udp_frame()).empty());
}

TEST(FlowTable, LowestNumberTakesTheFrame) {
  FlowTable table;
  table.add(flow_to(1, 1, FlowKind::kMatching, 5));
  table.add(flow_to(2, 2, FlowKind::kMatching, 4));
  table.add(flow_to(3, 3, FlowKind::kAllElse));
  EXPECT_EQ(takers(table, udp_frame()), Ids{2});
  table.remove(2);
  EXPECT_EQ(takers(table, udp_frame()), Ids{1});
  table.remove(1);
  EXPECT_EQ(takers(table, udp_frame()), Ids{3});
}

TEST(FlowTable, MasksDecide) {
  FlowTable table;
  Flow flow = flow_to(1, 1);
  flow.match.layers = kLayerIpv4;
  flow.match.value.source_ip = {10, 0, 0, 200};  // of which only a part counts
  flow.match.mask.source_ip = {255, 255, 255, 0};
  table.add(flow);
  EXPECT_EQ(takers(table, udp_frame()), Ids{1});
  flow.id = 2;
  flow.match.value.source_ip = {10, 0, 1, 200};
  table.remove(1);
  table.add(flow);
  EXPECT_TRUE(takers(table, udp_frame()).empty());
}

TEST(FlowTable, EqualPrioritiesEachQueuePairOnce) {
  FlowTable table;
  table.add(flow_to(1, 1));
  table.add(flow_to(2, 2));
  table.add(flow_to(1, 3));
  EXPECT_EQ(takers(table, udp_frame()), (Ids{1, 2}));
}

TEST(FlowTable, WhoLetsPassTakesNothingAway) {
  FlowTable table;
  Flow passing = flow_to(1, 1, FlowKind::kMatching, 0);
  passing.lets_pass = true;
  table.add(passing);
  table.add(flow_to(2, 2, FlowKind::kMatching, 1));
  table.add(flow_to(3, 3, FlowKind::kMatching, 2));
  EXPECT_EQ(takers(table, udp_frame()), (Ids{1, 2}));
}

TEST(FlowTable, WhatIsLeftAndGroups) {
  FlowTable table;
  table.add(flow_to(1, 1, FlowKind::kToManyElse));
  table.add(flow_to(2, 2, FlowKind::kAllElse));
  EXPECT_EQ(takers(table, udp_frame()), Ids{2});
  EXPECT_EQ(takers(table, udp_frame(1)), (Ids{1, 2}));
}

TEST(FlowTable, SniffersStandApart) {
  FlowTable table;
  table.add(flow_to(1, 1, FlowKind::kSniffer));
  EXPECT_FALSE(table.empty());
  EXPECT_FALSE(table.steers());
  EXPECT_TRUE(takers(table, udp_frame()).empty());
  EXPECT_EQ(table.sniffers().size(), 1u);
  table.remove(1);
  EXPECT_TRUE(table.empty());
}

}  // namespace
}  // namespace mrc
