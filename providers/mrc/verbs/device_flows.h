// SPDX-License-Identifier: BSD-2-Clause
// The flows of a device. Its queue pairs of raw packets live in the first shard, and so do the flows that
// steer frames to them; sniffers are known to all shards, and each hands its frames to them.
#pragma once

#include <cstdint>
#include <vector>

#include "libmrc/engine/flow_table.h"

namespace mrc::provider {

class Device;
struct Qp;
class Shard;

// Takes the locks of the shards, one after the other: none may be held by the caller.
class DeviceFlows {
 public:
  explicit DeviceFlows(Device& device) : device_(device) {}
  DeviceFlows(const DeviceFlows&) = delete;
  DeviceFlows& operator=(const DeviceFlows&) = delete;

  // A flow to the queue pair; its id, queue pair and home are filled in here. 0 or an errno.
  int add(Qp* qp, Flow flow, uint64_t* id);
  // Nobody hands anything over by it any more when it is gone.
  void remove(uint64_t id);
  void remove_all_to(const Qp* qp);

  // One more shard gets what the others have. Called by Device, which keeps everybody else out.
  void enter(Shard& shard) noexcept;

 private:
  struct Known {
    Flow flow;
    Qp* qp;
    bool steers() const { return flow.kind != FlowKind::kSniffer; }
  };
  // How many shards have it, from the first on.
  unsigned shards_of(const Known& known) const;
  void remove_locked(uint64_t id);
  bool any_steers() const;

  Device& device_;
  std::vector<Known> known_;  // under Device's mutex for settling
  uint64_t ids_ = 0;
};

}  // namespace mrc::provider
