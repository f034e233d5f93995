// SPDX-License-Identifier: BSD-2-Clause
// A 24-bit packet sequence number with wrap-safe comparison.
#pragma once

#include <cstdint>

namespace mrc {

class Psn {
 public:
  static constexpr uint32_t kMask = 0xFFFFFF;

  constexpr Psn() = default;
  constexpr explicit Psn(uint32_t value) : value_(value & kMask) {}

  constexpr uint32_t value() const { return value_; }

  friend constexpr Psn operator+(Psn a, int32_t n) { return Psn(a.value_ + static_cast<uint32_t>(n)); }
  friend constexpr Psn operator-(Psn a, int32_t n) { return Psn(a.value_ - static_cast<uint32_t>(n)); }
  constexpr Psn& operator++() {
    value_ = (value_ + 1) & kMask;
    return *this;
  }

  // How far `a` lies after `b`, in [-2^23, 2^23).
  friend constexpr int32_t operator-(Psn a, Psn b) {
    return static_cast<int32_t>((a.value_ - b.value_) << 8) >> 8;  // bit 23 is the sign
  }
  friend constexpr bool operator==(Psn a, Psn b) = default;
  friend constexpr bool operator<(Psn a, Psn b) { return a - b < 0; }
  friend constexpr bool operator>(Psn a, Psn b) { return a - b > 0; }
  friend constexpr bool operator<=(Psn a, Psn b) { return a - b <= 0; }
  friend constexpr bool operator>=(Psn a, Psn b) { return a - b >= 0; }

 private:
  uint32_t value_ = 0;
};

}  // namespace mrc
