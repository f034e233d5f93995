// SPDX-License-Identifier: BSD-2-Clause
// MRC 6: which uSID a switch or host has. The layout is not published; here a uSID is that of number 0 of its
// kind on plane 0, plus the plane's step, plus the number. With the defaults that is tier(4) | plane(4) |
// number(8); other numbers make room for any fabric that 65,535 uSIDs are enough for.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "libmrc/wire/identifiers.h"

namespace mrc {

enum class UsidKind : uint8_t { kSpine, kLeaf, kCore, kHost };  // T1, T0, T2
inline constexpr size_t kUsidKinds = 4;

struct UsidPlan {
  std::array<uint16_t, kUsidKinds> first{0x1000, 0x2000, 0x3000, 0x9000};  // by kind; 0: there are none
  uint16_t plane_step = 0x100;  // 0: planes share no switch, and have the same uSIDs

  constexpr uint16_t usid(UsidKind kind, Plane plane, uint32_t number) const {
    return static_cast<uint16_t>(first[static_cast<size_t>(kind)] + uint32_t{plane} * plane_step + number);
  }
  // Of which kind and plane a uSID is: kinds go on until the next one begins.
  constexpr std::optional<UsidKind> kind_of(uint16_t usid) const {
    std::optional<UsidKind> kind;
    for (size_t i = 0; i < kUsidKinds; ++i)
      if (first[i] != 0 && first[i] <= usid && (!kind || first[i] > first[static_cast<size_t>(*kind)]))
        kind = static_cast<UsidKind>(i);
    return kind;
  }
  constexpr uint32_t plane_of(uint16_t usid) const {
    const auto kind = kind_of(usid);
    if (!kind || plane_step == 0) return 0;
    return static_cast<uint32_t>(usid - first[static_cast<size_t>(*kind)]) / plane_step;
  }
  // How many numbers there are of a kind, with so many planes: up to the next plane or the next kind. 0: its
  // planes reach into the next kind, or two kinds begin at the same uSID.
  constexpr uint32_t room(UsidKind kind, uint32_t planes) const {
    const uint32_t begin = first[static_cast<size_t>(kind)];
    uint32_t end = 0x10000;
    for (size_t other = 0; other < kUsidKinds; ++other) {
      if (other == static_cast<size_t>(kind) || first[other] == 0) continue;
      if (first[other] == begin) return 0;
      if (first[other] > begin) end = std::min<uint32_t>(end, first[other]);
    }
    if (plane_step == 0) return end - begin;
    const uint32_t last = begin + (planes - 1) * plane_step;
    return last < end ? std::min<uint32_t>(plane_step, end - last) : 0;
  }
};

}  // namespace mrc
