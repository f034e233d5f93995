// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/fork_guard.h"

#include <pthread.h>

namespace mrc::provider {

bool g_forked_away = false;

void install_fork_guard() {
  static const int installed = pthread_atfork(nullptr, nullptr, [] { g_forked_away = true; });
  static_cast<void>(installed);
}

}  // namespace mrc::provider
