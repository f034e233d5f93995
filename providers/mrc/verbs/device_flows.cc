// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/verbs/device_flows.h"

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <new>

#include "providers/mrc/verbs/cq.h"
#include "providers/mrc/verbs/device.h"
#include "providers/mrc/verbs/progress.h"
#include "providers/mrc/verbs/qp.h"
#include "providers/mrc/verbs/shard.h"

namespace mrc::provider {

int DeviceFlows::add(Qp* qp, Flow flow, uint64_t* id) {
  const std::lock_guard lock(device_.settle_mutex_);
  flow.id = *id = ++ids_;
  flow.qp = qp->transport;
  flow.home = &qp->shard->engine();
  const Known made{flow, qp};
  if (made.steers() && !any_steers())
    if (const int error = device_.ports().hear_raw_frames(true); error != 0)
      return error == ENOSPC ? ENOMEM : error;
  try {
    known_.push_back(made);
    for (unsigned i = 0; i < shards_of(made); ++i) {
      device_.settle_locked(*qp->receive_cq, device_.shard(i));
      Progress::Control control(device_.shard(i).progress());
      device_.shard(i).engine().add_flow(flow);
    }
  } catch (const std::bad_alloc&) {
    remove_locked(flow.id);
    return ENOMEM;
  }
  ++qp->flows;
  return 0;
}

void DeviceFlows::remove(uint64_t id) {
  const std::lock_guard lock(device_.settle_mutex_);
  const auto found =
      std::find_if(known_.begin(), known_.end(), [=](auto& known) { return known.flow.id == id; });
  if (found == known_.end()) return;
  --found->qp->flows;
  remove_locked(id);
}

void DeviceFlows::remove_all_to(const Qp* qp) {
  const std::lock_guard lock(device_.settle_mutex_);
  std::vector<uint64_t> ids;
  for (const Known& known : known_)
    if (known.qp == qp) ids.push_back(known.flow.id);
  for (const uint64_t id : ids) remove_locked(id);
}

void DeviceFlows::remove_locked(uint64_t id) {
  for (unsigned i = 0; i < device_.shards(); ++i) {
    Progress::Control control(device_.shard(i).progress());
    device_.shard(i).engine().remove_flow(id);
  }
  const auto found =
      std::find_if(known_.begin(), known_.end(), [=](auto& known) { return known.flow.id == id; });
  if (found == known_.end()) return;
  const bool steered = found->steers();
  known_.erase(found);
  if (steered && !any_steers()) device_.ports().hear_raw_frames(false);
}

unsigned DeviceFlows::shards_of(const Known& known) const {
  return known.steers() ? 1 : device_.shards();
}

bool DeviceFlows::any_steers() const {
  return std::any_of(known_.begin(), known_.end(), [](const Known& known) { return known.steers(); });
}

void DeviceFlows::enter(Shard& shard) noexcept {
  for (const Known& known : known_) {
    if (known.steers()) continue;
    device_.settle_locked(*known.qp->receive_cq, shard);
    Progress::Control control(shard.progress());
    try {
      shard.engine().add_flow(known.flow);
    } catch (const std::bad_alloc&) {
      return;  // what comes by this shard is not heard
    }
  }
}

}  // namespace mrc::provider
