// SPDX-License-Identifier: BSD-2-Clause
// What an application says that a flow is, as the engine understands it.
#pragma once

#include <infiniband/verbs.h>

#include "libmrc/engine/flow_table.h"

namespace mrc::provider {

// 0; EINVAL: it is no flow; EOPNOTSUPP: it is one that this device does not have.
int to_flow(const ibv_flow_attr& from, Flow* to);

}  // namespace mrc::provider
