// SPDX-License-Identifier: BSD-2-Clause
// What a capture wants to know of a frame of which it may have the first bytes only: where it goes, by which
// EV, and what kind of packet it is.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace mrc {

struct PacketGlance {
  uint32_t ev = 0;
  uint32_t qpn = 0;  // where it goes
  uint8_t opcode = 0;
};

// Nothing: it is not RoCE, or too little of it is there.
std::optional<PacketGlance> glance_at(std::span<const uint8_t> frame);

// "write", "send", "read", "atomic", "flush", "ack", "sack", "nack", "probe", "endpoint": of MRC; "plain": of
// RoCEv2.
std::string_view class_of(uint8_t opcode);
bool is_class(std::string_view word);

}  // namespace mrc
