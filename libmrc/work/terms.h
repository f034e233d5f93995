// SPDX-License-Identifier: BSD-2-Clause
// What a program has asked of a queue pair and its transport has to heed: given before there is a transport,
// and some of it changed later.
#pragma once

#include <cstdint>
#include <optional>

#include "libmrc/config/transport_config.h"
#include "libmrc/wire/time.h"

namespace mrc {

// The most READs and atomics that may wait for an answer, per direction.
inline constexpr uint8_t kReadsMax = 128;

struct Terms {
  Transport transport = Transport::kMrc;  // of a reliable connection
  bool general_service = false;           // datagrams of connection managers
  uint32_t queue_key = 0;                 // of datagrams
  uint32_t copied_segments = 0;           // of the shared receive queue, 0 if there is none
  uint64_t seed = 0;
  uint64_t path_profile = 0;  // of ProfileSource, as the next
  uint64_t congestion_profile = 0;
  std::optional<uint32_t> expected_senders;  // none: as the device, as the next
  std::optional<bool> dynamic_mpr;
  std::optional<uint16_t> immediates_taken;  // max_wimm_dest: WriteImm messages of the peer at a time
  std::optional<uint32_t> paths_per_plane;
  std::optional<uint32_t> paths_min_active;
  Nanoseconds timeout = 0;  // 0 = never
  uint8_t retry_linear = 7;
  uint8_t retry_exponential = 0;
};

}  // namespace mrc
