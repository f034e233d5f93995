// SPDX-License-Identifier: BSD-2-Clause
// Joins two hosts by a pair of connected queue pairs, as an application would after exchanging numbers.
#pragma once

#include <cassert>
#include <cstdint>
#include <optional>

#include "tests/sim/host/host.h"

namespace mrc::sim {

inline void must(bool done) {
  assert(done && "the engine refused a valid transition");
  (void)done;
}

// One end of a connection.
struct EndConfig {
  CompletionQueue* send_completions = nullptr;
  CompletionQueue* receive_completions = nullptr;
  uint32_t send_entries = 16;
  uint32_t receive_entries = 16;
  SharedReceiveQueue* shared_receives = nullptr;  // instead of receive_entries
  uint32_t segments_max = 1;
  uint32_t inline_bytes_max = 0;
  Psn first_psn;
};

struct ConnectionConfig {
  ProtectionDomain domain{1};
  uint32_t mtu = 4096;
  Nanoseconds timeout = 16 * kMillisecond;
  uint8_t retry_linear = 7;
  uint8_t retry_exponential = 0;
  uint8_t rnr_retry = 7;  // for ever
  uint8_t rnr_timer = 1;  // 10 us
  uint8_t reads_max = 16;
  std::optional<Transport> transport;  // none: as the engine
  std::optional<uint32_t> mpr;         // with dynamic MPR: what each end lets the other have
  EndConfig end[2];
};

struct QueuePairs {
  QueuePair* end[2] = {};
};

QueuePairs connect(Host& first, Host& second, const ConnectionConfig& config);

}  // namespace mrc::sim
