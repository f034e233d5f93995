// SPDX-License-Identifier: BSD-2-Clause
// CRC-32 as in Ethernet and zlib, in running form: start with kCrcInit, finish with ~crc. The fastest way
// that the CPU offers is chosen at the first call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace mrc {

inline constexpr uint32_t kCrcInit = 0xFFFFFFFFu;
uint32_t crc32_update(uint32_t crc, const uint8_t* data, size_t bytes);
// Copies and updates in one pass over the data.
uint32_t crc32_copy(uint32_t crc, uint8_t* to, const uint8_t* from, size_t bytes);

// A way to do both.
struct Crc32Variant {
  const char* name;
  bool (*present)();  // whether this CPU can
  uint32_t (*update)(uint32_t crc, const uint8_t* data, size_t bytes);
  uint32_t (*copy)(uint32_t crc, uint8_t* to, const uint8_t* from, size_t bytes);
};
// Those of this architecture, the fastest first. The last one is portable and always present.
std::span<const Crc32Variant> crc32_variants();

}  // namespace mrc
