// SPDX-License-Identifier: BSD-2-Clause
// Polynomials over GF(2) as the variants of CRC-32 use them. Bit 31 - i of a word holds the coefficient of
// x^i throughout (63 - i of a long one), so multiplying by x is a shift to the right.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace mrc::crc32 {

static_assert(std::endian::native == std::endian::little,
              "the CRC variants load words in little-endian order");

inline constexpr uint32_t kPolynomial = 0xEDB88320u;  // without its x^32

constexpr uint32_t times_x(uint32_t value) {
  return (value >> 1) ^ ((value & 1) != 0 ? kPolynomial : 0);
}

// x^n mod P.
constexpr uint32_t power_of_x(unsigned n) {
  uint32_t value = 0x80000000u;
  while (n-- > 0) value = times_x(value);
  return value;
}

template <typename T>
inline T load(const uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// Reads a word, copies it if that is wanted, and goes on behind it.
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

}  // namespace mrc::crc32
