// SPDX-License-Identifier: BSD-2-Clause
// MRC_DEBUG is set: what is otherwise swallowed goes to the terminal.
#pragma once

#include <cstdlib>
#include <cstring>

namespace mrc {

inline bool debugging() {
  const char* value = secure_getenv("MRC_DEBUG");
  return value != nullptr && *value != '\0' && std::strcmp(value, "0") != 0;
}

}  // namespace mrc
