// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/pd.h"

#include <cerrno>
#include <new>

#include "providers/mrc/fork_guard.h"
#include "providers/mrc/operations.h"

namespace mrc::provider {

ibv_pd* alloc_pd(ibv_context*) {
  if (forked_away()) {
    errno = EPERM;
    return nullptr;
  }
  // Never used again within the process, so a stale region can never match a new queue pair.
  static std::atomic<uint32_t> next{1};
  auto* pd = new (std::nothrow) Pd;
  if (pd == nullptr) {
    errno = ENOMEM;
    return nullptr;
  }
  pd->domain = ProtectionDomain{next.fetch_add(1)};
  pd->verbs.handle = static_cast<uint32_t>(pd->domain);
  return &pd->verbs;
}

int dealloc_pd(ibv_pd* verbs) {
  if (forked_away()) return EPERM;
  Pd* pd = Pd::of(verbs);
  if (pd->users.load() != 0) return EBUSY;
  if (pd->parent != nullptr) --pd->parent->users;
  if (pd->thread_domain != nullptr) --Td::of(pd->thread_domain)->users;
  delete pd;
  return 0;
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
