// SPDX-License-Identifier: BSD-2-Clause
// Calls of verbs that can be made to fail on purpose: around the function, before it is called.
#pragma once

#include <infiniband/verbs.h>

#include <cerrno>
#include <type_traits>

#include "libmrc/fault/fault_rule.h"
#include "providers/mrc/verbs/context.h"

namespace mrc::provider {

inline ibv_context* context_of(ibv_context* context) {
  return context;
}
template <typename Object>
ibv_context* context_of(Object* object) {
  return object->context;
}

template <auto Function, FaultCall kCall>
struct CanFail;

template <typename Result, typename First, typename... Rest, Result (*Function)(First, Rest...),
          FaultCall kCall>
struct CanFail<Function, kCall> {
  static Result call(First first, Rest... rest) {
    DeviceFaults& faults = Context::of(context_of(first))->device().faults();
    faults.open();
    if (const int error = faults.on_call(kCall); error != 0) [[unlikely]] {
      errno = error;
      if constexpr (std::is_pointer_v<Result>)
        return nullptr;
      else
        return error;
    }
    return Function(first, rest...);
  }
};

template <auto Function, FaultCall kCall>
inline constexpr auto can_fail = &CanFail<Function, kCall>::call;

}  // namespace mrc::provider
