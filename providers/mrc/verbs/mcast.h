// SPDX-License-Identifier: BSD-2-Clause
// Multicast groups of queue pairs that go without having left them.
#pragma once

namespace mrc::provider {

struct Qp;

bool in_any_group(Qp* qp);
void leave_all_groups(Qp* qp);

}  // namespace mrc::provider
