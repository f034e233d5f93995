// SPDX-License-Identifier: BSD-2-Clause
// One seed of the soak, with the checks that must hold whatever was drawn.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "tests/sim/core/time.h"
#include "tests/sim/soak/coverage.h"
#include "tests/sim/workload/operations.h"

namespace mrc::sim {

// A connection that the network has not cut off must move (a packet more is acknowledged) within this time
// after the last fault has healed, and again and again until its work is done. Why packets and not messages:
// where every path loses 30 % for ever, the window of a peer is one packet, shared in turn by up to eight
// queue pairs, and a packet takes up to a retransmission timeout (4 ms) per attempt, half of which fail. In
// 60 ms each connection has its turn with two attempts or more; a message of 256 packets may well take
// seconds, for which there is the deadline of the whole run.
inline constexpr Picoseconds kRecoveryMax = 60 * kPerMillisecond;
// And one that is cut off must end with an error within this time: all its retries, or all its questions what
// the peer can do.
inline constexpr Picoseconds kGiveUpMax = 3 * kPerSecond;

struct SoakOptions {
  OperationSet operations = enabled_operations();
  uint32_t controllers = 0;    // congestion algorithms drawn from; 0 = as usual
  std::FILE* trace = nullptr;  // every packet, and the faults
};

struct SoakResult {
  bool ok = true;
  bool differs = false;  // from another run of the same seed
  std::string failure;   // what was violated first
  std::string setting;   // what the seed drew, for people
  uint64_t trace = 0;    // equal for equal runs
  uint64_t messages = 0;
  uint64_t frames = 0;
  uint64_t frames_gone = 0;
  uint64_t retransmits = 0;
  uint64_t errors = 0;  // connections that ended with an error, which they were allowed to
  uint64_t events = 0;
  Picoseconds virtual_time = 0;
  Coverage coverage;
};

SoakResult run_soak_seed(uint64_t seed, const SoakOptions& options = {});

}  // namespace mrc::sim
