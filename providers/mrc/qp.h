// SPDX-License-Identifier: BSD-2-Clause
// A queue pair: the engine's queue pair, locks for those who post, and the attributes as the application set
// them.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>

#include "libmrc/qp/queue_pair.h"
#include "providers/mrc/provider_abi.h"
#include "providers/mrc/spin_lock.h"

namespace mrc::provider {

class Context;
struct Cq;
struct Pd;
struct Srq;

struct Qp {
  abi::QueuePair verbs{};  // first: libibverbs knows only this
  Context* context = nullptr;
  Pd* pd = nullptr;
  Cq* send_cq = nullptr;
  Cq* receive_cq = nullptr;
  Srq* srq = nullptr;  // may be none
  QueuePair* transport = nullptr;

  SpinLock send_lock;  // both taken before the device's lock
  SpinLock receive_lock;

  // Between ibv_wr_start() and ibv_wr_complete() or ibv_wr_abort(); under send_lock, which these hold.
  SendRequest* building = nullptr;  // the last one begun
  uint32_t built = 0;
  int build_error = 0;

  ibv_qp_cap capacity{};
  bool signal_all = false;
  ibv_qp_attr attributes{};                 // under the device's lock
  std::atomic<uint32_t> async_reported{0};  // asynchronous events on their way or read

  static Qp* of(ibv_qp* qp) { return reinterpret_cast<Qp*>(qp); }
  static Qp* of(ibv_qp_ex* qp) { return reinterpret_cast<Qp*>(qp); }
};

}  // namespace mrc::provider
