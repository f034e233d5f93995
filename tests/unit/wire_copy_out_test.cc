// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

#include "libmrc/wire/copy_out.h"

namespace mrc {
namespace {

void claim_and_copy(uint8_t* to, const uint8_t* from, size_t bytes) {
  claim_lines(to, bytes);
  std::memcpy(to, from, bytes);
}

// Wherever it begins and ends within a line, what is around it stays.
void expect_copies_all_and_nothing_else(void (*copy)(uint8_t*, const uint8_t*, size_t)) {
  std::vector<uint8_t> from(4096 + 64);
  std::iota(from.begin(), from.end(), uint8_t{1});
  for (size_t bytes : {size_t{0}, size_t{1}, kClaimFrom - 1, kClaimFrom, kClaimFrom + 63, size_t{4096}}) {
    for (size_t at = 0; at < 2 * kCacheLine; ++at) {
      std::vector<uint8_t> to(at + bytes + 2 * kCacheLine, 0xA5);
      copy(to.data() + at, from.data() + at % 7, bytes);
      const auto begin = to.begin() + static_cast<std::ptrdiff_t>(at);
      const auto end = begin + static_cast<std::ptrdiff_t>(bytes);
      ASSERT_TRUE(std::equal(begin, end, from.begin() + at % 7)) << bytes << " at " << at;
      const auto untouched = [](uint8_t byte) { return byte == 0xA5; };
      ASSERT_TRUE(std::all_of(to.begin(), begin, untouched)) << bytes << " at " << at;
      ASSERT_TRUE(std::all_of(end, to.end(), untouched)) << bytes << " at " << at;
    }
  }
}

TEST(CopyOutTest, CopiesAllAndNothingElse) {
  expect_copies_all_and_nothing_else(copy_out);
}

// Also on machines where they do not pay.
#if defined(__x86_64__)
TEST(CopyOutTest, EveryWayOfX86CopiesAllAndNothingElse) {
  expect_copies_all_and_nothing_else(copy_with_lines_ahead);
  expect_copies_all_and_nothing_else(copy_by_string);
}
#endif

TEST(CopyOutTest, ClaimsNoLineButItsOwn) {
#if defined(__aarch64__)
  if (!can_claim_lines()) GTEST_SKIP() << "this machine lets no program claim lines";
#endif
  expect_copies_all_and_nothing_else(claim_and_copy);
}

}  // namespace
}  // namespace mrc
