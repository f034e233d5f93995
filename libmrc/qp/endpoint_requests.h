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
  uint16_t add(Qpn asker) {
    const uint16_t id = next_++;
    slots_[id % slots_.size()] = {id, asker, true};
    return id;
  }
  std::optional<Qpn> take(uint16_t id) {
    Slot& slot = slots_[id % slots_.size()];
    if (!slot.used || slot.id != id) return std::nullopt;
    slot.used = false;
    return slot.asker;
  }

 private:
  struct Slot {
    uint16_t id = 0;
    Qpn asker;
    bool used = false;
  };
  std::array<Slot, 4096> slots_{};  // the oldest is forgotten when they run out; its asker asks again
  uint16_t next_ = 1;
};

}  // namespace mrc
