// SPDX-License-Identifier: BSD-2-Clause
// Every key of the settings file: what it may be, and where it goes. (Networks and faults have readers of
// their own.)
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "dpdk_io/settings/device_config.h"
#include "dpdk_io/settings/toml.h"

namespace mrc {

// One key. Each is also in docs/settings.md.
struct Setting {
  std::string_view table;
  std::string_view key;
  std::string wanted;  // "must be ..."
  std::function<bool(const toml::node&, DeviceConfig*)> set;
};

// By table.
const std::vector<Setting>& settings();
// Those of a table, for people; empty: there is no such table.
std::string known_keys(std::string_view table);

inline constexpr const char* kTransportsWanted = "mrc, mrc-strict or rc";
// Also a word of the environment. False: there is no such transport.
bool read_transport(std::string_view name, DeviceConfig* config);

}  // namespace mrc
