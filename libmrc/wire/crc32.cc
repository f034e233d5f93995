// SPDX-License-Identifier: BSD-2-Clause
// CRC-32 of Ethernet and zlib: a table variant, one by ARM's CRC instructions, one by carry-less
// multiplication on x86, each with and without a copy in the same pass, and the choice among them at the
// first call.
#include <array>
#include <atomic>
#include <bit>
#include <cstring>

#include "libmrc/wire/icrc.h"

#if defined(__aarch64__)
#include <sys/auxv.h>
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
#elif defined(__x86_64__)
#include <immintrin.h>
#define MRC_TARGET_PCLMUL __attribute__((target("pclmul")))
#endif

namespace mrc {
namespace {

// Bit 31 - i holds the coefficient of x^i throughout, so multiplying by x is a shift to the right.
constexpr uint32_t kPolynomial = 0xEDB88320u;

constexpr uint32_t times_x(uint32_t value) {
  return (value >> 1) ^ ((value & 1) != 0 ? kPolynomial : 0);
}

static_assert(std::endian::native == std::endian::little,
              "the CRC variants load words in little-endian order");

template <typename T>
inline T load(const uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// kTable[n][b]: what byte b contributes when n more bytes follow it.
constexpr auto kTable = [] {
  std::array<std::array<uint32_t, 256>, 8> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = times_x(value);
    table[0][byte] = value;
  }
  for (size_t n = 1; n < 8; ++n) {
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t before = table[n - 1][byte];
      table[n][byte] = (before >> 8) ^ table[0][before & 0xFF];
    }
  }
  return table;
}();

template <bool kCopy>
[[gnu::hot]] uint32_t run_table(uint32_t crc, [[maybe_unused]] uint8_t* to, const uint8_t* from,
                                size_t bytes) {
  while (bytes >= 8) {
    const auto word = load<uint64_t>(from);
    if constexpr (kCopy) {
      std::memcpy(to, &word, sizeof word);
      to += 8;
    }
    const uint64_t mixed = word ^ crc;
    crc = kTable[7][mixed & 0xFF] ^ kTable[6][(mixed >> 8) & 0xFF] ^ kTable[5][(mixed >> 16) & 0xFF] ^
          kTable[4][(mixed >> 24) & 0xFF] ^ kTable[3][(mixed >> 32) & 0xFF] ^
          kTable[2][(mixed >> 40) & 0xFF] ^ kTable[1][(mixed >> 48) & 0xFF] ^ kTable[0][mixed >> 56];
    from += 8;
    bytes -= 8;
  }
  for (; bytes > 0; --bytes) {
    if constexpr (kCopy) *to++ = *from;
    crc = (crc >> 8) ^ kTable[0][(crc ^ *from++) & 0xFF];
  }
  return crc;
}

#if defined(__aarch64__)

template <typename T, bool kCopy>
inline T take(uint8_t*& to, const uint8_t*& from) {
  const T value = load<T>(from);
  from += sizeof(T);
  if constexpr (kCopy) {
    std::memcpy(to, &value, sizeof value);
    to += sizeof(T);
  }
  return value;
}

template <bool kCopy>
[[gnu::hot]] MRC_TARGET_CRC uint32_t run_arm(uint32_t crc, uint8_t* to, const uint8_t* from, size_t bytes) {
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

#elif defined(__x86_64__)

// x^n mod P in the upper half of a 64-bit operand. The product of two bit-reversed 64-bit operands comes out
// one place too low, i.e. multiplied by x; the powers below are smaller by one for that.
constexpr int64_t power_of_x(unsigned n) {
  uint32_t value = 0x80000000u;
  while (n-- > 0) value = times_x(value);
  return static_cast<int64_t>(static_cast<uint64_t>(value) << 32);
}

// Moves 16 bytes `kBits` further up the message: the first eight bytes weigh x^64 more than the second.
template <unsigned kBits>
MRC_TARGET_PCLMUL inline __m128i fold(__m128i state, __m128i next) {
  constexpr int64_t kFirst = power_of_x(kBits + 64 - 1);
  constexpr int64_t kSecond = power_of_x(kBits - 1);
  const __m128i powers = _mm_set_epi64x(kSecond, kFirst);
  const __m128i first = _mm_clmulepi64_si128(state, powers, 0x00);
  const __m128i second = _mm_clmulepi64_si128(state, powers, 0x11);
  return _mm_xor_si128(_mm_xor_si128(first, second), next);
}

template <bool kCopy>
MRC_TARGET_PCLMUL inline __m128i take16(uint8_t*& to, const uint8_t*& from) {
  const __m128i value = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  from += 16;
  if constexpr (kCopy) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), value);
    to += 16;
  }
  return value;
}

template <bool kCopy>
[[gnu::hot]] MRC_TARGET_PCLMUL uint32_t run_pclmul(uint32_t crc, uint8_t* to, const uint8_t* from,
                                                   size_t bytes) {
  if (bytes < 16) return run_table<kCopy>(crc, to, from, bytes);
  __m128i state = take16<kCopy>(to, from);
  state = _mm_xor_si128(state, _mm_cvtsi32_si128(static_cast<int>(crc)));
  bytes -= 16;
  if (bytes >= 48) {
    __m128i second = take16<kCopy>(to, from);
    __m128i third = take16<kCopy>(to, from);
    __m128i fourth = take16<kCopy>(to, from);
    bytes -= 48;
    for (; bytes >= 64; bytes -= 64) {
      state = fold<512>(state, take16<kCopy>(to, from));
      second = fold<512>(second, take16<kCopy>(to, from));
      third = fold<512>(third, take16<kCopy>(to, from));
      fourth = fold<512>(fourth, take16<kCopy>(to, from));
    }
    state = fold<128>(fold<128>(fold<128>(state, second), third), fourth);
  }
  for (; bytes >= 16; bytes -= 16) state = fold<128>(state, take16<kCopy>(to, from));
  // The state is now a 16-byte message with the same remainder as everything folded into it.
  alignas(16) uint8_t folded[16];
  _mm_store_si128(reinterpret_cast<__m128i*>(folded), state);
  crc = run_table<false>(0, nullptr, folded, sizeof folded);
  return run_table<kCopy>(crc, to, from, bytes);
}

#endif

using Update = uint32_t (*)(uint32_t, const uint8_t*, size_t);
using Copy = uint32_t (*)(uint32_t, uint8_t*, const uint8_t*, size_t);

uint32_t choose_update(uint32_t crc, const uint8_t* data, size_t bytes);
uint32_t choose_copy(uint32_t crc, uint8_t* to, const uint8_t* from, size_t bytes);

// Constant-initialised, so that a call from another file's static initialiser is fine too. Whoever calls
// first writes the choice, which is the same for every thread.
constinit std::atomic<Update> chosen_update{choose_update};
constinit std::atomic<Copy> chosen_copy{choose_copy};

uint32_t choose_update(uint32_t crc, const uint8_t* data, size_t bytes) {
  const Update choice = crc32_has_arm()      ? crc32_update_arm
                        : crc32_has_pclmul() ? crc32_update_pclmul
                                             : crc32_update_table;
  chosen_update.store(choice, std::memory_order_relaxed);
  return choice(crc, data, bytes);
}

uint32_t choose_copy(uint32_t crc, uint8_t* to, const uint8_t* from, size_t bytes) {
  const Copy choice = crc32_has_arm()      ? crc32_copy_arm
                      : crc32_has_pclmul() ? crc32_copy_pclmul
                                           : crc32_copy_table;
  chosen_copy.store(choice, std::memory_order_relaxed);
  return choice(crc, to, from, bytes);
}

}  // namespace

[[gnu::hot]] uint32_t crc32_update(uint32_t crc, const uint8_t* data, size_t bytes) {
  return chosen_update.load(std::memory_order_relaxed)(crc, data, bytes);
}

[[gnu::hot]] uint32_t crc32_copy(uint32_t crc, uint8_t* to, const uint8_t* from, size_t bytes) {
  return chosen_copy.load(std::memory_order_relaxed)(crc, to, from, bytes);
}

uint32_t crc32_update_table(uint32_t crc, const uint8_t* data, size_t bytes) {
  return run_table<false>(crc, nullptr, data, bytes);
}

uint32_t crc32_copy_table(uint32_t crc, uint8_t* to, const uint8_t* from, size_t bytes) {
  return run_table<true>(crc, to, from, bytes);
}

#if defined(__aarch64__)

bool crc32_has_arm() {
  static constexpr unsigned long kHwcapCrc32 = 1UL << 7;
  return (getauxval(AT_HWCAP) & kHwcapCrc32) != 0;
}

[[gnu::hot]] uint32_t crc32_update_arm(uint32_t crc, const uint8_t* data, size_t bytes) {
  return run_arm<false>(crc, nullptr, data, bytes);
}

[[gnu::hot]] uint32_t crc32_copy_arm(uint32_t crc, uint8_t* to, const uint8_t* from, size_t bytes) {
  return run_arm<true>(crc, to, from, bytes);
}

#else

bool crc32_has_arm() {
  return false;
}

uint32_t crc32_update_arm(uint32_t crc, const uint8_t* data, size_t bytes) {
  return crc32_update_table(crc, data, bytes);
}

uint32_t crc32_copy_arm(uint32_t crc, uint8_t* to, const uint8_t* from, size_t bytes) {
  return crc32_copy_table(crc, to, from, bytes);
}

#endif

#if defined(__x86_64__)

bool crc32_has_pclmul() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("pclmul") != 0;
}

[[gnu::hot]] uint32_t crc32_update_pclmul(uint32_t crc, const uint8_t* data, size_t bytes) {
  return run_pclmul<false>(crc, nullptr, data, bytes);
}

[[gnu::hot]] uint32_t crc32_copy_pclmul(uint32_t crc, uint8_t* to, const uint8_t* from, size_t bytes) {
  return run_pclmul<true>(crc, to, from, bytes);
}

#else

bool crc32_has_pclmul() {
  return false;
}

uint32_t crc32_update_pclmul(uint32_t crc, const uint8_t* data, size_t bytes) {
  return crc32_update_table(crc, data, bytes);
}

uint32_t crc32_copy_pclmul(uint32_t crc, uint8_t* to, const uint8_t* from, size_t bytes) {
  return crc32_copy_table(crc, to, from, bytes);
}

#endif

}  // namespace mrc
