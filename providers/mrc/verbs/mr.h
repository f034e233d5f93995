// SPDX-License-Identifier: BSD-2-Clause
// A memory region: one entry of the engine's memory table.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>

#include "libmrc/memory/memory_table.h"
#include "providers/mrc/verbs/provider_abi.h"

namespace mrc::provider {

class Context;
struct Pd;

struct Mr {
  abi::MemoryRegion verbs{};  // first: libibverbs knows only this
  Context* context = nullptr;
  Pd* pd = nullptr;
  MemoryKey key{};
  uint64_t iova = 0;
  std::shared_ptr<void> keeps;                    // what must live as long as the region
  std::optional<std::list<Mr*>::iterator> place;  // in its context's list; an imported one is not there

  static Mr* of(abi::MemoryRegion* region) { return reinterpret_cast<Mr*>(region); }
};

// 0 or an errno: whether a region may have these access flags.
int check_access(int access);

// Enters a region that was checked: `place` is where its memory is, `shown` what the ibv_mr says. Null: errno
// is set.
ibv_mr* enter_region(std::unique_ptr<Mr> mr, ibv_pd* pd, void* place, size_t bytes, int access, void* shown);

// What the access flags of verbs are to the engine.
uint8_t rights_of(int access);

}  // namespace mrc::provider
