// SPDX-License-Identifier: BSD-2-Clause
// The attributes of ibv_modify_qp(): which of them each transition needs and allows, and what they mean to
// the engine.
#pragma once

#include <infiniband/verbs.h>

#include "dpdk_io/settings/device_config.h"
#include "libmrc/qp/queue_pair.h"

namespace mrc::provider {

QueuePairState to_engine(ibv_qp_state state);
ibv_qp_state to_verbs(QueuePairState state);

// Whether the transition is one of this type's, and the mask has all that it needs and nothing that it does
// not take. As the kernel checks it for every device.
bool transition_allowed(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to, int mask);

// 0 or an errno: an attribute is out of range, or names something that the device does not have. May throw
// bad_alloc.
int to_engine(const DeviceConfig& device, const ibv_qp_attr& from, int mask, QueuePairAttributes* to);

// Copies the attributes of the mask, for ibv_query_qp().
void remember(const ibv_qp_attr& from, int mask, ibv_qp_attr* to);

}  // namespace mrc::provider
