// SPDX-License-Identifier: BSD-2-Clause
// A protection domain: a number that memory regions and queue pairs must have in common.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>

#include "libmrc/memory/memory_table.h"

namespace mrc::provider {

struct Pd {
  ibv_pd verbs{};  // first: libibverbs knows only this
  ProtectionDomain domain{};
  std::atomic<unsigned> users{0};  // memory regions and queue pairs

  static Pd* of(ibv_pd* pd) { return reinterpret_cast<Pd*>(pd); }
};

}  // namespace mrc::provider
