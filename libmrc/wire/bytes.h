// SPDX-License-Identifier: BSD-2-Clause
// Big-endian loads and stores at any alignment.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace mrc {

template <typename T>
constexpr T byte_swap(T value) {
  if constexpr (sizeof(T) == 2) return __builtin_bswap16(value);
  if constexpr (sizeof(T) == 4) return __builtin_bswap32(value);
  if constexpr (sizeof(T) == 8) return __builtin_bswap64(value);
}

template <typename T>
inline T load_be(const uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return std::endian::native == std::endian::little ? byte_swap(value) : value;
}

template <typename T>
inline void store_be(uint8_t* to, T value) {
  if constexpr (std::endian::native == std::endian::little) value = byte_swap(value);
  std::memcpy(to, &value, sizeof value);
}

inline uint32_t load_be24(const uint8_t* from) {
  return static_cast<uint32_t>(from[0]) << 16 | static_cast<uint32_t>(from[1]) << 8 | from[2];
}

inline void store_be24(uint8_t* to, uint32_t value) {
  to[0] = static_cast<uint8_t>(value >> 16);
  to[1] = static_cast<uint8_t>(value >> 8);
  to[2] = static_cast<uint8_t>(value);
}

}  // namespace mrc
