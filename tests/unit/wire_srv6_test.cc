// SPDX-License-Identifier: BSD-2-Clause
// uSID addresses: composition, reading and the shift along a path.
#include <gtest/gtest.h>

#include <array>

#include "libmrc/wire/srv6.h"

namespace mrc {
namespace {

constexpr uint32_t kBlock = 0xFCBBBBBB;

TEST(Srv6, AddressHoldsBlockAndUsids) {
  const std::array<uint16_t, 3> usids{0x1203, 0x2201, 0x9002};
  const IpAddress address = make_usid_address(kBlock, usids);
  const IpAddress expected{{0xFC, 0xBB, 0xBB, 0xBB, 0x12, 0x03, 0x22, 0x01, 0x90, 0x02, 0, 0, 0, 0, 0, 0}};
  EXPECT_EQ(address, expected);
  EXPECT_EQ(usid_block(address), kBlock);
  EXPECT_EQ(usid_at(address, 0), 0x1203);
  EXPECT_EQ(usid_at(address, 2), 0x9002);
  EXPECT_EQ(usid_at(address, 3), 0);
  EXPECT_EQ(usid_at(address, kUsidsMax), 0);
}

TEST(Srv6, EverySwitchTakesOneUsidOff) {
  const std::array<uint16_t, kUsidsMax> usids{1, 2, 3, 4, 5, 6};
  IpAddress address = make_usid_address(kBlock, usids);
  for (size_t hop = 1; hop < kUsidsMax; ++hop) {
    ASSERT_TRUE(shift_usid(&address));
    EXPECT_EQ(address, make_usid_address(kBlock, std::span(usids).subspan(hop)));
    EXPECT_EQ(usid_at(address, 0), usids[hop]);
  }
  const IpAddress last = address;
  EXPECT_FALSE(shift_usid(&address));
  EXPECT_EQ(address, last) << "the last uSID stays";
}

TEST(Srv6, NothingToShift) {
  IpAddress empty = make_usid_address(kBlock, {});
  EXPECT_FALSE(shift_usid(&empty));
  EXPECT_EQ(usid_block(empty), kBlock);
}

}  // namespace
}  // namespace mrc
