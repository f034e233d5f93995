// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <set>
#include <vector>

#include "libmrc/memory/memory_table.h"

namespace mrc {
namespace {

constexpr ProtectionDomain kDomain{7};

TEST(MemoryTable, TranslatesInsideOnly) {
  SeededRandom random(1);
  MemoryTable table(random);
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
  SeededRandom random(1);
  MemoryTable table(random);
  uint8_t buffer[8];
  const MemoryKey key = table.add(kDomain, buffer, sizeof buffer, 0, kLocalWrite);
  EXPECT_EQ(table.translate(key, ProtectionDomain{8}, 0, 1, 0), nullptr);
  EXPECT_EQ(table.translate(key, kDomain, 0, 1, kRemoteWrite), nullptr);
  EXPECT_NE(table.translate(key, kDomain, 0, 1, kLocalWrite), nullptr);
}

TEST(MemoryTable, AStaleKeyNeverMatches) {
  SeededRandom random(3);
  MemoryTable table(random);
  uint8_t buffer[8];
  MemoryKey old = table.add(kDomain, buffer, sizeof buffer, 0, 0);
  std::set<MemoryKey> stale;
  for (int i = 0; i < 2000; ++i) {
    EXPECT_TRUE(table.remove(old));
    EXPECT_FALSE(table.remove(old));
    const MemoryKey fresh = table.add(kDomain, buffer, sizeof buffer, 0, 0);
    EXPECT_TRUE(stale.insert(old).second);
    EXPECT_FALSE(stale.contains(fresh));
    EXPECT_EQ(table.find(old), nullptr);
    old = fresh;
  }
}

// Neither the next key of a process nor that of another one follows from those that were seen.
TEST(MemoryTable, KeysHaveNoOrder) {
  SeededRandom random(1);
  MemoryTable table(random), other(random);
  uint8_t buffer[8];
  std::vector<uint32_t> keys;
  for (int i = 0; i < 4000; ++i) {
    keys.push_back(static_cast<uint32_t>(table.add(kDomain, buffer, sizeof buffer, 0, 0)));
    EXPECT_NE(keys.back(), static_cast<uint32_t>(other.add(kDomain, buffer, sizeof buffer, 0, 0)));
  }
  // Each of the 32 bits is one half of the time, and changes half of the time.
  for (unsigned bit = 0; bit < 32; ++bit) {
    unsigned ones = 0;
    unsigned changes = 0;
    for (size_t i = 1; i < keys.size(); ++i) {
      ones += keys[i] >> bit & 1;
      changes += (keys[i] ^ keys[i - 1]) >> bit & 1;
    }
    EXPECT_NEAR(ones, 2000, 250) << bit;
    EXPECT_NEAR(changes, 2000, 250) << bit;
  }
  // Somebody who knows all of them and tries what is near finds little.
  unsigned near = 0;
  for (const uint32_t key : keys)
    for (uint32_t step = 1; step <= 256; ++step)
      near +=
          table.find(MemoryKey{key + step}) != nullptr || table.find(MemoryKey{key + (step << 8)}) != nullptr;
  EXPECT_LT(near, 10u) << "of two million guesses";
}

// Not once in 255 times, as it was.
TEST(KeySequence, NoNumberComesTwice) {
  SeededRandom random(5);
  KeySequence keys(random);
  std::vector<bool> seen(1u << 24);
  for (uint32_t i = 0; i < 100000; ++i) {
    const uint32_t number = KeySequence::number_of(keys.next());
    ASSERT_NE(number, 0u);
    ASSERT_FALSE(seen[number]) << i;
    seen[number] = true;
  }
}

TEST(MemoryTable, ManyRegionsAreAllFound) {
  SeededRandom random(2);
  MemoryTable table(random);
  std::vector<uint8_t> buffer(20000);
  std::vector<MemoryKey> keys;
  for (size_t i = 0; i < buffer.size(); ++i) keys.push_back(table.add(kDomain, &buffer[i], 1, i, 0));
  for (size_t i = 0; i < buffer.size(); i += 3) EXPECT_TRUE(table.remove(keys[i]));
  for (size_t i = 0; i < buffer.size(); ++i)
    EXPECT_EQ(table.translate(keys[i], kDomain, i, 1, 0), i % 3 == 0 ? nullptr : &buffer[i]);
}

TEST(MemoryTable, RefusesWhenFull) {
  SeededRandom random(1);
  MemoryTable table(random, 4);
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
  SeededRandom random(1);
  MemoryTable table(random);
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
  SeededRandom random(1);
  MemoryTable table(random);
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
  SeededRandom random(1);
  MemoryTable table(random);
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
  SeededRandom random(1);
  MemoryTable table(random);
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
  SeededRandom random(1);
  MemoryTable table(random);
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
  SeededRandom random(1);
  MemoryTable table(random);
  uint8_t buffer[100];
  const MemoryKey key = table.add(kDomain, buffer, 50, 0, 0);
  EXPECT_TRUE(table.change(key, ProtectionDomain{8}, buffer + 50, 20, 0x100, kRemoteWrite));
  EXPECT_EQ(table.translate(key, ProtectionDomain{8}, 0x101, 19, kRemoteWrite), buffer + 51);
  EXPECT_EQ(table.translate(key, kDomain, 0x101, 1, kRemoteWrite), nullptr);
  EXPECT_FALSE(table.change(MemoryKey{0x300}, kDomain, buffer, 1, 0, 0));
}

TEST(MemoryTable, RandomKeysFindNothing) {
  SeededRandom random(1);
  MemoryTable table(random);
  EXPECT_EQ(table.find(MemoryKey{}), nullptr);
  for (uint32_t key = 1; key < 0xF0000000u; key += 0x01234567u)
    EXPECT_EQ(table.find(MemoryKey{key}), nullptr);
}

TEST(MemoryTable, WhatIsLostHasNoRights) {
  SeededRandom random(1);
  MemoryTable table(random);
  uint8_t buffer[200];
  const MemoryKey key = table.add(kDomain, buffer, 100, 0x1000, kLocalWrite | kRemoteWrite | kWindowBind);
  const MemoryKey other = table.add(kDomain, buffer + 100, 100, 0x2000, kLocalWrite);
  const MemoryKey window = table.add_window(kDomain, MemoryKind::kWindow);
  ASSERT_TRUE(table.bind({window, key, 0x1000, 100, kRemoteWrite, false}, kDomain));
  EXPECT_FALSE(table.lose(buffer + 200));
  EXPECT_EQ(table.losses(), 0u);
  EXPECT_TRUE(table.lose(buffer + 99));
  EXPECT_EQ(table.losses(), 1u);
  EXPECT_EQ(table.translate(key, kDomain, 0x1000, 1, kLocalRead), nullptr);
  EXPECT_EQ(table.translate(window, kDomain, 0x1000, 1, kRemoteWrite), nullptr);
  EXPECT_NE(table.translate(other, kDomain, 0x2000, 1, kLocalWrite), nullptr);
}

int g_asked = 0;
size_t g_asked_bytes = 0;
bool g_there = true;

TEST(MemoryTable, WhatIsOnDemandIsAskedForOncePerBurst) {
  SeededRandom random(1);
  MemoryTable table(random);
  table.set_pager([](void*, size_t bytes, bool) {
    ++g_asked;
    g_asked_bytes = bytes;
    return g_there;
  });
  std::vector<uint8_t> buffer(1 << 20);
  const MemoryKey key = table.add(kDomain, buffer.data(), buffer.size(), 0, kRemoteWrite | kOnDemand);
  const auto write = [&](uint64_t at) {
    return table.translate(key, kDomain, at, 4096, kRemoteWrite) != nullptr;
  };
  EXPECT_TRUE(write(500'000));
  EXPECT_EQ(g_asked_bytes, 4096u);
  EXPECT_TRUE(write(500'000 + 4096));
  EXPECT_EQ(g_asked_bytes, 65536u);
  for (uint64_t at = 500'000; at < 560'000; at += 4096) EXPECT_TRUE(write(at));
  EXPECT_EQ(g_asked, 2);
  g_there = false;
  EXPECT_TRUE(write(500'000));
  EXPECT_FALSE(write(500'000 + 4096 + 65536)) << "nobody has said so";
  table.doubt_presence();
  EXPECT_FALSE(write(500'000));
  g_there = true;
  EXPECT_TRUE(write(buffer.size() - 8192));
  EXPECT_TRUE(write(buffer.size() - 4096));
  EXPECT_EQ(g_asked_bytes, 4096u) << "nothing behind the region";
}

TEST(MemoryTable, ToReadIsNotToWrite) {
  SeededRandom random(1);
  MemoryTable table(random);
  table.set_pager([](void*, size_t, bool writes) { return !writes; });
  uint8_t buffer[64];
  const MemoryKey key = table.add(kDomain, buffer, sizeof buffer, 0, kRemoteRead | kRemoteWrite | kOnDemand);
  EXPECT_NE(table.translate(key, kDomain, 0, 64, kRemoteRead), nullptr);
  EXPECT_EQ(table.translate(key, kDomain, 0, 64, kRemoteWrite), nullptr);
}

// However many there are, one more never moves all of them.
TEST(MemoryTable, GrowsAFewPlacesAtATime) {
  constexpr size_t kRegions = 100'000;
  SeededRandom random(5);
  MemoryTable table(random);
  uint8_t buffer[16];
  std::vector<MemoryKey> keys;
  std::vector<bool> gone(kRegions);
  for (size_t i = 0; i < kRegions; ++i) {
    const uint64_t before = table.places_moved();
    keys.push_back(table.add(kDomain, buffer, sizeof buffer, i, kRemoteRead));
    ASSERT_LE(table.places_moved() - before, 64u);
    if (i % 5 != 0) continue;  // some go, whether they have been moved or not
    const size_t at = i * 7 % (i + 1);
    ASSERT_EQ(table.remove(keys[at]), !gone[at]);
    gone[at] = true;
  }
  EXPECT_GE(table.places(), 4 * table.size());
  EXPECT_GT(table.places_moved(), table.places() / 2);
  for (size_t i = 0; i < kRegions; ++i)
    ASSERT_EQ(table.translate(keys[i], kDomain, i, 16, kRemoteRead) == nullptr, gone[i]) << i;
}

// Tables get their memory here.
struct CountedSource {
  static inline uint32_t calls = 0;
  static inline bool dry = false;
  static void* get(size_t bytes) {
    ++calls;
    return dry ? nullptr : std::calloc(1, bytes);
  }
};

// Who makes ready what one region more takes has it under no lock; so there is nothing left to be got.
TEST(MemoryTable, NothingIsGotWithSupplies) {
  constexpr size_t kRegions = 50'000;
  SeededRandom random(6);
  MemoryTable table(random);
  table.set_source(CountedSource::get);
  uint8_t buffer[1];
  std::vector<MemoryKey> keys;
  uint32_t got = 0;
  for (size_t i = 0; i < kRegions; ++i) {
    const uint32_t before = CountedSource::calls;
    MemoryTable::Supplies supplies = table.supplies_for_one_more();
    const uint32_t ready = CountedSource::calls;
    got += ready - before;
    table.take(supplies);
    keys.push_back(table.add(kDomain, buffer, 1, i, kRemoteRead));
    ASSERT_EQ(CountedSource::calls, ready) << i;
  }
  EXPECT_GT(got, 10u);
  EXPECT_LT(got, 100u) << "chunks grow with what there is";
  for (size_t i = 0; i < kRegions; ++i)
    ASSERT_EQ(table.translate(keys[i], kDomain, i, 1, kRemoteRead), buffer) << i;
  for (const MemoryKey key : keys) ASSERT_TRUE(table.remove(key));
  EXPECT_EQ(table.supplies_for_one_more().regions, nullptr) << "what went has left its room";
}

TEST(MemoryTable, ATableWithoutMemoryStaysAsItIs) {
  SeededRandom random(7);
  MemoryTable table(random);
  table.set_source(CountedSource::get);
  uint8_t buffer[1];
  CountedSource::dry = true;
  EXPECT_THROW(table.add(kDomain, buffer, 1, 0, kRemoteRead), std::bad_alloc);
  CountedSource::dry = false;
  EXPECT_EQ(table.size(), 0u);
  EXPECT_NE(table.add(kDomain, buffer, 1, 0, kRemoteRead), MemoryKey{});
  EXPECT_EQ(table.size(), 1u);
}

// --- several tables that hold the same ---

// As a new one is filled while the other is used. True: all was taken.
template <typename Between>
bool copy_all(const MemoryTable& from, MemoryTable* to, Between between) {
  MemoryRegion some[16];
  to->make_places_like(from);
  for (size_t place = 0; place < from.places(); between()) {
    const size_t before = place;
    const size_t count = from.copy_some(&place, some);
    EXPECT_LE(place - before, 64u) << "who uses it waits for that";
    for (size_t i = 0; i < count; ++i)
      if (!to->add_copy(some[i])) return false;
  }
  for (size_t place = 0; place < from.places(); between()) {
    const size_t count = from.copy_windows(&place, some);
    for (size_t i = 0; i < count; ++i) to->follow(some[i]);
  }
  return true;
}
bool copy_all(const MemoryTable& from, MemoryTable* to) {
  return copy_all(from, to, [] {});
}

TEST(MemoryTables, ACopyHasTheSameKeysBoundsAndRights) {
  SeededRandom random(1);
  MemoryTable first(random);
  MemoryTable second(random);
  std::vector<uint8_t> buffer(8192);
  std::vector<MemoryKey> keys;
  for (uint64_t i = 0; i < 5000; ++i)  // more than a new table has places for
    keys.push_back(first.add(kDomain, &buffer[i], 16, 0x1000 * i, i % 2 != 0 ? kRemoteWrite : kRemoteRead));
  const MemoryKey nothing = first.add_nothing(kDomain);
  ASSERT_TRUE(copy_all(first, &second));
  EXPECT_EQ(second.size(), first.size());
  for (uint64_t i = 0; i < keys.size(); ++i)
    for (const uint8_t rights : {kRemoteWrite, kRemoteRead})
      ASSERT_EQ(second.translate(keys[i], kDomain, 0x1000 * i + 8, 8, rights),
                first.translate(keys[i], kDomain, 0x1000 * i + 8, 8, rights));
  EXPECT_NE(second.translate(nothing, kDomain, 5, 100, kLocalWrite), nullptr);
  for (const MemoryKey key : keys) ASSERT_TRUE(second.remove(key));
  EXPECT_NE(first.translate(keys[0], kDomain, 0, 8, kRemoteRead), nullptr) << "the tables are apart";
}

TEST(MemoryTables, OneByOneTheyAgreeToo) {
  SeededRandom random(2);
  MemoryTable first(random);
  MemoryTable second(random);
  uint8_t buffer[16];
  std::vector<MemoryKey> keys;
  for (int i = 0; i < 6000; ++i) {
    keys.push_back(first.add(kDomain, buffer, sizeof buffer, 0, kRemoteRead));
    ASSERT_TRUE(second.add_copy(*first.find(keys.back())));
    if (i % 3 != 0) continue;  // some go again
    const size_t at = static_cast<size_t>(i) / 2;
    EXPECT_EQ(first.remove(keys[at]), second.remove(keys[at]));
  }
  for (const MemoryKey key : keys) ASSERT_EQ(first.find(key) == nullptr, second.find(key) == nullptr);
}

TEST(MemoryTables, AWindowIsFollowed) {
  struct Follower final : MemoryTable::WindowWatcher {
    MemoryTable* table = nullptr;
    void window_changed(const MemoryRegion& window) override { table->follow(window); }
  } follower;
  SeededRandom random(3);
  MemoryTable first(random);
  MemoryTable second(random);
  uint8_t buffer[100];
  const MemoryKey region =
      first.add(kDomain, buffer, sizeof buffer, 0x1000, kLocalWrite | kRemoteWrite | kWindowBind);
  const MemoryKey window = first.add_window(kDomain, MemoryKind::kWindow);
  ASSERT_TRUE(copy_all(first, &second));
  follower.table = &second;
  first.set_window_watcher(&follower);
  WindowBinding binding;
  binding.key = MemoryKey{static_cast<uint32_t>(window) ^ 1};
  binding.region = region;
  binding.address = 0x1010;
  binding.bytes = 10;
  binding.access = kRemoteWrite;
  ASSERT_TRUE(first.bind(binding, kDomain));
  EXPECT_EQ(second.translate(binding.key, kDomain, 0x1010, 10, kRemoteWrite), buffer + 0x10);
  EXPECT_EQ(second.translate(binding.key, kDomain, 0x1010, 11, kRemoteWrite), nullptr);
  EXPECT_EQ(second.translate(window, kDomain, 0x1010, 10, kRemoteWrite), nullptr) << "the key before";
  EXPECT_FALSE(second.remove(region)) << "a window is bound to it";
  second.follow(*first.find(binding.key));  // to hear it twice changes nothing
  binding.bytes = 0;
  ASSERT_TRUE(first.bind(binding, kDomain));
  EXPECT_EQ(second.translate(binding.key, kDomain, 0x1010, 1, kRemoteWrite), nullptr);
  EXPECT_TRUE(second.remove(region));
}

// Windows come to show something, and nothing any more, at any moment while another table is filled. That one
// hears of it, but may not have the window yet, or not the region.
TEST(MemoryTables, WindowsAreBoundWhileATableIsCopied) {
  struct Follower final : MemoryTable::WindowWatcher {
    MemoryTable* table = nullptr;
    void window_changed(const MemoryRegion& window) override { table->follow(window); }
  } follower;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    SeededRandom random(seed);
    MemoryTable first(random);
    MemoryTable second(random);
    follower.table = &second;
    first.set_window_watcher(&follower);
    uint8_t buffer[100];
    std::vector<MemoryKey> regions;
    std::vector<MemoryKey> windows;
    for (int i = 0; i < 300; ++i) {
      regions.push_back(
          first.add(kDomain, buffer, sizeof buffer, 0, kLocalWrite | kRemoteWrite | kWindowBind));
      windows.push_back(first.add_window(kDomain, MemoryKind::kWindow));
    }
    const auto rebind = [&] {
      for (int i = 0; i < 10; ++i) {
        MemoryKey& window = windows[random.next() % windows.size()];
        WindowBinding binding;
        binding.key = MemoryKey{static_cast<uint32_t>(window) ^ 1};
        binding.region = regions[random.next() % regions.size()];
        binding.bytes = random.next() % 3 == 0 ? 0 : 10;
        binding.access = kRemoteWrite;
        ASSERT_TRUE(first.bind(binding, kDomain));
        window = binding.key;
      }
    };
    rebind();
    ASSERT_TRUE(copy_all(first, &second, rebind));
    for (const MemoryKey window : windows)
      ASSERT_EQ(first.translate(window, kDomain, 0, 10, kRemoteWrite),
                second.translate(window, kDomain, 0, 10, kRemoteWrite));
    for (const MemoryKey region : regions)
      ASSERT_EQ(first.find(region)->windows, second.find(region)->windows);
    for (const MemoryKey window : windows) EXPECT_TRUE(second.remove(window));
    for (const MemoryKey region : regions) EXPECT_TRUE(second.remove(region));
  }
}

}  // namespace
}  // namespace mrc
