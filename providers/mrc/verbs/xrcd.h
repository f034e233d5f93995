// SPDX-License-Identifier: BSD-2-Clause
// A domain of extended reliable connections: the shared receive queues that peers may name, and the queue
// pairs by which they reach them. All who opened the same file share one, within the process.
#pragma once

#include <infiniband/verbs.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "libmrc/work/xrc_domain.h"

namespace mrc::provider {

struct Qp;

struct SharedXrcd {
  // Both under the shard's lock.
  XrcDomain queues;
  std::map<uint32_t, Qp*> targets;  // by number
};

struct Xrcd {
  ibv_xrcd verbs{};  // first: libibverbs knows only this
  std::shared_ptr<SharedXrcd> shared;
  std::optional<std::pair<dev_t, ino_t>> file;
  std::atomic<unsigned> users{0};  // made by this name

  static Xrcd* of(ibv_xrcd* domain) { return reinterpret_cast<Xrcd*>(domain); }
};

}  // namespace mrc::provider
