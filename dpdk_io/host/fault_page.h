// SPDX-License-Identifier: BSD-2-Clause
// Faults that an operator injects into the planes of this user's same-host links: a small file in the run
// directory, mapped by every process, so that a plane can be broken and healed under running programs.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "libmrc/wire/identifiers.h"

namespace mrc {

enum class PlaneFault : uint32_t {
  kNone = 0,
  kBlackHole = 1,  // frames vanish in both directions, the link still says up
  kLinkDown = 2,   // frames vanish and the port says down
};

struct FaultPage {
  static constexpr uint32_t kMagic = 0x4D524346;  // "MRCF"
  static constexpr const char* kFileName = "faults";
  std::atomic<uint32_t> magic;
  std::atomic<uint32_t> reserved;
  std::atomic<PlaneFault> planes[kPlanesMax];
};
static_assert(std::atomic<PlaneFault>::is_always_lock_free);

// Maps the page of a run directory, making the file if need be. Null: `error` says why.
FaultPage* map_fault_page(const std::string& run_directory, std::string* error);
void unmap_fault_page(FaultPage* page);

}  // namespace mrc
