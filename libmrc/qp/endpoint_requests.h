// SPDX-License-Identifier: BSD-2-Clause
// MRC 1.6: endpoint requests under way, by the 16-bit id that rides in the PSN field, so that the answer
// (which comes to QPN 2) finds the queue pair that asked.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "libmrc/wire/identifiers.h"

namespace mrc {

class EndpointRequests {
 public:
  // Processes that share a port hear each other's answers: the first id should differ between them.
  explicit EndpointRequests(uint16_t first = 1) : next_(first) {}

  uint16_t add(Qpn asker) {
    const uint16_t id = next_++;
    slots_[id % slots_.size()] = {id, asker, true};
    return id;
  }
  std::optional<Qpn> asker_of(uint16_t id) const {
    const Slot& slot = slots_[id % slots_.size()];
    if (!slot.used || slot.id != id) return std::nullopt;
    return slot.asker;
  }
  void forget(uint16_t id) { slots_[id % slots_.size()].used = false; }

 private:
  struct Slot {
    uint16_t id = 0;
    Qpn asker;
    bool used = false;
  };
  std::array<Slot, 4096> slots_{};  // the oldest is forgotten when they run out; its asker asks again
  uint16_t next_;
};

}  // namespace mrc
