// SPDX-License-Identifier: BSD-2-Clause
// Who calls a verb is C: an exception must not pass through it. Want of memory becomes what C understands,
// and a thread that is cancelled meanwhile ends when it is out of here again.
#pragma once

#include <cerrno>
#include <new>
#include <type_traits>

#include "dpdk_io/host/cancellation.h"

namespace mrc::provider {

// The same function for C. A null pointer with errno set, or ENOMEM, when memory ran out.
template <auto Function>
struct ForC;

template <typename Result, typename... Arguments, Result (*Function)(Arguments...)>
struct ForC<Function> {
  static Result call(Arguments... arguments) noexcept {
    const WithoutCancellation whole;
    try {
      return Function(arguments...);
    } catch (const std::bad_alloc&) {
      errno = ENOMEM;
      if constexpr (std::is_pointer_v<Result>)
        return nullptr;
      else if constexpr (!std::is_void_v<Result>)
        return ENOMEM;
    }
  }
};

template <auto Function>
inline constexpr auto for_c = &ForC<Function>::call;

}  // namespace mrc::provider
