// SPDX-License-Identifier: BSD-2-Clause
// A process's slot in the run directory: claimed by a lock that dies with the process.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "dpdk_io/host/host_claim.h"
#include "dpdk_io/host/slot_number.h"

namespace mrc {

// What a process tells the others about itself.
struct SlotInfo {
  uint32_t pid = 0;
  uint32_t planes = 0;
  uint64_t incarnation = 0;  // tells processes apart that have had the same slot
};

class ProcessSlot {
 public:
  // Takes a free slot and clears away what dead processes have left. With `on_host` no other process on the
  // network of this host that asked for the same has it, whatever its run directory: QP numbers on a wire
  // must be unique. Null: `error` says why.
  static std::unique_ptr<ProcessSlot> claim(const std::string& run_directory, uint32_t planes,
                                            const ClaimOnHost& on_host, std::string* error);
  ~ProcessSlot();
  ProcessSlot(const ProcessSlot&) = delete;
  ProcessSlot& operator=(const ProcessSlot&) = delete;

  uint32_t number() const { return number_; }
  const SlotInfo& info() const { return info_; }

 private:
  ProcessSlot(const std::string& run_directory, uint32_t number, const SlotInfo& info, int fd, int host_fd);

  const std::string run_directory_;
  const uint32_t number_;
  const SlotInfo info_;
  const int fd_;       // holds the lock; closing any descriptor of the file in this process would lose it
  const int host_fd_;  // see host_claim.h; -1: none
};

// Whether a running process holds the slot.
bool slot_alive(const std::string& run_directory, uint32_t slot);
// False: nobody holds the slot, or its owner has not yet said who it is.
bool read_slot(const std::string& run_directory, uint32_t slot, SlotInfo* info);
// Whether the process with that incarnation has the slot no more. What cannot be found out, for want of
// descriptors or the like, is no proof.
bool slot_gone(const std::string& run_directory, uint32_t slot, uint64_t incarnation);
// Removes what the slot's last owner has left, if he is dead: survivors do it when they notice.
void clear_after_the_dead(const std::string& run_directory, uint32_t slot);

}  // namespace mrc
