// SPDX-License-Identifier: BSD-2-Clause
// Which shared libraries this process has loaded.
#pragma once

namespace mrc {

// Some address in the loaded library whose file name contains `name`; nullptr: not loaded.
const void* find_loaded_library(const char* name);

}  // namespace mrc
