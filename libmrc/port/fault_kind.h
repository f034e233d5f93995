// SPDX-License-Identifier: BSD-2-Clause
// What can be made to go wrong on purpose (libmrc/fault): the kinds have counters of their own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace mrc {

enum class FaultKind : uint8_t {
  // Frames, at the boundary between the engine and its ports.
  kDrop,
  kCorrupt,
  kDuplicate,
  kDelay,
  kReorder,
  kTrim,
  kMark,
  kBlackHole,
  // Requests and completions of queue pairs.
  kRequest,
  kSlowCq,
  kFullCq,
  // Calls of verbs, and asynchronous events.
  kCall,
  kEvent,
  // Orders that are legal but unusual.
  kDisorder,
};
inline constexpr size_t kFaultKinds = 14;
using FaultCounts = std::array<uint64_t, kFaultKinds>;

inline constexpr std::array<const char*, kFaultKinds> kFaultNames = {
    "drop",       "corrupt", "duplicate", "delay",   "reorder", "trim",  "mark",
    "black-hole", "request", "slow-cq",   "full-cq", "call",    "event", "disorder"};
constexpr const char* to_string(FaultKind kind) {
  return kFaultNames[static_cast<size_t>(kind)];
}
constexpr bool is_of_frames(FaultKind kind) {
  return kind <= FaultKind::kBlackHole;
}

}  // namespace mrc
