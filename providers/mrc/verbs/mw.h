// SPDX-License-Identifier: BSD-2-Clause
// A memory window: an entry of the engine's memory table that work requests bind to a part of a region.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "libmrc/memory/memory_table.h"

namespace mrc::provider {

class Context;
struct Pd;

struct Mw {
  ibv_mw verbs{};  // first: libibverbs knows only this
  Context* context = nullptr;
  Pd* pd = nullptr;

  static Mw* of(ibv_mw* window) { return reinterpret_cast<Mw*>(window); }
};

// What the verbs call a binding. 0 or an errno: it could never be done. `bytes` 0 unbinds.
int to_binding(const ibv_mw& window, uint32_t key, const ibv_mw_bind_info& wanted, WindowBinding* binding);

}  // namespace mrc::provider
