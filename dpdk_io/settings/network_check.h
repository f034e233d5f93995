// SPDX-License-Identifier: BSD-2-Clause
// What of the settings of ports, SRv6 and other hosts only shows when all of them are seen together.
#pragma once

#include <string>

#include "dpdk_io/settings/network_config.h"

namespace mrc {

// After all tables of the settings. Puts the ports in order of planes. What concerns other hosts is left to
// check_hosts where more of it is in a file. False: `error` says where and what is wrong.
bool check_network(NetworkConfig* config, std::string* error);

// SRv6 and other hosts, after check_network and after the file of hosts.
bool check_hosts(NetworkConfig* config, std::string* error);

}  // namespace mrc
