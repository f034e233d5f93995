// SPDX-License-Identifier: BSD-2-Clause
// The variants of CRC-32 that use instructions of one architecture. update() and copy() only where present().
#pragma once

#include <cstddef>
#include <cstdint>

namespace mrc::crc32 {

#if defined(__x86_64__)

// Carry-less multiplication of 64 bytes at a time.
struct WideMultiply {
  static bool present();
  static uint32_t update(uint32_t crc, const uint8_t* data, size_t bytes);
  static uint32_t copy(uint32_t crc, uint8_t* to, const uint8_t* from, size_t bytes);
};

// Of 16 bytes.
struct Multiply {
  static bool present();
  static uint32_t update(uint32_t crc, const uint8_t* data, size_t bytes);
  static uint32_t copy(uint32_t crc, uint8_t* to, const uint8_t* from, size_t bytes);
};

#elif defined(__aarch64__)

// CRC instructions on three parts of the data at once, joined by carry-less multiplication.
struct ThreeStreams {
  static bool present();
  static uint32_t update(uint32_t crc, const uint8_t* data, size_t bytes);
  static uint32_t copy(uint32_t crc, uint8_t* to, const uint8_t* from, size_t bytes);
};

// CRC instructions alone.
struct Instructions {
  static bool present();
  static uint32_t update(uint32_t crc, const uint8_t* data, size_t bytes);
  static uint32_t copy(uint32_t crc, uint8_t* to, const uint8_t* from, size_t bytes);
};

#endif

}  // namespace mrc::crc32
