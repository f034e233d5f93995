// SPDX-License-Identifier: BSD-2-Clause
// CRC-32 by ARM's CRC instructions. One follows from the other, so a CPU that could do one each cycle waits
// for their latency; three parts of the data at once fill the gaps, and their results are joined by
// carry-less multiplication. No table.
#if defined(__aarch64__)

#include <sys/auxv.h>

#include "libmrc/wire/crc32_machine.h"
#include "libmrc/wire/crc32_polynomial.h"

#if defined(__clang__)
#define MRC_TARGET_CRC __attribute__((target("crc")))
#define MRC_CRC32_8 __builtin_arm_crc32b
#define MRC_CRC32_16 __builtin_arm_crc32h
#define MRC_CRC32_32 __builtin_arm_crc32w
#define MRC_CRC32_64 __builtin_arm_crc32d
#else
#define MRC_TARGET_CRC __attribute__((target("+crc")))
#define MRC_CRC32_8 __builtin_aarch64_crc32b
#define MRC_CRC32_16 __builtin_aarch64_crc32h
#define MRC_CRC32_32 __builtin_aarch64_crc32w
#define MRC_CRC32_64 __builtin_aarch64_crc32x
#endif

namespace mrc::crc32 {
namespace {

constexpr unsigned long kHwcapPmull = 1UL << 4;
constexpr unsigned long kHwcapCrc32 = 1UL << 7;

bool offers(unsigned long features) {
  return (getauxval(AT_HWCAP) & features) == features;
}

template <bool kCopy>
MRC_TARGET_CRC inline uint32_t run_one_stream(uint32_t crc, uint8_t* to, const uint8_t* from, size_t bytes) {
  for (; bytes >= 64; bytes -= 64) {
    // Spelt out: gcc keeps an array of words in memory instead of registers, at 12 instead of 20 GB/s.
    const auto a = take<uint64_t, kCopy>(to, from), b = take<uint64_t, kCopy>(to, from);
    const auto c = take<uint64_t, kCopy>(to, from), d = take<uint64_t, kCopy>(to, from);
    const auto e = take<uint64_t, kCopy>(to, from), f = take<uint64_t, kCopy>(to, from);
    const auto g = take<uint64_t, kCopy>(to, from), h = take<uint64_t, kCopy>(to, from);
    crc = MRC_CRC32_64(MRC_CRC32_64(MRC_CRC32_64(MRC_CRC32_64(crc, a), b), c), d);
    crc = MRC_CRC32_64(MRC_CRC32_64(MRC_CRC32_64(MRC_CRC32_64(crc, e), f), g), h);
  }
  for (; bytes >= 8; bytes -= 8) crc = MRC_CRC32_64(crc, (take<uint64_t, kCopy>(to, from)));
  if (bytes & 4) crc = MRC_CRC32_32(crc, (take<uint32_t, kCopy>(to, from)));
  if (bytes & 2) crc = MRC_CRC32_16(crc, (take<uint16_t, kCopy>(to, from)));
  if (bytes & 1) crc = MRC_CRC32_8(crc, (take<uint8_t, kCopy>(to, from)));
  return crc;
}

// Not by arm_neon.h: there clang 14 has it only for files that are compiled for such CPUs altogether.
inline uint64_t multiply(uint32_t a, uint32_t b) {
  using Register = uint64_t __attribute__((vector_size(16)));
  const Register left = {a, 0};
  const Register right = {b, 0};
  Register product;
  __asm__(".arch_extension aes\n\tpmull %0.1q, %1.1d, %2.1d" : "=w"(product) : "w"(left), "w"(right));
  return product[0];
}

// The CRC of the same bytes with `kBytes` zeros behind them. The product of two words comes out one place too
// low in 64 bits, and the instruction that takes these multiplies by x^32: 33 less.
template <size_t kBytes>
MRC_TARGET_CRC inline uint32_t followed_by(uint32_t crc) {
  constexpr uint32_t kPower = power_of_x(8 * kBytes - 33);
  return MRC_CRC32_64(0, multiply(crc, kPower));
}

// As many times three parts of kPart bytes as there are.
template <size_t kPart, bool kCopy>
MRC_TARGET_CRC inline uint32_t run_parts(uint32_t crc, uint8_t*& to, const uint8_t*& from, size_t& bytes) {
  static_assert(kPart % 8 == 0);
  for (; bytes >= 3 * kPart; bytes -= 3 * kPart) {
    uint32_t second = 0;
    uint32_t third = 0;
    uint8_t* to_second = kCopy ? to + kPart : nullptr;
    uint8_t* to_third = kCopy ? to + 2 * kPart : nullptr;
    const uint8_t* from_second = from + kPart;
    const uint8_t* from_third = from + 2 * kPart;
    for (size_t at = 0; at < kPart; at += 8) {
      crc = MRC_CRC32_64(crc, (take<uint64_t, kCopy>(to, from)));
      second = MRC_CRC32_64(second, (take<uint64_t, kCopy>(to_second, from_second)));
      third = MRC_CRC32_64(third, (take<uint64_t, kCopy>(to_third, from_third)));
    }
    crc = followed_by<2 * kPart>(crc) ^ followed_by<kPart>(second) ^ third;
    from += 2 * kPart;
    if constexpr (kCopy) to += 2 * kPart;
  }
  return crc;
}

template <bool kCopy>
MRC_TARGET_CRC inline uint32_t run_three_streams(uint32_t crc, uint8_t* to, const uint8_t* from,
                                                 size_t bytes) {
  crc = run_parts<1360, kCopy>(crc, to, from, bytes);  // nearly all of 4 KiB
  crc = run_parts<168, kCopy>(crc, to, from, bytes);   // of 512 bytes and more
  return run_one_stream<kCopy>(crc, to, from, bytes);
}

}  // namespace

bool Instructions::present() {
  return offers(kHwcapCrc32);
}

[[gnu::hot]] MRC_TARGET_CRC uint32_t Instructions::update(uint32_t crc, const uint8_t* data, size_t bytes) {
  return run_one_stream<false>(crc, nullptr, data, bytes);
}

[[gnu::hot]] MRC_TARGET_CRC uint32_t Instructions::copy(uint32_t crc, uint8_t* to, const uint8_t* from,
                                                        size_t bytes) {
  return run_one_stream<true>(crc, to, from, bytes);
}

bool ThreeStreams::present() {
  return offers(kHwcapCrc32 | kHwcapPmull);
}

[[gnu::hot]] MRC_TARGET_CRC uint32_t ThreeStreams::update(uint32_t crc, const uint8_t* data, size_t bytes) {
  return run_three_streams<false>(crc, nullptr, data, bytes);
}

[[gnu::hot]] MRC_TARGET_CRC uint32_t ThreeStreams::copy(uint32_t crc, uint8_t* to, const uint8_t* from,
                                                        size_t bytes) {
  return run_three_streams<true>(crc, to, from, bytes);
}

}  // namespace mrc::crc32

#endif
