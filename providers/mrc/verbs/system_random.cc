// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/verbs/system_random.h"

#include <sys/random.h>

#include <cerrno>

namespace mrc::provider {
namespace {

// Waits only in the first moments of a machine's life.
bool ask_system(void* to, size_t bytes) {
  ssize_t given;
  do {
    given = getrandom(to, bytes, 0);
  } while (given < 0 && errno == EINTR);
  return given == static_cast<ssize_t>(bytes);
}

}  // namespace

SystemRandom::SystemRandom() {
  uint64_t key[2] = {};
  ready_ = ask_system(key, sizeof key);
  spare_ = KeyedHash(key[0], key[1]);
}

uint64_t SystemRandom::next() {
  uint64_t number;
  return ask_system(&number, sizeof number) ? number : spare_(spared_++);
}

}  // namespace mrc::provider
