// SPDX-License-Identifier: BSD-2-Clause
// Faults that an operator injects into this user's programs: a small file in the run directory, mapped by
// every process. Planes of the same-host links are broken and healed at once; rules (libmrc/fault) are read
// again by each process when their number of changes has grown.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "libmrc/fault/fault_rule.h"
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
  static constexpr const char* kLockName = "faults.lock";  // who changes rules has it
  static constexpr size_t kRulesMax = 64;
  // A rule, word by word: who reads one that is being written reads it again.
  struct Place {
    std::array<std::atomic<uint64_t>, sizeof(FaultRule) / sizeof(uint64_t)> words;
    std::atomic<uint64_t> hits;  // by all processes
  };

  std::atomic<uint32_t> magic;
  std::atomic<uint32_t> changes;  // of rules; odd while somebody writes
  std::atomic<PlaneFault> planes[kPlanesMax];
  std::atomic<uint32_t> last_id;
  std::array<Place, kRulesMax> places;  // those with an id hold a rule
};
static_assert(std::atomic<PlaneFault>::is_always_lock_free && std::atomic<uint64_t>::is_always_lock_free);

// Maps the page of a run directory, making the file if need be. Null: `error` says why. `suffix`: behind the
// name of the file, of a device that is not the first.
FaultPage* map_fault_page(const std::string& run_directory, std::string* error,
                          const std::string& suffix = "");
void unmap_fault_page(FaultPage* page);

struct PlacedRule {
  FaultRule rule;
  std::atomic<uint64_t>* hits;  // in the page
};
// False: somebody is writing; ask again. `changes` is what the page said then.
bool read_faults(FaultPage& page, std::vector<PlacedRule>* rules, uint32_t* changes);

// Changes to the rules. 0 or an errno: ENOSPC, there is no place for one more; ENOENT, there is no such rule.
int add_fault(FaultPage& page, const std::string& run_directory, FaultRule* rule);  // gives it its id
int remove_fault(FaultPage& page, const std::string& run_directory, uint32_t id);
int clear_faults(FaultPage& page, const std::string& run_directory);

}  // namespace mrc
