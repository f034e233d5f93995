// SPDX-License-Identifier: BSD-2-Clause
// mrcctl fault: rules by which programs of this user make things go wrong on purpose.
#pragma once

#include <string>

#include "dpdk_io/host/fault_page.h"

namespace mrc {

// add KIND [FIELD=VALUE]..., list [--json], remove ID, clear. The status for the shell.
int fault_command(FaultPage& page, const std::string& run_directory, int count, char** words);

}  // namespace mrc
