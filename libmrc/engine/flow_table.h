// SPDX-License-Identifier: BSD-2-Clause
// Which frames go to which queue pairs of raw packets. What the transport understands is never steered away
// from it; sniffers get copies of everything.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "libmrc/engine/flow_match.h"

namespace mrc {

class Engine;
class QueuePair;

enum class FlowKind : uint8_t {
  kMatching,    // what the match says
  kAllElse,     // what no matching flow has taken
  kToManyElse,  // of that, frames to Ethernet groups
  kSniffer,     // a copy of all that comes and goes
};

struct Flow {
  uint64_t id = 0;  // the caller's
  FlowKind kind = FlowKind::kMatching;
  uint16_t priority = 0;   // of matching ones: the lowest number takes the frame
  bool lets_pass = false;  // takes a copy, and the others see the frame as if it were not there
  FlowMatch match;
  QueuePair* qp = nullptr;
  Engine* home = nullptr;  // whose queue pair it is
};

class FlowTable {
 public:
  bool empty() const { return steering_.empty() && sniffers_.empty(); }
  bool steers() const { return !steering_.empty(); }
  std::span<const Flow> sniffers() const { return sniffers_; }

  void add(const Flow& flow);
  void remove(uint64_t id);

  // Calls with every flow that gets the frame; a queue pair gets it once. Of matching flows those with the
  // best priority get it, all of them if there are several.
  template <typename Each>
  void for_each_taker(std::span<const uint8_t> frame, Each&& each) const {
    const FlowView view(frame);
    uint32_t taken_at = kNowhere;
    for (size_t i = 0; i < steering_.size(); ++i) {
      const Flow& flow = steering_[i];
      if (taken_at != kNowhere && place_of(flow) != taken_at) break;
      if (!looks_at(flow, view)) continue;
      if (!flow.lets_pass) taken_at = place_of(flow);
      if (is_first_of_its_queue_pair(i, view)) each(flow);
    }
  }

 private:
  static constexpr uint32_t kNowhere = UINT32_MAX;

  // In the order of priorities; those for what is left come last, all at one place.
  static uint32_t place_of(const Flow& flow) {
    return flow.kind == FlowKind::kMatching ? flow.priority : UINT16_MAX + 1;
  }
  static bool looks_at(const Flow& flow, const FlowView& view);
  bool is_first_of_its_queue_pair(size_t index, const FlowView& view) const;

  std::vector<Flow> steering_;  // by place
  std::vector<Flow> sniffers_;
};

}  // namespace mrc
