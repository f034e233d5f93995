// SPDX-License-Identifier: BSD-2-Clause
// MRC 1.6: endpoint requests under way, by the 16-bit id that rides in the PSN field, so that the answer
// (which comes to QPN 2) finds who asked: a queue pair, or somebody who probes an EV.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "libmrc/wire/identifiers.h"
#include "libmrc/wire/time.h"

namespace mrc {

class EndpointRequests {
 public:
  struct Asker {
    Qpn qpn;  // a queue pair of ours; not if it is a probe
    bool is_probe = false;
    bool is_datagram = false;  // a queue pair of datagrams asks whether a plane leads to where it sends
    uint64_t cookie = 0;       // of the probe: the asker's
    IpAddress destination;     // of the probe, and of the datagrams
    Qpn destination_qpn;       // of the datagrams, and the next
    Plane plane = 0;
    Nanoseconds sent_at = 0;    // of the probe
    uint32_t announcement = 0;  // which change of our ports it tells of; 0 = it asks something else
  };
  // Processes that share a port hear each other's answers: the first id should differ between them. Who has
  // few queue pairs asks little at a time.
  EndpointRequests(uint16_t first, uint32_t queue_pairs)
      : slots_(std::bit_ceil(std::clamp(queue_pairs, kSlotsMin, kSlotsMax / kSlotsEach) * kSlotsEach)),
        next_(first) {}

  uint16_t add(Qpn qpn) {
    Asker asker;
    asker.qpn = qpn;
    return add(asker);
  }
  uint16_t add(const Asker& asker) {
    const uint16_t id = next_++;
    slots_[id % slots_.size()] = {id, true, asker};
    return id;
  }
  // Null: nobody asked that, or it is forgotten.
  const Asker* asker_of(uint16_t id) const {
    const Slot& slot = slots_[id % slots_.size()];
    return slot.used && slot.id == id ? &slot.asker : nullptr;
  }
  void forget(uint16_t id) { slots_[id % slots_.size()].used = false; }

 private:
  struct Slot {
    uint16_t id = 0;
    bool used = false;
    Asker asker;
  };
  static constexpr uint32_t kSlotsEach = 16;
  static constexpr uint32_t kSlotsMin = 4;  // queue pairs
  static constexpr uint32_t kSlotsMax = 4096;
  std::vector<Slot> slots_;  // the oldest is forgotten when they run out; its asker asks again
  uint16_t next_;
};

}  // namespace mrc
