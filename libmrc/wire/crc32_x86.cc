// SPDX-License-Identifier: BSD-2-Clause
// CRC-32 by carry-less multiplication: the message is folded, 16 or 64 bytes at a time, into 16 bytes with
// the same remainder, and those are divided by multiplication, too (Barrett). No table.
#if defined(__x86_64__)

#include <immintrin.h>

#include <bit>

#include "libmrc/wire/crc32_machine.h"
#include "libmrc/wire/crc32_polynomial.h"

#define MRC_TARGET_PCLMUL __attribute__((target("pclmul,sse4.1,ssse3")))
#define MRC_TARGET_VPCLMUL __attribute__((target("vpclmulqdq,avx512f,avx512vl,pclmul,sse4.1,ssse3")))

namespace mrc::crc32 {
namespace {

// In the upper half of an operand. The product of two bit-reversed operands of 64 bits comes out one place
// too low, i.e. multiplied by x; the powers below are smaller by one for that.
constexpr int64_t operand(uint32_t value) {
  return static_cast<int64_t>(static_cast<uint64_t>(value) << 32);
}

// floor(x^64 / P) and P itself, 33 bits each, as operands.
constexpr int64_t kQuotient = [] {
  uint64_t quotient = 0;             // coefficient of x^i in bit 63 - i
  uint32_t remainder = kPolynomial;  // x^32 mod P
  quotient |= uint64_t{1} << (63 - 32);
  for (unsigned i = 32; i-- > 0;) {
    // x^(i + 1) of what is left has its coefficient in the lowest bit.
    if ((remainder & 1) != 0) quotient |= uint64_t{1} << (63 - i);
    remainder = times_x(remainder);
  }
  return static_cast<int64_t>(quotient);
}();
constexpr int64_t kDivisor = static_cast<int64_t>(static_cast<uint64_t>(kPolynomial) << 32 | 1u << 31);

// Moves 16 bytes `kBits` further up the message: the first eight bytes weigh x^64 more than the second.
template <unsigned kBits>
MRC_TARGET_PCLMUL inline __m128i fold(__m128i state, __m128i next) {
  constexpr int64_t kFirst = operand(power_of_x(kBits + 64 - 1));
  constexpr int64_t kSecond = operand(power_of_x(kBits - 1));
  const __m128i powers = _mm_set_epi64x(kSecond, kFirst);
  const __m128i first = _mm_clmulepi64_si128(state, powers, 0x00);
  const __m128i second = _mm_clmulepi64_si128(state, powers, 0x11);
  return _mm_xor_si128(_mm_xor_si128(first, second), next);
}

// The CRC of 16 bytes, begun with 0.
MRC_TARGET_PCLMUL inline uint32_t reduce(__m128i state) {
  constexpr int64_t kUp96 = operand(power_of_x(96 - 1));
  constexpr int64_t kUp64 = operand(power_of_x(64 - 1));
  const __m128i powers = _mm_set_epi64x(kUp64, kUp96);
  const __m128i low32 = _mm_set_epi64x(0, 0xFFFFFFFF);
  // The first eight bytes times x^96 and the second times x^32: 96 bits, in the upper ones.
  const __m128i second = _mm_slli_si128(_mm_srli_si128(state, 8), 4);
  const __m128i bits96 = _mm_xor_si128(_mm_clmulepi64_si128(state, powers, 0x00), second);
  // The uppermost 32 of these times x^64: 64 bits, in the upper half.
  const __m128i top = _mm_slli_epi64(_mm_srli_epi64(bits96, 32), 32);
  const __m128i bits64 = _mm_srli_si128(_mm_xor_si128(_mm_clmulepi64_si128(top, powers, 0x10), bits96), 8);
  // What is left over of P times the quotient.
  const __m128i constants = _mm_set_epi64x(kDivisor, kQuotient);
  const __m128i times = _mm_clmulepi64_si128(_mm_and_si128(bits64, low32), constants, 0x00);
  const __m128i quotient = _mm_slli_epi64(_mm_srli_epi64(times, 31), 32);
  const __m128i product = _mm_clmulepi64_si128(quotient, constants, 0x10);
  return static_cast<uint32_t>(static_cast<uint64_t>(_mm_extract_epi64(product, 1)) >> 31) ^
         static_cast<uint32_t>(static_cast<uint64_t>(_mm_cvtsi128_si64(bits64)) >> 32);
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

// Fewer than 16 bytes, the rest zero; each is read once, for it may change meanwhile.
template <bool kCopy>
MRC_TARGET_PCLMUL inline __m128i take_rest(uint8_t*& to, const uint8_t*& from, size_t bytes) {
  uint64_t words[2] = {};
  uint64_t rest = 0;
  unsigned shift = 0;
  if ((bytes & 8) != 0) words[0] = take<uint64_t, kCopy>(to, from);
  if ((bytes & 4) != 0) {
    rest = take<uint32_t, kCopy>(to, from);
    shift = 32;
  }
  if ((bytes & 2) != 0) {
    rest |= static_cast<uint64_t>(take<uint16_t, kCopy>(to, from)) << shift;
    shift += 16;
  }
  if ((bytes & 1) != 0) rest |= static_cast<uint64_t>(take<uint8_t, kCopy>(to, from)) << shift;
  words[(bytes & 8) != 0 ? 1 : 0] = rest;
  return _mm_set_epi64x(static_cast<int64_t>(words[1]), static_cast<int64_t>(words[0]));
}

// The index vectors of shuffles that move the bytes of a register up or down; what comes in is zero.
alignas(16) constexpr uint8_t kMoves[48] = {
    0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
    0,    1,    2,    3,    4,    5,    6,    7,    8,    9,    10,   11,   12,   13,   14,   15,
    0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80};

MRC_TARGET_PCLMUL inline __m128i move(__m128i value, ptrdiff_t down) {
  return _mm_shuffle_epi8(value, _mm_loadu_si128(reinterpret_cast<const __m128i*>(kMoves + 16 + down)));
}

// The CRC of what was folded into `state` and of fewer than 16 bytes behind it.
template <bool kCopy>
MRC_TARGET_PCLMUL inline uint32_t finish(__m128i state, uint8_t* to, const uint8_t* from, size_t bytes) {
  if (bytes > 0) {
    const auto down = static_cast<ptrdiff_t>(bytes);
    const __m128i rest = move(take_rest<kCopy>(to, from, bytes), down - 16);
    state = fold<128>(move(state, down - 16), _mm_or_si128(move(state, down), rest));
  }
  return reduce(state);
}

// Fewer than 16 bytes in all.
template <bool kCopy>
MRC_TARGET_PCLMUL inline uint32_t run_short(uint32_t crc, uint8_t* to, const uint8_t* from, size_t bytes) {
  if (bytes == 0) return crc;
  const __m128i mixed =
      _mm_xor_si128(take_rest<kCopy>(to, from, bytes), _mm_cvtsi32_si128(static_cast<int>(crc)));
  // What of the state is beyond the last byte goes past them; the move drops it.
  const uint32_t past = bytes < 4 ? crc >> (8 * bytes) : 0;
  return reduce(move(mixed, static_cast<ptrdiff_t>(bytes) - 16)) ^ past;
}

template <bool kCopy>
MRC_TARGET_PCLMUL inline uint32_t run_multiply(uint32_t crc, uint8_t* to, const uint8_t* from, size_t bytes) {
  if (bytes < 16) return run_short<kCopy>(crc, to, from, bytes);
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
  return finish<kCopy>(state, to, from, bytes);
}

// --- 64 bytes at a time ---

// Four times 16 bytes, each `kBits` further up.
template <unsigned kBits>
MRC_TARGET_VPCLMUL inline __m512i fold_wide(__m512i state, __m512i next) {
  constexpr int64_t kFirst = operand(power_of_x(kBits + 64 - 1));
  constexpr int64_t kSecond = operand(power_of_x(kBits - 1));
  const __m512i powers = _mm512_set4_epi64(kSecond, kFirst, kSecond, kFirst);
  const __m512i first = _mm512_clmulepi64_epi128(state, powers, 0x00);
  const __m512i second = _mm512_clmulepi64_epi128(state, powers, 0x11);
  return _mm512_ternarylogic_epi64(first, second, next, 0x96);  // exclusive or of the three
}

// Without a mask it is the same, but gcc 12 warns of its own header then.
template <int kWhich>
MRC_TARGET_VPCLMUL inline __m128i sixteen_of(__m512i value) {
  return _mm512_maskz_extracti32x4_epi32(0xF, value, kWhich);
}

template <bool kCopy>
MRC_TARGET_VPCLMUL inline __m512i take64(uint8_t*& to, const uint8_t*& from) {
  const __m512i value = _mm512_loadu_si512(from);
  from += 64;
  if constexpr (kCopy) {
    _mm512_storeu_si512(to, value);
    to += 64;
  }
  return value;
}

constexpr size_t kWideMin = 256;

template <bool kCopy>
MRC_TARGET_VPCLMUL inline uint32_t run_wide(uint32_t crc, uint8_t* to, const uint8_t* from, size_t bytes) {
  if (bytes < kWideMin) return run_multiply<kCopy>(crc, to, from, bytes);
  __m512i first = take64<kCopy>(to, from);
  __m512i second = take64<kCopy>(to, from);
  __m512i third = take64<kCopy>(to, from);
  __m512i fourth = take64<kCopy>(to, from);
  first = _mm512_xor_si512(first, _mm512_zextsi128_si512(_mm_cvtsi32_si128(static_cast<int>(crc))));
  bytes -= 256;
  for (; bytes >= 256; bytes -= 256) {
    first = fold_wide<2048>(first, take64<kCopy>(to, from));
    second = fold_wide<2048>(second, take64<kCopy>(to, from));
    third = fold_wide<2048>(third, take64<kCopy>(to, from));
    fourth = fold_wide<2048>(fourth, take64<kCopy>(to, from));
  }
  first = fold_wide<512>(fold_wide<512>(fold_wide<512>(first, second), third), fourth);
  for (; bytes >= 64; bytes -= 64) first = fold_wide<512>(first, take64<kCopy>(to, from));
  __m128i state = fold<128>(sixteen_of<0>(first), sixteen_of<1>(first));
  state = fold<128>(fold<128>(state, sixteen_of<2>(first)), sixteen_of<3>(first));
  for (; bytes >= 16; bytes -= 16) state = fold<128>(state, take16<kCopy>(to, from));
  return finish<kCopy>(state, to, from, bytes);
}

}  // namespace

bool Multiply::present() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("pclmul") != 0 && __builtin_cpu_supports("sse4.1") != 0;
}

[[gnu::hot]] MRC_TARGET_PCLMUL uint32_t Multiply::update(uint32_t crc, const uint8_t* data, size_t bytes) {
  return run_multiply<false>(crc, nullptr, data, bytes);
}

[[gnu::hot]] MRC_TARGET_PCLMUL uint32_t Multiply::copy(uint32_t crc, uint8_t* to, const uint8_t* from,
                                                       size_t bytes) {
  return run_multiply<true>(crc, to, from, bytes);
}

bool WideMultiply::present() {
  return Multiply::present() && __builtin_cpu_supports("vpclmulqdq") != 0 &&
         __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512vl") != 0;
}

[[gnu::hot]] MRC_TARGET_VPCLMUL uint32_t WideMultiply::update(uint32_t crc, const uint8_t* data,
                                                              size_t bytes) {
  return run_wide<false>(crc, nullptr, data, bytes);
}

[[gnu::hot]] MRC_TARGET_VPCLMUL uint32_t WideMultiply::copy(uint32_t crc, uint8_t* to, const uint8_t* from,
                                                            size_t bytes) {
  return run_wide<true>(crc, to, from, bytes);
}

}  // namespace mrc::crc32

#endif
