// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

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

TEST(MemoryTable, RandomKeysFindNothing) {
  MemoryTable table(1);
  EXPECT_EQ(table.find(MemoryKey{}), nullptr);
  for (uint32_t key = 1; key < 0xF0000000u; key += 0x01234567u)
    EXPECT_EQ(table.find(MemoryKey{key}), nullptr);
}

}  // namespace
}  // namespace mrc
