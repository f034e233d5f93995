// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/engine/flow_table.h"

#include <algorithm>

namespace mrc {

void FlowTable::add(const Flow& flow) {
  if (flow.kind == FlowKind::kSniffer) {
    sniffers_.push_back(flow);
    return;
  }
  const auto behind =
      std::upper_bound(steering_.begin(), steering_.end(), flow,
                       [](const Flow& a, const Flow& b) { return place_of(a) < place_of(b); });
  steering_.insert(behind, flow);
}

void FlowTable::remove(uint64_t id) {
  const auto is_it = [id](const Flow& flow) { return flow.id == id; };
  std::erase_if(steering_, is_it);
  std::erase_if(sniffers_, is_it);
}

bool FlowTable::looks_at(const Flow& flow, const FlowView& view) {
  if (flow.kind == FlowKind::kMatching) return view.matches(flow.match);
  return flow.kind == FlowKind::kAllElse || view.to_many();
}

bool FlowTable::is_first_of_its_queue_pair(size_t index, const FlowView& view) const {
  for (size_t i = 0; i < index; ++i)
    if (steering_[i].qp == steering_[index].qp && looks_at(steering_[i], view)) return false;
  return true;
}

}  // namespace mrc
