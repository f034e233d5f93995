// SPDX-License-Identifier: BSD-2-Clause
// Every byte of a placement is stored once, in increasing order: watched store by store, in the code as it is
// compiled.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <vector>

#include "libmrc/memory/place_bytes.h"

namespace mrc {
namespace {

constexpr size_t kRoom = 16384;
constexpr uint8_t kUntouched = 0x00;
constexpr uint8_t kOverwritten = 0xFF;  // by a program that saw the data

uint8_t source_byte(size_t i) {
  return static_cast<uint8_t>(1 + i * 7 % 250);
}

using Copy = void (*)(uint8_t* to, const uint8_t* from, size_t bytes);

struct Watch {
  bool possible = true;
  size_t stores = 0;
  bool twice = false;     // some byte
  bool in_order = true;   // each store begins where the one before ended
  size_t bytes = 0;       // that were stored
  size_t last_store = 0;  // how many bytes it had
};

// A child makes the copy, one instruction at a time; whatever it has stored is overwritten at once.
Watch watch(Copy copy, size_t offset, size_t bytes) {
  auto* shared =
      static_cast<uint8_t*>(mmap(nullptr, kRoom, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  std::vector<uint8_t> source(bytes);
  for (size_t i = 0; i < bytes; ++i) source[i] = source_byte(i);
  uint8_t* const to = shared + 64 + offset;
  Watch seen;
  const pid_t child = fork();
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(77);
    raise(SIGSTOP);
    copy(to, source.data(), bytes);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFSTOPPED(status)) {
    munmap(shared, kRoom);
    seen.possible = false;
    return seen;
  }
  std::vector<uint8_t> shadow(shared, shared + kRoom);
  const uint8_t* const there = shadow.data() + (to - shared);
  while (ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr) == 0) {
    waitpid(child, &status, 0);
    if (!WIFSTOPPED(status)) break;
    if (std::memcmp(shared, shadow.data(), kRoom) == 0) continue;
    ++seen.stores;
    seen.last_store = 0;
    const size_t expected = seen.bytes;
    for (size_t i = 0; i < kRoom; ++i) {
      if (shared[i] == shadow[i]) continue;
      const auto at = static_cast<size_t>(shared + i - to);
      seen.twice = seen.twice || shadow[i] != kUntouched;
      seen.in_order = seen.in_order && at == expected + seen.last_store;
      seen.in_order = seen.in_order && at < bytes && shared[i] == source_byte(at);
      shared[i] = shadow[i] = kOverwritten;
      ++seen.last_store;
    }
    seen.bytes += seen.last_store;
  }
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  for (size_t i = 0; i < bytes; ++i) EXPECT_EQ(there[i], kOverwritten) << "not stored: " << i;
  munmap(shared, kRoom);
  return seen;
}

void twice(uint8_t* to, const uint8_t* from, size_t bytes) {
  place_bytes(to, from, bytes);
  place_bytes(to + 1, from + 1, bytes - 1);
}

void backwards(uint8_t* to, const uint8_t* from, size_t bytes) {
  place_bytes(to + bytes / 2, from + bytes / 2, bytes - bytes / 2);
  place_bytes(to, from, bytes / 2);
}

TEST(PlaceBytes, AllSizesAndAlignments) {
  std::vector<uint8_t> from(400);
  for (size_t i = 0; i < from.size(); ++i) from[i] = source_byte(i);
  for (size_t offset = 0; offset < 32; ++offset)
    for (size_t bytes = 0; bytes + 32 < from.size(); ++bytes) {
      std::vector<uint8_t> to(from.size() + 64, kUntouched);
      place_bytes(to.data() + offset, from.data(), bytes);
      ASSERT_EQ(std::memcmp(to.data() + offset, from.data(), bytes), 0) << offset << " " << bytes;
      std::fill_n(to.begin() + static_cast<ptrdiff_t>(offset), bytes, kUntouched);
      ASSERT_EQ(to, std::vector<uint8_t>(to.size(), kUntouched)) << offset << " " << bytes;
    }
}

TEST(PlaceBytes, StoresEveryByteOnceAndInOrder) {
  if (!watch(place_bytes, 0, 8).possible) GTEST_SKIP() << "a process cannot be traced here";
  for (const size_t offset : {0, 1, 4, 8, 15})
    for (const size_t bytes :
         {1, 2, 3, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 63, 64, 65, 100, 129, 257, 1024}) {
      const Watch seen = watch(place_bytes, offset, bytes);
      EXPECT_FALSE(seen.twice) << offset << " " << bytes;
      EXPECT_TRUE(seen.in_order) << offset << " " << bytes;
      EXPECT_EQ(seen.bytes, bytes) << offset;
      EXPECT_LE(seen.last_store, 8u) << offset << " " << bytes;
    }
  EXPECT_EQ(watch(place_bytes, 0, 8).stores, 1u) << "a word is seen whole";
  EXPECT_EQ(watch(place_bytes, 8, 24).last_store, 8u);
}

TEST(PlaceBytes, TheWatchSeesWhatIsWrong) {
  if (!watch(place_bytes, 0, 8).possible) GTEST_SKIP() << "a process cannot be traced here";
  EXPECT_TRUE(watch(twice, 0, 64).twice);
  EXPECT_FALSE(watch(backwards, 0, 64).in_order);
}

}  // namespace
}  // namespace mrc
