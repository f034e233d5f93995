// SPDX-License-Identifier: BSD-2-Clause
// mrcctl probe: asks a peer by each path, or by a given one, and tells the round trip or the loss.
#pragma once

#include <string>
#include <vector>

#include "examples/mrcctl/open_device.h"

namespace mrc {

// As with check_ev_words().
int check_probe_words(const std::vector<std::string>& words);
int probe_command(OpenDevice& device, const std::vector<std::string>& words);

}  // namespace mrc
