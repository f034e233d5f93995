// SPDX-License-Identifier: BSD-2-Clause
// One seed of the soak: two hosts, a number of planes, faults and a workload, all drawn from the seed, and
// the checks that must hold whatever was drawn.
#pragma once

#include <cstdint>
#include <string>

namespace mrc::sim {

struct SoakResult {
  bool ok = true;
  std::string failure;  // what was violated first
  uint64_t trace = 0;   // equal for equal runs
  uint64_t frames = 0;
  uint64_t retransmits = 0;
  uint64_t messages = 0;
  uint64_t virtual_ns = 0;
  std::string setting;  // what the seed drew, for people
};

SoakResult run_soak_seed(uint64_t seed);

}  // namespace mrc::sim
