// SPDX-License-Identifier: BSD-2-Clause
// Asks a running process what its device does: in words, or as JSON.
#pragma once

#include <cstdint>
#include <string>

namespace mrc {

enum class StateForm { kWords, kJson };

// False: it does not answer; it has ended, is stopped, or a thread of it has kept the device to itself for
// seconds.
bool ask_for_state(const std::string& run_directory, uint32_t slot, StateForm form, std::string* text);

}  // namespace mrc
