// SPDX-License-Identifier: BSD-2-Clause
// CRC-32: the portable variant, by tables, and the choice among all.
#include "libmrc/wire/crc32.h"

#include <array>
#include <atomic>
#include <cstring>

#include "libmrc/wire/crc32_machine.h"
#include "libmrc/wire/crc32_polynomial.h"

namespace mrc {
namespace {

// kTable[n][b]: what byte b contributes when n more bytes follow it.
constexpr auto kTable = [] {
  std::array<std::array<uint32_t, 256>, 8> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = crc32::times_x(value);
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
uint32_t run_table(uint32_t crc, [[maybe_unused]] uint8_t* to, const uint8_t* from, size_t bytes) {
  for (; bytes >= 8; bytes -= 8) {
    const uint64_t mixed = crc32::take<uint64_t, kCopy>(to, from) ^ crc;
    crc = kTable[7][mixed & 0xFF] ^ kTable[6][(mixed >> 8) & 0xFF] ^ kTable[5][(mixed >> 16) & 0xFF] ^
          kTable[4][(mixed >> 24) & 0xFF] ^ kTable[3][(mixed >> 32) & 0xFF] ^
          kTable[2][(mixed >> 40) & 0xFF] ^ kTable[1][(mixed >> 48) & 0xFF] ^ kTable[0][mixed >> 56];
  }
  for (; bytes > 0; --bytes)
    crc = (crc >> 8) ^ kTable[0][(crc ^ crc32::take<uint8_t, kCopy>(to, from)) & 0xFF];
  return crc;
}

uint32_t update_table(uint32_t crc, const uint8_t* data, size_t bytes) {
  return run_table<false>(crc, nullptr, data, bytes);
}

constexpr bool always() {
  return true;
}

template <typename Machine>
constexpr Crc32Variant variant(const char* name) {
  return {name, Machine::present, Machine::update, Machine::copy};
}

constexpr Crc32Variant kVariants[] = {
#if defined(__x86_64__)
    variant<crc32::WideMultiply>("vpclmulqdq"),
    variant<crc32::Multiply>("pclmulqdq"),
#elif defined(__aarch64__)
    variant<crc32::ThreeStreams>("crc and pmull"),
    variant<crc32::Instructions>("crc"),
#endif
    {"table", always, update_table, run_table<true>},
};

const Crc32Variant& best() {
  for (const Crc32Variant& variant : crc32_variants())
    if (variant.present()) return variant;
  return crc32_variants().back();
}

uint32_t choose_update(uint32_t crc, const uint8_t* data, size_t bytes);
uint32_t choose_copy(uint32_t crc, uint8_t* to, const uint8_t* from, size_t bytes);

// Constant-initialised, so that a call from another file's static initialiser is fine too. Whoever calls
// first writes the choice, which is the same for every thread.
constinit std::atomic<decltype(Crc32Variant::update)> chosen_update{choose_update};
constinit std::atomic<decltype(Crc32Variant::copy)> chosen_copy{choose_copy};

uint32_t choose_update(uint32_t crc, const uint8_t* data, size_t bytes) {
  chosen_update.store(best().update, std::memory_order_relaxed);
  return crc32_update(crc, data, bytes);
}

uint32_t choose_copy(uint32_t crc, uint8_t* to, const uint8_t* from, size_t bytes) {
  chosen_copy.store(best().copy, std::memory_order_relaxed);
  return crc32_copy(crc, to, from, bytes);
}

}  // namespace

[[gnu::hot]] uint32_t crc32_update(uint32_t crc, const uint8_t* data, size_t bytes) {
  return chosen_update.load(std::memory_order_relaxed)(crc, data, bytes);
}

[[gnu::hot]] uint32_t crc32_copy(uint32_t crc, uint8_t* to, const uint8_t* from, size_t bytes) {
  return chosen_copy.load(std::memory_order_relaxed)(crc, to, from, bytes);
}

std::span<const Crc32Variant> crc32_variants() {
  return kVariants;
}

}  // namespace mrc
