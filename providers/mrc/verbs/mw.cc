// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/verbs/mw.h"

#include <cerrno>
#include <cstdint>
#include <memory>
#include <new>

#include "providers/mrc/verbs/context.h"
#include "providers/mrc/verbs/fork_guard.h"
#include "providers/mrc/verbs/mr.h"
#include "providers/mrc/verbs/operations.h"
#include "providers/mrc/verbs/pd.h"

namespace mrc::provider {
namespace {

constexpr unsigned kRemoteAccess =
    IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
// Nobody uses a window locally, but programs say so and NICs take it.
constexpr unsigned kWindowAccessKnown = kRemoteAccess | IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE;

bool same_entry(uint32_t one_key, uint32_t other_key) {
  return one_key >> 8 == other_key >> 8;
}

}  // namespace

int to_binding(const ibv_mw& window, uint32_t key, const ibv_mw_bind_info& wanted, WindowBinding* binding) {
  if (!same_entry(window.rkey, key) || (wanted.mw_access_flags & ~kWindowAccessKnown) != 0) return EINVAL;
  binding->key = MemoryKey{key};
  if (wanted.length == 0) return 0;
  if (wanted.mr == nullptr) return EINVAL;
  // The rest is checked when the window is bound, for regions may go until then.
  binding->region = MemoryKey{wanted.mr->lkey};
  binding->address = wanted.addr;
  binding->bytes = wanted.length;
  binding->access = rights_of(static_cast<int>(wanted.mw_access_flags & kRemoteAccess));
  binding->zero_based = (wanted.mw_access_flags & IBV_ACCESS_ZERO_BASED) != 0;
  return 0;
}

// --- verbs ---

ibv_mw* alloc_mw(ibv_pd* pd, ibv_mw_type type) {
  int error = 0;
  if (forked_away())
    error = EPERM;
  else if (type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2)
    error = EINVAL;
  Context* context = Context::of(pd->context);
  if (error == 0) error = context->device().start();
  std::unique_ptr<Mw> window(error == 0 ? new (std::nothrow) Mw : nullptr);
  if (window == nullptr) {
    errno = error != 0 ? error : ENOMEM;
    return nullptr;
  }
  window->context = context;
  window->pd = Pd::of(pd);
  const MemoryKind kind = type == IBV_MW_TYPE_1 ? MemoryKind::kWindow : MemoryKind::kKeyedWindow;
  const MemoryKey key = context->device().memory().add_window(window->pd->domain, kind);
  if (key == MemoryKey{}) {
    errno = ENOMEM;
    return nullptr;
  }
  ++window->pd->users;
  window->verbs = {pd->context, pd, static_cast<uint32_t>(key), static_cast<uint32_t>(key), type};
  return &window.release()->verbs;
}

int dealloc_mw(ibv_mw* verbs) {
  if (forked_away()) return EPERM;
  Mw* window = Mw::of(verbs);
  // The tag of a window of type 2 is the application's, and it need not have told us.
  window->context->device().memory().remove_window(MemoryKey{verbs->handle});
  --window->pd->users;
  delete window;
  return 0;
}

// Type 1: the provider chooses the key, and the binding takes its turn in the send queue.
int bind_mw(ibv_qp* qp, ibv_mw* window, ibv_mw_bind* wanted) {
  if (window->type != IBV_MW_TYPE_1 || qp->pd != window->pd) return EINVAL;
  if (wanted->bind_info.length != 0 &&
      (wanted->bind_info.mr == nullptr || wanted->bind_info.mr->pd != window->pd))
    return EPERM;
  ibv_send_wr request{};
  request.wr_id = wanted->wr_id;
  request.opcode = IBV_WR_BIND_MW;
  request.send_flags = wanted->send_flags;
  request.bind_mw.mw = window;
  request.bind_mw.rkey = ibv_inc_rkey(window->rkey);
  request.bind_mw.bind_info = wanted->bind_info;
  ibv_send_wr* bad = nullptr;
  const int error = post_send(qp, &request, &bad);
  if (error == 0) window->rkey = request.bind_mw.rkey;
  return error;
}

}  // namespace mrc::provider
