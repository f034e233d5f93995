// SPDX-License-Identifier: BSD-2-Clause
// The wire tests that matter on another architecture, without a test framework: golden frames and CRC
// variants.
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "libmrc/wire/icrc.h"
#include "tests/unit/golden/golden_check.h"
#include "tests/unit/golden/vectors.h"

namespace {

int failures = 0;

void expect(bool holds, const std::string& what) {
  if (holds) return;
  ++failures;
  std::printf("FAILED: %s\n", what.c_str());
}

struct Variant {
  const char* name;
  bool present;
  uint32_t (*update)(uint32_t, const uint8_t*, size_t);
  uint32_t (*copy)(uint32_t, uint8_t*, const uint8_t*, size_t);
};

const Variant kVariants[] = {
    {"chosen", true, mrc::crc32_update, mrc::crc32_copy},
    {"table", true, mrc::crc32_update_table, mrc::crc32_copy_table},
    {"arm", mrc::crc32_has_arm(), mrc::crc32_update_arm, mrc::crc32_copy_arm},
    {"pclmul", mrc::crc32_has_pclmul(), mrc::crc32_update_pclmul, mrc::crc32_copy_pclmul},
};

void check_crcs(const Variant& variant) {
  for (const auto& [length, value] : mrc::golden::kCrcs) {
    for (size_t shift = 0; shift < 16; ++shift) {
      std::vector<uint8_t> data(shift + length + 1), copied(length + 17, 0xEE);
      for (size_t i = 0; i < length; ++i) data[shift + i] = static_cast<uint8_t>(7 * i);
      const std::string what = std::string(variant.name) + ", " + std::to_string(length) + " bytes";
      expect(~variant.update(mrc::kCrcInit, data.data() + shift, length) == value, what);
      uint8_t* to = copied.data() + (5 * shift) % 16;
      expect(~variant.copy(mrc::kCrcInit, to, data.data() + shift, length) == value, what + " copied");
      expect(std::memcmp(to, data.data() + shift, length) == 0 && to[length] == 0xEE, what + ": the copy");
    }
  }
}

}  // namespace

int main() {
  for (const auto& frame : mrc::golden::kFrames) {
    if (frame.encodable) {
      const std::string difference = mrc::golden::check_encode(frame);
      expect(difference.empty(), difference);
    }
    const std::string difference = mrc::golden::check_decode(frame);
    expect(difference.empty(), difference);
  }
  for (const Variant& variant : kVariants) {
    std::printf("crc %s: %s\n", variant.name, variant.present ? "checked" : "not on this processor");
    if (variant.present) check_crcs(variant);
  }
  // The emulated processor has everything; without it the variant would go untested.
  expect(mrc::crc32_has_arm() || mrc::crc32_has_pclmul(), "no fast CRC on this processor");
  std::printf("%zu golden frames, %d failures\n", std::size(mrc::golden::kFrames), failures);
  return failures == 0 ? 0 : 1;
}
