// SPDX-License-Identifier: BSD-2-Clause
// A queue pair: the engine's queue pair, locks for those who post, and the attributes as the application set
// them.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "include/mrc/mrcdv.h"
#include "libmrc/qp/queue_pair.h"
#include "providers/mrc/verbs/post_stream.h"
#include "providers/mrc/verbs/provider_abi.h"
#include "providers/mrc/verbs/spin_lock.h"

namespace mrc::provider {

class Context;
struct Cq;
struct Pd;
class Shard;
struct Srq;
struct Xrcd;

struct Qp {
  abi::QueuePair verbs{};  // first: libibverbs knows only this
  Context* context = nullptr;
  Pd* pd = nullptr;
  Cq* send_cq = nullptr;
  Cq* receive_cq = nullptr;
  Srq* srq = nullptr;  // may be none
  // Of the half of an extended connection that is sent to; it has none of the above.
  Xrcd* domain = nullptr;
  std::unique_ptr<CompletionQueue> no_completions;
  std::atomic<unsigned> names{1};  // who has made or opened it
  Shard* shard = nullptr;          // where it lives
  QueuePair* transport = nullptr;

  SpinLock send_lock;  // both taken before the shard's lock
  SpinLock receive_lock;

  PostStream stream;

  // Between ibv_wr_start() and ibv_wr_complete() or ibv_wr_abort(); under send_lock, which these hold.
  SendRequest* building = nullptr;  // the last one begun
  uint32_t built = 0;
  int build_error = 0;

  std::atomic<unsigned> flows{0};  // that lead to it

  ibv_qp_cap capacity{};
  bool signal_all = false;
  ibv_qp_attr attributes{};  // under the shard's lock, and the next
  uint64_t paths_id = 0;     // the profiles that it names, and their places if it uses them
  uint64_t congestion_id = 0;
  std::optional<uint32_t> paths_place;
  std::optional<uint32_t> congestion_place;
  std::optional<mrcdv_qp_attr> chosen;      // as attributes, by mrcdv.h; none: nothing was chosen
  std::atomic<uint32_t> async_reported{0};  // asynchronous events on their way or read

  static Qp* of(ibv_qp* qp) { return reinterpret_cast<Qp*>(qp); }
  static Qp* of(ibv_qp_ex* qp) { return reinterpret_cast<Qp*>(qp); }
};

}  // namespace mrc::provider
