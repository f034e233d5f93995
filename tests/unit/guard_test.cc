// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "libmrc/guard/keyed_hash.h"
#include "libmrc/guard/random_source.h"
#include "libmrc/guard/source_budget.h"

namespace mrc {
namespace {

// What the authors of SipHash give for the key 00 01 ... 0f and messages 00 01 02 ...
TEST(KeyedHash, IsSipHash) {
  const KeyedHash hash(0x0706050403020100u, 0x0F0E0D0C0B0A0908u);
  EXPECT_EQ(hash(std::span<const uint64_t>{}), 0x726FDB47DD0E0E31u);
  EXPECT_EQ(hash(0x0706050403020100u), 0x93F5F5799A932462u);
  const std::array<uint64_t, 2> two{0x0706050403020100u, 0x0F0E0D0C0B0A0908u};
  EXPECT_EQ(hash(two), 0x3F2ACC7F57C29BDBu);
}

TEST(SeededRandom, RepeatsAndDiffers) {
  SeededRandom one(7), same(7), other(8);
  std::set<uint64_t> seen;
  for (int i = 0; i < 1000; ++i) {
    const uint64_t number = one.next();
    EXPECT_EQ(number, same.next());
    EXPECT_NE(number, other.next());
    EXPECT_TRUE(seen.insert(number).second);
  }
}

TEST(SourceBudget, SoManyAtOnceAndSoManyASecond) {
  SeededRandom random(1);
  SourceBudget budget(random, 100, 10);
  const IpAddress source = IpAddress::v4(10, 0, 0, 1);
  const IpAddress other = IpAddress::v4(10, 0, 0, 2);
  const auto takes = [&](const IpAddress& from, Nanoseconds now) {
    int count = 0;
    while (count < 1000 && budget.take(from, now)) ++count;
    return count;
  };
  EXPECT_EQ(takes(source, kSecond), 10);
  EXPECT_EQ(takes(other, kSecond), 10);
  EXPECT_EQ(takes(source, kSecond + 10 * kMillisecond), 1);
  EXPECT_EQ(takes(source, kSecond + 9 * kMillisecond), 0) << "time that goes back gives nothing";
  EXPECT_EQ(takes(source, 2 * kSecond), 10);
  EXPECT_EQ(takes(source, 2 * kSecond + 500 * kMillisecond), 10);
}

// Whoever invents addresses gets no more than the table has room for.
TEST(SourceBudget, AllSourcesTogetherAreBounded) {
  SeededRandom random(1);
  SourceBudget budget(random, 10, 1);
  int count = 0;
  for (unsigned i = 0; i < 100000; ++i)
    count += budget.take(IpAddress::v4(10, static_cast<uint8_t>(i >> 16), static_cast<uint8_t>(i >> 8),
                                       static_cast<uint8_t>(i)),
                         kSecond);
  EXPECT_LE(count, 1024);
  EXPECT_GT(count, 1000);
}

}  // namespace
}  // namespace mrc
