// SPDX-License-Identifier: BSD-2-Clause
// Every CRC-32 variant against zlib's values and against each other, at all alignments; the fused copy; the
// ICRC.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "libmrc/wire/crc32.h"
#include "libmrc/wire/icrc.h"
#include "tests/unit/golden/golden_check.h"
#include "tests/unit/golden/seed.h"
#include "tests/unit/golden/vectors.h"

namespace mrc {
namespace {

std::vector<Crc32Variant> present_variants() {
  std::vector<Crc32Variant> variants = {{"chosen", [] { return true; }, crc32_update, crc32_copy}};
  for (const Crc32Variant& variant : crc32_variants())
    if (variant.present()) variants.push_back(variant);
  return variants;
}

// One bit at a time, straight from the definition.
uint32_t crc32_by_bits(uint32_t crc, const uint8_t* data, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) {
    crc ^= data[i];
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xEDB88320u : 0);
  }
  return crc;
}

TEST(Crc32, CheckValue) {
  const uint8_t digits[] = {'1', '2', '3', '4', '5', '6', '7', '8', '9'};
  for (const Crc32Variant& variant : present_variants()) {
    EXPECT_EQ(~variant.update(kCrcInit, digits, sizeof digits), 0xCBF43926u) << variant.name;
  }
}

TEST(Crc32, AgreesWithZlib) {
  for (const Crc32Variant& variant : present_variants()) {
    for (const golden::Crc& crc : golden::kCrcs) {
      std::vector<uint8_t> data(crc.length);
      for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<uint8_t>(7 * i);
      ASSERT_EQ(~variant.update(kCrcInit, data.data(), data.size()), crc.value)
          << variant.name << " " << crc.length;
    }
  }
}

TEST(Crc32, VariantsAgreeAtEveryAlignment) {
  auto random = golden::seeded_random();
  std::vector<uint8_t> noise(4096 + 64);
  for (uint8_t& byte : noise) byte = static_cast<uint8_t>(random());
  for (size_t length = 0; length <= 700; ++length) {
    const size_t shift = random() % 64;
    const auto start = static_cast<uint32_t>(random());
    const golden::ExactBuffer data({noise.data() + shift, length});
    const uint32_t expected = crc32_by_bits(start, noise.data() + shift, length);
    for (const Crc32Variant& variant : present_variants()) {
      ASSERT_EQ(variant.update(start, noise.data() + shift, length), expected)
          << variant.name << " " << length;
      ASSERT_EQ(variant.update(start, data.view().data(), length), expected) << variant.name << " " << length;
    }
  }
  for (size_t shift = 0; shift < 64; ++shift) {
    const uint32_t expected = crc32_by_bits(kCrcInit, noise.data() + shift, 4096);
    for (const Crc32Variant& variant : present_variants()) {
      ASSERT_EQ(variant.update(kCrcInit, noise.data() + shift, 4096), expected)
          << variant.name << " " << shift;
    }
  }
}

TEST(Crc32, RunsOverPiecesAsOverTheWhole) {
  auto random = golden::seeded_random();
  std::vector<uint8_t> data(1000);
  for (uint8_t& byte : data) byte = static_cast<uint8_t>(random());
  for (const Crc32Variant& variant : present_variants()) {
    const uint32_t whole = variant.update(kCrcInit, data.data(), data.size());
    for (int round = 0; round < 200; ++round) {
      const size_t cut = random() % (data.size() + 1);
      const uint32_t first = variant.update(kCrcInit, data.data(), cut);
      ASSERT_EQ(variant.update(first, data.data() + cut, data.size() - cut), whole)
          << variant.name << " " << cut;
    }
  }
}

TEST(Crc32, CopyCopiesExactlyTheBytes) {
  auto random = golden::seeded_random();
  constexpr size_t kMargin = 32;
  std::vector<uint8_t> source(4096 + 64);
  for (uint8_t& byte : source) byte = static_cast<uint8_t>(random());
  std::vector<size_t> lengths{511, 512, 1023, 1500, 2048, 4095, 4096};
  for (size_t length = 0; length <= 700; ++length) lengths.push_back(length);
  for (const Crc32Variant& variant : present_variants()) {
    for (const size_t length : lengths) {
      const uint8_t* from = source.data() + random() % 64;
      const size_t at = kMargin + random() % 64;
      std::vector<uint8_t> target(at + length + kMargin, 0xEE);
      const uint32_t crc = variant.copy(kCrcInit, target.data() + at, from, length);
      ASSERT_EQ(crc, crc32_by_bits(kCrcInit, from, length)) << variant.name << " " << length;
      ASSERT_TRUE(std::equal(from, from + length, target.data() + at)) << variant.name << " " << length;
      const auto untouched = [](uint8_t byte) { return byte == 0xEE; };
      ASSERT_TRUE(std::all_of(target.begin(), target.begin() + at, untouched))
          << variant.name << " " << length;
      ASSERT_TRUE(std::all_of(target.end() - kMargin, target.end(), untouched))
          << variant.name << " " << length;
    }
  }
}

// The masked fields may hold anything; the same headers with other values there have the same ICRC.
TEST(Icrc, IgnoresWhatSwitchesChange) {
  auto random = golden::seeded_random();
  for (const bool v4 : {true, false}) {
    std::vector<uint8_t> packet((v4 ? 20 : 40) + 8 + 12 + 50);
    for (uint8_t& byte : packet) byte = static_cast<uint8_t>(random());
    packet[0] = static_cast<uint8_t>((v4 ? 0x45 : 0x60));
    const uint32_t before = icrc_headers(packet.data(), packet.size());
    const size_t udp = v4 ? 20 : 40;
    std::vector<size_t> masked{udp + 6, udp + 7, udp + 12};
    if (v4) masked.insert(masked.end(), {1, 8, 10, 11});
    if (!v4) masked.insert(masked.end(), {1, 2, 3, 7});
    for (size_t at = 1; at < packet.size(); ++at) {
      packet[at] ^= 0x5A;
      const bool ignored = std::find(masked.begin(), masked.end(), at) != masked.end();
      EXPECT_EQ(icrc_headers(packet.data(), packet.size()) == before, ignored)
          << (v4 ? "IPv4 " : "IPv6 ") << at;
      packet[at] ^= 0x5A;
    }
  }
}

TEST(Icrc, RunsOnFromTheHeaders) {
  for (const golden::Frame& frame : golden::kFrames) {
    const auto bytes = golden::from_hex(frame.hex);
    Packet packet;
    ASSERT_EQ(decode(bytes, &packet), DecodeError::kNone) << frame.name;
    const auto all = static_cast<size_t>(packet.icrc_end - packet.icrc_begin);
    const size_t least = (packet.source.is_v4() ? 20 : 40) + 8 + 12;
    const uint32_t whole = icrc_headers(packet.icrc_begin, all);
    const uint32_t pieces =
        crc32_update(icrc_headers(packet.icrc_begin, least), packet.icrc_begin + least, all - least);
    EXPECT_EQ(whole, pieces) << frame.name;
  }
}

}  // namespace
}  // namespace mrc
