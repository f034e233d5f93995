// SPDX-License-Identifier: BSD-2-Clause
// A memory region: one entry of the engine's memory table.
#pragma once

#include <infiniband/verbs.h>

#include "libmrc/memory/memory_table.h"
#include "providers/mrc/provider_abi.h"

namespace mrc::provider {

class Context;
struct Pd;

struct Mr {
  abi::MemoryRegion verbs{};  // first: libibverbs knows only this
  Context* context = nullptr;
  Pd* pd = nullptr;
  MemoryKey key{};
  uint64_t iova = 0;

  static Mr* of(abi::MemoryRegion* region) { return reinterpret_cast<Mr*>(region); }
};

// What the access flags of verbs are to the engine.
uint8_t rights_of(int access);

}  // namespace mrc::provider
