// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/verbs/fork_guard.h"

#include <pthread.h>

#include <atomic>

namespace mrc::provider {

bool g_forked_away = false;

namespace {
std::atomic<int> g_holders{0};
}

void guard_from_forks() {
  static const int installed =
      pthread_atfork(nullptr, nullptr, [] { g_forked_away = g_forked_away || g_holders.load() > 0; });
  static_cast<void>(installed);
  ++g_holders;
}

void let_forks_go() {
  --g_holders;
}

}  // namespace mrc::provider
