// SPDX-License-Identifier: BSD-2-Clause
// mrc_lab status.
#pragma once

#include "examples/lab/state.h"

namespace mrc::lab {

// 0: the lab is up.
int show_status(const State& state, bool as_json, bool all);

}  // namespace mrc::lab
