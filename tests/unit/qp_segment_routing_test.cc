// SPDX-License-Identifier: BSD-2-Clause
// MRC 6, RFC 8754: paths whose profile asks for a routing header send one, and the peer reads past it.
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "tests/unit/qp_wire_tap.h"

namespace mrc::test {
namespace {

constexpr size_t kOuterAt = 14;
constexpr size_t kRoutingAt = kOuterAt + 40;
constexpr size_t kInnerAt = kRoutingAt + 24;

IpAddress address6(uint8_t last) {
  IpAddress address;
  address.bytes = {0x5f, 0, 0, 1};
  address.bytes[15] = last;
  return address;
}

// Every path has an outer destination and a segment of its own.
class SegmentPaths : public PathSource {
 public:
  std::vector<EvEntry> paths_to(const IpAddress&) override {
    std::vector<EvEntry> entries;
    for (uint8_t i = 0; i < 4; ++i)
      entries.push_back({.entropy = make_entropy(0, i),
                         .plane = 0,
                         .has_outer = true,
                         .outer_destination = address6(static_cast<uint8_t>(0x10 + i)),
                         .has_segment = true,
                         .segment = address6(static_cast<uint8_t>(0x20 + i))});
    return entries;
  }
};

TEST(SegmentRouting, DataAndAnswersCarryTheSegmentOfTheirPath) {
  SegmentPaths paths;
  PairOptions options = strict_options();
  options.tune = [&paths](EngineConfig* config) { config->path_source = &paths; };
  RulePair pair(options);
  Tap data(pair.a);
  Tap answers(pair.b);
  pair.write(1, 40 * 1024);
  ASSERT_TRUE(pair.run([&] { return !pair.a.sends.empty(); }, kSecond));
  EXPECT_EQ(WirePair::poll(pair.a.sends).at(0).status, CompletionStatus::kSuccess);
  EXPECT_EQ(0, std::memcmp(pair.target.data(), pair.data.data(), 40 * 1024));
  EXPECT_EQ(pair.a.engine->counters().retransmits(), 0u);
  std::array<int, 4> used{};
  for (const Tap* tap : {&data, &answers}) {
    ASSERT_FALSE(tap->frames.empty());
    for (size_t i = 0; i < tap->frames.size(); ++i) {
      const PipePort::Frame& frame = tap->frames[i];
      ASSERT_GT(frame.size(), kInnerAt + 20);
      ASSERT_EQ(frame[kOuterAt] >> 4, 6);
      ASSERT_EQ(frame[kOuterAt + 6], 43) << "next header: routing";
      const size_t payload = frame[kOuterAt + 4] << 8 | frame[kOuterAt + 5];
      ASSERT_EQ(payload, frame.size() - kRoutingAt);
      ASSERT_EQ(frame[kRoutingAt], 4) << "IPv4 inside";
      ASSERT_EQ(frame[kRoutingAt + 1], 2) << "length in 8 bytes beyond the first 8";
      ASSERT_EQ(frame[kRoutingAt + 2], 4) << "segment routing";
      ASSERT_EQ(frame[kRoutingAt + 3], 1) << "segments left";
      ASSERT_EQ(frame[kRoutingAt + 4], 0) << "last entry";
      ASSERT_EQ(frame[kInnerAt] >> 4, 4);
      // The path is the same one everywhere: in the entropy, the outer destination and the segment.
      const uint32_t path = static_cast<uint32_t>(tap->packets[i].entropy) & 3;
      ASSERT_EQ(frame[kOuterAt + 39], 0x10 + path);
      ASSERT_EQ(frame[kRoutingAt + 23], 0x20 + path);
      ++used[path];
    }
  }
  for (const int count : used) EXPECT_GT(count, 0) << "all paths are in use";
}

}  // namespace
}  // namespace mrc::test
