// SPDX-License-Identifier: BSD-2-Clause
// What of the settings of ports, SRv6 and other hosts only shows when all of them are seen together.
#pragma once

#include <string>

#include "dpdk_io/settings/network_config.h"

namespace mrc {

// After all tables. Puts the ports in order of planes. False: `error` says where and what is wrong.
bool check_network(NetworkConfig* config, std::string* error);

}  // namespace mrc
