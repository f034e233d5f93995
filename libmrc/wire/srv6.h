// SPDX-License-Identifier: BSD-2-Clause
// SRv6 micro-SIDs (RFC 9800, NEXT-C-SID, F3216): a 32-bit block and up to six 16-bit uSIDs in one IPv6
// address.
#pragma once

#include <cstdint>
#include <span>

#include "libmrc/wire/identifiers.h"

namespace mrc {

inline constexpr size_t kUsidsMax = 6;

// block:usid[0]:usid[1]:... with zeros behind the last one.
IpAddress make_usid_address(uint32_t block, std::span<const uint16_t> usids);
uint32_t usid_block(const IpAddress& address);
uint16_t usid_at(const IpAddress& address, size_t index);  // 0 = none

// What a switch does when the first uSID is its own: shift the rest left by one. False if nothing is left.
bool shift_usid(IpAddress* address);

}  // namespace mrc
