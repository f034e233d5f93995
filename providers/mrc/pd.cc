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
  delete pd;
  return 0;
}

}  // namespace mrc::provider
