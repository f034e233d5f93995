// SPDX-License-Identifier: BSD-2-Clause
// What the fuzzer gives, read from front to back; behind its end there are zeros.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mrc::fuzz {

class Input {
 public:
  Input(const uint8_t* data, size_t bytes) : data_(data), left_(bytes) {}
  bool empty() const { return left_ == 0; }
  uint8_t byte() {
    if (left_ == 0) return 0;
    --left_;
    return *data_++;
  }
  uint16_t word() {
    const uint8_t high = byte();
    return static_cast<uint16_t>(high << 8 | byte());
  }
  uint32_t any32() {
    const uint16_t high = word();
    return static_cast<uint32_t>(high) << 16 | word();
  }
  uint64_t any64() {
    const uint32_t high = any32();
    return static_cast<uint64_t>(high) << 32 | any32();
  }
  uint32_t below(uint32_t limit) { return byte() % limit; }

 private:
  const uint8_t* data_;
  size_t left_;
};

}  // namespace mrc::fuzz
