// SPDX-License-Identifier: BSD-2-Clause
// mrcctl ev, cc and port: what a controller has told the device, and telling it something else.
#pragma once

#include <string>
#include <vector>

#include "examples/mrcctl/fabric_names.h"
#include "examples/mrcctl/open_device.h"

namespace mrc {

// The words behind "ev", "cc" and "port" are looked at before the device is opened: 0, or the status for the
// shell, and standard error was told.
int check_ev_words(const std::vector<std::string>& words);
int check_cc_words(const std::vector<std::string>& words);
int check_port_words(const std::vector<std::string>& words);

// They return the status for the shell.
int ev_command(OpenDevice& device, const std::vector<std::string>& words);
int cc_command(OpenDevice& device, const std::vector<std::string>& words);
int port_command(OpenDevice& device, const std::vector<std::string>& words);

// The names that the settings have for the fabric. False: standard error was told.
bool load_names(const DeviceConfig& settings, FabricNames* names);

// Makes `links` the denied ones. 0 or an errno.
int deny_links(OpenDevice& device, mrcdv_links_op op, const std::vector<FabricLink>& links);
std::vector<FabricLink> denied_links(OpenDevice& device);

}  // namespace mrc
