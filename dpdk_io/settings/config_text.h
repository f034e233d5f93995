// SPDX-License-Identifier: BSD-2-Clause
// How the readers of the settings name places and values in their errors, and the values they all read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dpdk_io/settings/toml.h"
#include "libmrc/wire/identifiers.h"

namespace mrc::config_text {

// "mrc: FILE:LINE: "
std::string at(const std::string& file, const toml::source_region& where);
std::string quoted(std::string_view text);

// Nothing: not of the type, or outside of its limits.
std::optional<int64_t> number(const toml::node& node, int64_t least, int64_t most);
std::optional<IpAddress> address(const toml::node& node);
std::optional<MacAddress> mac_address(const toml::node& node);

}  // namespace mrc::config_text
