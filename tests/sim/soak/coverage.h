// SPDX-License-Identifier: BSD-2-Clause
// What the seeds of a soak have met: so that "nothing failed" also says what was tried.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/sim/fabric/faults.h"
#include "tests/sim/soak/soak_plan.h"

namespace mrc::sim {

// Plain data: it goes through a pipe as it is.
class Coverage {
 public:
  static constexpr size_t kItems = 64;

  // One seed: what it drew, the faults that came before its end, the operations that completed, and whether
  // some path was left because its receiver said so.
  void note(const SoakPlan& plan, const FaultPlan& faults, Picoseconds end, OperationSet completed,
            bool told_bad);
  void add(const Coverage& other);

  // How many seeds met each item, and the worst loss and duplication on all paths; one line per group.
  std::string summary() const;
  // Items that no seed has met.
  std::string missing() const;

 private:
  void met(const std::string& name);

  std::array<uint32_t, kItems> seeds_{};
  double loss_max_ = 0;
  double duplication_max_ = 0;
};

}  // namespace mrc::sim
