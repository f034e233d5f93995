// SPDX-License-Identifier: BSD-2-Clause
// A process's number among those of its run directory. It is the upper part of all its QP numbers, so that a
// QP number tells which process it belongs to.
#pragma once

#include <cstdint>

#include "libmrc/wire/identifiers.h"

namespace mrc {

inline constexpr uint32_t kSlotMax = 1023;  // slots are 1..kSlotMax
inline constexpr uint32_t kLocalQpnBits = kQpnGroupBits;
inline constexpr uint32_t kQpnsPerSlot = 1u << kLocalQpnBits;

constexpr Qpn first_qpn_of(uint32_t slot) {
  return Qpn(slot << kLocalQpnBits);
}
constexpr uint32_t slot_of(Qpn qpn) {
  return qpn.value() >> kLocalQpnBits;  // 0: nobody's
}

}  // namespace mrc
