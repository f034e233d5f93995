// SPDX-License-Identifier: BSD-2-Clause
// A shared receive queue: the engine's queue, and a lock for those who post.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cstdint>

#include "libmrc/work/shared_receive_queue.h"
#include "providers/mrc/verbs/spin_lock.h"

namespace mrc::provider {

class Context;
struct Cq;
struct Pd;
class Progress;
class Shard;
struct Xrcd;

struct Srq {
  ibv_srq verbs{};  // first: libibverbs knows only this
  Context* context;
  Pd* pd;
  SharedReceiveQueue queue;
  std::atomic<Shard*> shard{nullptr};  // of the queue pairs that draw from it; null: there was none yet
  SpinLock post_lock;                  // taken after the shard's lock
  std::atomic<unsigned> users{0};      // queue pairs
  // Of one that peers name:
  Xrcd* domain = nullptr;
  Cq* cq = nullptr;
  uint32_t number = 0;
  std::atomic<uint32_t> async_reported{0};  // asynchronous events on their way or read

  Srq(Context* context, Pd* pd, uint32_t entries, uint32_t segments);
  // Of whoever may draw from it.
  Progress& progress();
  static Srq* of(ibv_srq* queue) { return reinterpret_cast<Srq*>(queue); }
};

}  // namespace mrc::provider
