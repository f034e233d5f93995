// SPDX-License-Identifier: BSD-2-Clause
// What the device promises, and what it refuses beyond. ibv_query_device shows these numbers.
#pragma once

#include <cstdint>

namespace mrc::provider::limits {

inline constexpr int kQueuePairs = 16383;  // as many QP numbers as one process gets
inline constexpr uint32_t kWorkRequests = 16384;
inline constexpr uint32_t kSegments = 16;
inline constexpr uint32_t kInlineBytes = 256;
inline constexpr uint8_t kReads = 128;  // READs and atomics under way, per queue pair and direction
inline constexpr int kSharedReceiveQueues = 65536;
inline constexpr int kAddressHandles = 1 << 20;
inline constexpr int kGroups = 256;        // of all processes of a run directory
inline constexpr int kGroupMembers = 256;  // of one process
inline constexpr int kCompletionQueues = 65536;
inline constexpr int kCompletions = 4 << 20;
// No queue is smaller. Latency programs ask for a single entry, post again before they have polled it, and
// count on the room that NICs leave.
inline constexpr int kCompletionsLeast = 64;
inline constexpr int kMemoryRegions = 1 << 20;
inline constexpr uint64_t kDeviceMemoryBytes = 1 << 20;  // of one process
inline constexpr int kProtectionDomains = 65536;
inline constexpr uint32_t kMessageBytes = 1u << 30;
inline constexpr uint64_t kClockKilohertz = 1'000'000;  // its clock counts nanoseconds
inline constexpr uint8_t kPort = 1;
inline constexpr int kGids = 128;  // most are free
inline constexpr int kCompletionVectors = 1;

}  // namespace mrc::provider::limits
