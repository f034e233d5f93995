// SPDX-License-Identifier: BSD-2-Clause
// What breaks, where, when, and when it heals. Faults may overlap: each channel suffers all that are active
// on it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/sim/fabric/fabric.h"

namespace mrc::sim {

enum class FaultKind : uint8_t {
  kLoss,         // probability
  kCorruption,   // probability
  kDuplication,  // probability
  kReordering,   // probability, delay
  kBurstLoss,    // probability that a burst begins, burst_end that it ends
  kEntropyLoss,  // probability, entropies
  kBlackHole,    // silent
  kRate,         // probability: share of the nominal rate that is left
  kDown,         // link or switch: queues are lost too; switches that reroute notice
  kPortDown,     // host, plane: as kDown, and the host's port knows
  kHostPause,    // host: its engine does not run
};
const char* to_string(FaultKind kind);

struct Fault {
  FaultKind kind = FaultKind::kLoss;
  Picoseconds begin = 0;
  Picoseconds end = kForever;
  double probability = 0;
  double burst_end = 0;
  Picoseconds delay = 0;
  std::vector<uint32_t> channels;
  std::vector<uint32_t> entropies;
  uint32_t host = 0;
  Plane plane = 0;
  // Flapping: between begin and end it comes for flap_on and goes for flap_off, again and again.
  Picoseconds flap_on = 0;
  Picoseconds flap_off = 0;
};

class FaultPlan {
 public:
  explicit FaultPlan(Fabric& fabric);

  uint32_t add(Fault fault);
  // The most common ones.
  uint32_t link_down(const Link& link, Picoseconds begin, Picoseconds end);
  uint32_t switch_dead(Tier tier, Plane plane, uint32_t index, Picoseconds begin, Picoseconds end);
  uint32_t port_down(uint32_t host, Plane plane, Picoseconds begin, Picoseconds end);
  uint32_t pause(uint32_t host, Picoseconds begin, Picoseconds end);
  // So much of what comes to any host is lost on its last hop; nothing is added where that is none.
  void lose_at_hosts(double share, Picoseconds end = kForever);

  const std::vector<Fault>& faults() const { return faults_; }
  bool active(uint32_t id) const { return states_[id].active; }
  // When the last fault ends that ends at all.
  Picoseconds healed_at() const;
  std::string describe(uint32_t id) const;

  void on_event(uint32_t id);

 private:
  struct State {
    bool inside = false;
    bool active = false;
  };
  void set_active(uint32_t id, bool active);
  void refresh(uint32_t channel);

  Fabric& fabric_;
  std::vector<Fault> faults_;
  std::vector<State> states_;
  std::vector<uint32_t> down_count_;  // by channel
};

}  // namespace mrc::sim
