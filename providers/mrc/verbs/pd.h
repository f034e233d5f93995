// SPDX-License-Identifier: BSD-2-Clause
// A protection domain: a number that memory regions and queue pairs must have in common.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <memory>
#include <utility>

#include "libmrc/memory/memory_table.h"

namespace mrc::provider {

// What all names of a protection domain have in common.
struct SharedPd {
  std::atomic<unsigned> users{0};
};

struct Pd {
  ibv_pd verbs{};  // first: libibverbs knows only this
  std::shared_ptr<SharedPd> shared;
  std::atomic<unsigned>& users;  // everything that was made in it
  ProtectionDomain domain{};
  Pd* parent = nullptr;  // of a parent domain: the one it stands for
  ibv_td* thread_domain = nullptr;

  explicit Pd(std::shared_ptr<SharedPd> with = std::make_shared<SharedPd>())
      : shared(std::move(with)), users(shared->users) {}
  static Pd* of(ibv_pd* pd) { return reinterpret_cast<Pd*>(pd); }
};

// A thread domain promises that its objects are used by one thread at a time. The locks that this would save
// are never contended then, so nothing is done about it.
struct Td {
  ibv_td verbs{};  // first: libibverbs knows only this
  std::atomic<unsigned> users{0};

  static Td* of(ibv_td* domain) { return reinterpret_cast<Td*>(domain); }
};

}  // namespace mrc::provider
