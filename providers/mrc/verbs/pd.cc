// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/verbs/pd.h"

#include <cerrno>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "providers/mrc/verbs/fork_guard.h"
#include "providers/mrc/verbs/operations.h"
#include "providers/mrc/verbs/refuse.h"
#include "providers/mrc/verbs/shared_objects.h"

namespace mrc::provider {

ibv_pd* alloc_pd(ibv_context*) {
  if (forked_away()) {
    errno = EPERM;
    return nullptr;
  }
  // Never used again within the process, so a stale region can never match a new queue pair.
  static std::atomic<uint32_t> next{1};
  auto pd = std::make_unique<Pd>();
  pd->domain = ProtectionDomain{next.fetch_add(1)};
  pd->verbs.handle = static_cast<uint32_t>(pd->domain);
  shared_objects<SharedPd>().add(pd->verbs.handle, pd->shared);
  return &pd.release()->verbs;
}

int dealloc_pd(ibv_pd* verbs) {
  if (forked_away()) return EPERM;
  Pd* pd = Pd::of(verbs);
  if (pd->users.load() != 0) return EBUSY;
  if (pd->parent != nullptr)
    --pd->parent->users;
  else
    shared_objects<SharedPd>().remove(verbs->handle);
  if (pd->thread_domain != nullptr) --Td::of(pd->thread_domain)->users;
  delete pd;
  return 0;
}

ibv_pd* import_pd(ibv_context* context, uint32_t handle) {
  if (forked_away()) return refuse(EPERM);
  std::shared_ptr<SharedPd> shared = shared_objects<SharedPd>().find(handle);
  if (shared == nullptr) return refuse(EINVAL);
  auto pd = std::make_unique<Pd>(std::move(shared));
  pd->domain = ProtectionDomain{handle};
  pd->verbs.context = context;
  pd->verbs.handle = handle;
  return &pd.release()->verbs;
}

// The domain itself stays. If there is still something in it, that may know it by this name.
void unimport_pd(ibv_pd* verbs) {
  Pd* pd = Pd::of(verbs);
  if (!forked_away() && pd->users.load() == 0) delete pd;
}

ibv_td* alloc_td(ibv_context* context, ibv_td_init_attr* wanted) {
  int error = 0;
  if (forked_away())
    error = EPERM;
  else if (wanted->comp_mask != 0)
    error = EINVAL;
  Td* domain = error == 0 ? new (std::nothrow) Td : nullptr;
  if (domain == nullptr) {
    errno = error != 0 ? error : ENOMEM;
    return nullptr;
  }
  domain->verbs.context = context;
  return &domain->verbs;
}

int dealloc_td(ibv_td* verbs) {
  if (forked_away()) return EPERM;
  Td* domain = Td::of(verbs);
  if (domain->users.load() != 0) return EBUSY;
  delete domain;
  return 0;
}

// Another name for a protection domain. We allocate nothing that the application's allocator could be used
// for.
ibv_pd* alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr* wanted) {
  constexpr uint32_t kMasksKnown =
      IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
  int error = 0;
  if (forked_away())
    error = EPERM;
  else if (wanted->pd == nullptr || (wanted->comp_mask & ~kMasksKnown) != 0)
    error = EINVAL;
  Pd* pd = error == 0 ? new (std::nothrow) Pd : nullptr;
  if (pd == nullptr) {
    errno = error != 0 ? error : ENOMEM;
    return nullptr;
  }
  pd->parent = Pd::of(wanted->pd);
  pd->domain = pd->parent->domain;
  pd->thread_domain = wanted->td;
  ++pd->parent->users;
  if (pd->thread_domain != nullptr) ++Td::of(pd->thread_domain)->users;
  pd->verbs.context = context;
  pd->verbs.handle = static_cast<uint32_t>(pd->domain);
  return &pd->verbs;
}

}  // namespace mrc::provider
