// SPDX-License-Identifier: BSD-2-Clause
// How a verb that would have made an object says that it did not.
#pragma once

#include <cerrno>
#include <cstddef>

namespace mrc::provider {

inline std::nullptr_t refuse(int error) {
  errno = error;
  return nullptr;
}

}  // namespace mrc::provider
