// SPDX-License-Identifier: BSD-2-Clause
// Why packets are sent again, as far as people want to know it of a queue pair or a path: the engine's own
// counters tell more kinds apart.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace mrc {

enum class RetransmitCause : uint8_t {
  kGap,      // others that were sent later have arrived
  kTimeout,  // nothing was heard of it
  kTrim,     // a switch has trimmed it
  kNack,     // the receiver had no room for it
  kPortDown,
  // Not of one path:
  kAckLost,   // everything arrived, but the transport ACK did not
  kNotReady,  // no receive request was posted
  kCount,
};
inline constexpr size_t kRetransmitCauses = static_cast<size_t>(RetransmitCause::kCount);
inline constexpr size_t kPathRetransmitCauses = static_cast<size_t>(RetransmitCause::kAckLost);
inline constexpr std::array<const char*, kRetransmitCauses> kRetransmitCauseNames = {
    "gap", "timeout", "trim", "nack", "port_down", "ack_lost", "not_ready"};

// They wrap.
using RetransmitCounts = std::array<uint32_t, kRetransmitCauses>;
using PathRetransmitCounts = std::array<uint32_t, kPathRetransmitCauses>;

}  // namespace mrc
