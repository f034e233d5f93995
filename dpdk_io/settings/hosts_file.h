// SPDX-License-Identifier: BSD-2-Clause
// The file that `hosts_file` of the settings names: [srv6], [[host]] and [[hosts]], the same for all hosts of
// a network. Running processes read it again when it has changed.
#pragma once

#include <string>

#include "dpdk_io/settings/network_config.h"

namespace mrc {

// Adds what the file says to what the settings themselves say, and checks all of it. False: `error` says
// file, line and what is wrong; `network` is then not to be used, but for its stamp.
bool read_hosts_file(NetworkConfig* network, std::string* error);

// Whether the file is another one than `network` was made of.
bool hosts_file_changed(const NetworkConfig& network);

// Reads it again. False, and `network` as before: `error` says what is wrong.
bool reread_hosts_file(NetworkConfig* network, std::string* error);

}  // namespace mrc
