// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <algorithm>

#include "libmrc/memory/memory_table.h"

namespace mrc {
namespace {

constexpr ProtectionDomain kDomain{7};

TEST(MemoryTable, TranslatesInsideOnly) {
  MemoryTable table(1);
  uint8_t buffer[100];
  const MemoryKey key = table.add(kDomain, buffer, sizeof buffer, 0x1000, kRemoteWrite);
  EXPECT_EQ(table.translate(key, kDomain, 0x1000, 100, kRemoteWrite), buffer);
  EXPECT_EQ(table.translate(key, kDomain, 0x1063, 1, 0), buffer + 99);
  EXPECT_EQ(table.translate(key, kDomain, 0x1000, 101, 0), nullptr);
  EXPECT_EQ(table.translate(key, kDomain, 0x0FFF, 1, 0), nullptr);
  EXPECT_EQ(table.translate(key, kDomain, 0x1064, 1, 0), nullptr);
  EXPECT_EQ(table.translate(key, kDomain, UINT64_MAX, 2, 0), nullptr);
  EXPECT_EQ(table.translate(key, kDomain, 0x1001, UINT64_MAX, 0), nullptr);
}

TEST(MemoryTable, RefusesOtherDomainsAndRights) {
  MemoryTable table(1);
  uint8_t buffer[8];
  const MemoryKey key = table.add(kDomain, buffer, sizeof buffer, 0, kLocalWrite);
  EXPECT_EQ(table.translate(key, ProtectionDomain{8}, 0, 1, 0), nullptr);
  EXPECT_EQ(table.translate(key, kDomain, 0, 1, kRemoteWrite), nullptr);
  EXPECT_NE(table.translate(key, kDomain, 0, 1, kLocalWrite), nullptr);
}

TEST(MemoryTable, AStaleKeyNeverMatches) {
  MemoryTable table(3);
  uint8_t buffer[8];
  MemoryKey old = table.add(kDomain, buffer, sizeof buffer, 0, 0);
  for (int i = 0; i < 2000; ++i) {
    EXPECT_TRUE(table.remove(old));
    EXPECT_FALSE(table.remove(old));
    const MemoryKey fresh = table.add(kDomain, buffer, sizeof buffer, 0, 0);
    EXPECT_NE(fresh, old);
    EXPECT_EQ(table.find(old), nullptr);
    old = fresh;
  }
}

TEST(MemoryTable, RefusesWhenFull) {
  MemoryTable table(1, 4);
  uint8_t buffer[1];
  for (int i = 0; i < 4; ++i) EXPECT_NE(table.add(kDomain, buffer, 1, 0, 0), MemoryKey{});
  EXPECT_EQ(table.add(kDomain, buffer, 1, 0, 0), MemoryKey{});
  EXPECT_EQ(table.size(), 4u);
}

MemoryKey retagged(MemoryKey key) {
  const auto value = static_cast<uint32_t>(key);
  return MemoryKey{(value & ~0xFFu) | ((value + 1) & 0xFF)};
}

TEST(MemoryTable, WindowsShowAPartOfARegion) {
  MemoryTable table(1);
  uint8_t buffer[100];
  const MemoryKey region = table.add(kDomain, buffer, 100, 0x1000, kLocalWrite | kWindowBind);
  const MemoryKey window = table.add_window(kDomain, MemoryKind::kWindow);
  EXPECT_EQ(table.translate(window, kDomain, 0, 0, kRemoteRead), nullptr) << "not bound";
  const MemoryKey bound = retagged(window);
  ASSERT_TRUE(table.bind({bound, region, 0x1010, 16, kRemoteRead, false}, kDomain));
  EXPECT_EQ(table.find(window), nullptr) << "its old key";
  EXPECT_EQ(table.translate(bound, kDomain, 0x1010, 16, kRemoteRead), buffer + 16);
  EXPECT_EQ(table.translate(bound, kDomain, 0x100F, 1, kRemoteRead), nullptr);
  EXPECT_EQ(table.translate(bound, kDomain, 0x1010, 17, kRemoteRead), nullptr);
  EXPECT_EQ(table.translate(bound, kDomain, 0x1010, 1, kRemoteWrite), nullptr);
  EXPECT_EQ(table.translate(bound, kDomain, 0x1010, 1, kLocalRead), nullptr) << "it is for peers only";
  EXPECT_FALSE(table.remove(region)) << "a window is bound to it";
  EXPECT_FALSE(table.invalidate(bound, kDomain)) << "not of this type";
  const MemoryKey again = retagged(bound);
  ASSERT_TRUE(table.bind({again, region, 0x1020, 4, kRemoteWrite, true}, kDomain)) << "bound anew";
  EXPECT_EQ(table.translate(again, kDomain, 0, 4, kRemoteWrite), buffer + 32);
  ASSERT_TRUE(table.bind({retagged(again), region, 0, 0, 0, false}, kDomain)) << "unbound";
  EXPECT_TRUE(table.remove(region));
  EXPECT_TRUE(table.remove(retagged(again)));
  EXPECT_EQ(table.size(), 0u);
}

TEST(MemoryTable, KeyedWindowsAreInvalidatedBeforeTheyAreBoundAgain) {
  MemoryTable table(1);
  uint8_t buffer[100];
  const MemoryKey region = table.add(kDomain, buffer, 100, 0, kLocalWrite | kWindowBind);
  const MemoryKey window = table.add_window(kDomain, MemoryKind::kKeyedWindow);
  const WindowBinding binding{window, region, 0, 100, kRemoteWrite, false};
  EXPECT_FALSE(table.bind(binding, ProtectionDomain{8})) << "another domain";
  ASSERT_TRUE(table.bind(binding, kDomain));
  EXPECT_FALSE(table.bind(binding, kDomain)) << "it is bound";
  EXPECT_FALSE(table.invalidate(window, ProtectionDomain{8}));
  EXPECT_TRUE(table.invalidate(window, kDomain));
  EXPECT_FALSE(table.invalidate(window, kDomain));
  EXPECT_FALSE(table.invalidate(region, kDomain)) << "regions are not ended like that";
  EXPECT_EQ(table.translate(window, kDomain, 0, 1, kRemoteWrite), nullptr);
  EXPECT_TRUE(table.bind(binding, kDomain));
  EXPECT_TRUE(table.remove(window)) << "bound windows may go";
  EXPECT_TRUE(table.remove(region));
}

TEST(MemoryTable, KeyedWindowsBelongToTheirQueuePair) {
  MemoryTable table(1);
  uint8_t buffer[100];
  const Accessor mine{kDomain, Qpn{17}};
  const Accessor other{kDomain, Qpn{18}};
  const MemoryKey region = table.add(kDomain, buffer, 100, 0, kLocalWrite | kWindowBind);
  const MemoryKey window = table.add_window(kDomain, MemoryKind::kKeyedWindow);
  ASSERT_TRUE(table.bind({window, region, 0, 100, kRemoteWrite, false}, mine));
  EXPECT_NE(table.translate(window, mine, 0, 1, kRemoteWrite), nullptr);
  EXPECT_EQ(table.translate(window, other, 0, 1, kRemoteWrite), nullptr);
  EXPECT_FALSE(table.invalidate(window, other));
  EXPECT_TRUE(table.invalidate(window, mine));
  EXPECT_TRUE(table.bind({window, region, 0, 100, kRemoteWrite, false}, other)) << "free for the next";
}

TEST(MemoryTable, WindowsNeedARegionThatAllowsThem) {
  MemoryTable table(1);
  uint8_t buffer[100];
  const MemoryKey closed = table.add(kDomain, buffer, 100, 0, kLocalWrite);
  const MemoryKey readable = table.add(kDomain, buffer, 100, 0, kWindowBind);
  const MemoryKey window = table.add_window(kDomain, MemoryKind::kKeyedWindow);
  EXPECT_FALSE(table.bind({window, closed, 0, 10, kRemoteRead, false}, kDomain));
  EXPECT_FALSE(table.bind({window, readable, 0, 10, kRemoteWrite, false}, kDomain));
  EXPECT_FALSE(table.bind({window, readable, 95, 10, kRemoteRead, false}, kDomain));
  EXPECT_FALSE(table.bind({closed, readable, 0, 10, kRemoteRead, false}, kDomain)) << "no window";
  EXPECT_FALSE(table.bind({MemoryKey{0x70000000}, readable, 0, 10, kRemoteRead, false}, kDomain));
  EXPECT_TRUE(table.bind({window, readable, 90, 10, kRemoteRead, false}, kDomain));
}

TEST(MemoryTable, NothingIsZeroAndSwallowsAll) {
  MemoryTable table(1);
  const MemoryKey key = table.add_nothing(kDomain);
  uint8_t* sink = table.translate(key, kDomain, 0x123456789, 4096, kLocalWrite);
  ASSERT_NE(sink, nullptr);
  std::fill_n(sink, 4096, 0xFF);
  const uint8_t* zeros = table.translate(key, kDomain, 0x123456789, 4096, kLocalRead);
  ASSERT_NE(zeros, nullptr);
  EXPECT_TRUE(std::all_of(zeros, zeros + 4096, [](uint8_t byte) { return byte == 0; }));
  EXPECT_EQ(table.translate(key, kDomain, 0, 1, kRemoteRead), nullptr);
  EXPECT_TRUE(table.remove(key));
}

TEST(MemoryTable, ARegionMayChange) {
  MemoryTable table(1);
  uint8_t buffer[100];
  const MemoryKey key = table.add(kDomain, buffer, 50, 0, 0);
  EXPECT_TRUE(table.change(key, ProtectionDomain{8}, buffer + 50, 20, 0x100, kRemoteWrite));
  EXPECT_EQ(table.translate(key, ProtectionDomain{8}, 0x101, 19, kRemoteWrite), buffer + 51);
  EXPECT_EQ(table.translate(key, kDomain, 0x101, 1, kRemoteWrite), nullptr);
  EXPECT_FALSE(table.change(MemoryKey{0x300}, kDomain, buffer, 1, 0, 0));
}

TEST(MemoryTable, RandomKeysFindNothing) {
  MemoryTable table(1);
  EXPECT_EQ(table.find(MemoryKey{}), nullptr);
  for (uint32_t key = 1; key < 0xF0000000u; key += 0x01234567u)
    EXPECT_EQ(table.find(MemoryKey{key}), nullptr);
}

}  // namespace
}  // namespace mrc
