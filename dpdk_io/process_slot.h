// SPDX-License-Identifier: BSD-2-Clause
// A process's number in the run directory: claimed by a lock that dies with the process, and the upper bits
// of all its QP numbers, so that a QP number tells which process it belongs to.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "libmrc/wire/identifiers.h"

namespace mrc {

inline constexpr uint32_t kSlotMax = 1023;  // slots are 1..kSlotMax
inline constexpr uint32_t kLocalQpnBits = 14;
inline constexpr uint32_t kQpnsPerSlot = 1u << kLocalQpnBits;

constexpr Qpn first_qpn_of(uint32_t slot) {
  return Qpn(slot << kLocalQpnBits);
}
constexpr uint32_t slot_of(Qpn qpn) {
  return qpn.value() >> kLocalQpnBits;  // 0: nobody's
}

// What a process tells the others about itself.
struct SlotInfo {
  uint32_t pid = 0;
  uint32_t planes = 0;
  uint64_t incarnation = 0;  // tells processes apart that have had the same slot
};

class ProcessSlot {
 public:
  // Takes a free slot and clears away what dead processes have left. With `host_wide` no other process on the
  // network of this host that asked for the same has it, whatever its run directory: QP numbers on a wire
  // must be unique. Null: `error` says why.
  static std::unique_ptr<ProcessSlot> claim(const std::string& run_directory, uint32_t planes, bool host_wide,
                                            std::string* error);
  ~ProcessSlot();
  ProcessSlot(const ProcessSlot&) = delete;
  ProcessSlot& operator=(const ProcessSlot&) = delete;

  uint32_t number() const { return number_; }
  const SlotInfo& info() const { return info_; }

 private:
  ProcessSlot(const std::string& run_directory, uint32_t number, int fd, int host_fd);

  const std::string run_directory_;
  const uint32_t number_;
  const int fd_;       // holds the lock; closing any descriptor of the file in this process would lose it
  const int host_fd_;  // a socket whose name stands for the slot in this network namespace; -1: none
  SlotInfo info_;
};

// Whether a running process holds the slot.
bool slot_alive(const std::string& run_directory, uint32_t slot);
// False: nobody holds the slot, or its owner has not yet said who it is.
bool read_slot(const std::string& run_directory, uint32_t slot, SlotInfo* info);

}  // namespace mrc
