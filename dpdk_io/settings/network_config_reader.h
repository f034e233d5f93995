// SPDX-License-Identifier: BSD-2-Clause
// Reads the tables [[port]], [srv6], [[host]] and [[hosts]] of the settings.
#pragma once

#include <string>
#include <string_view>

#include "dpdk_io/settings/network_config.h"
#include "dpdk_io/settings/toml.h"

namespace mrc {

inline constexpr std::string_view kNetworkTables = "[[port]], [srv6], [[host]], [[hosts]]";

bool is_network_table(std::string_view name);

// One of the tables. False: `error` says file, line, key and what is wanted.
bool read_network_table(const toml::key& name, const toml::node& node, const std::string& file,
                        NetworkConfig* config, std::string* error);

}  // namespace mrc
