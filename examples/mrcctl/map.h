// SPDX-License-Identifier: BSD-2-Clause
// mrcctl map: which links and switches of the fabric are bad.
#pragma once

#include <string>
#include <vector>

#include "examples/mrcctl/open_device.h"

namespace mrc {

// The status for the shell when something is bad.
inline constexpr int kFoundBad = 3;

// As with check_ev_words().
int check_map_words(const std::vector<std::string>& words);
int map_command(OpenDevice& device, const std::vector<std::string>& words);

// Whether the words ask for no device: they join what several hosts have found.
bool joins_maps(const std::vector<std::string>& words);
int join_maps(const std::string& device_name, const std::vector<std::string>& words);

}  // namespace mrc
