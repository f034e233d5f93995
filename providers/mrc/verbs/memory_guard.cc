// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/verbs/memory_guard.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "providers/mrc/presence/address.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

namespace mrc::provider {
namespace {

std::atomic<MemoryGuard*> g_guards{nullptr};
struct sigaction g_before;
uintptr_t g_page = 4096;

// What the application would have got.
void pass_on(int signal, siginfo_t* info, void* context) {
  if ((g_before.sa_flags & SA_SIGINFO) != 0) return g_before.sa_sigaction(signal, info, context);
  if (g_before.sa_handler != SIG_DFL && g_before.sa_handler != SIG_IGN) return g_before.sa_handler(signal);
  // The instruction is repeated when we return, and then the process ends as it should.
  struct sigaction ends {};
  ends.sa_handler = SIG_DFL;
  sigaction(signal, &ends, nullptr);
}

}  // namespace

void MemoryGuard::on_fault(int signal, void* info, void* context) {
  auto* told = static_cast<siginfo_t*>(info);
  const int error = errno;
  bool ours = false;
  if (told->si_code == SEGV_MAPERR)
    for (MemoryGuard* guard = g_guards.load(std::memory_order_acquire); guard != nullptr && !ours;
         guard = guard->next_)
      ours = guard->thread_.load(std::memory_order_relaxed) == self() && guard->lend(told->si_addr);
  errno = error;
  if (!ours) pass_on(signal, told, context);
}

// In the signal handler, and the thread is in the middle of a copy: the table stands still.
bool MemoryGuard::lend(void* address) {
  if (lent_count_ == kLentMax || !memory_->lose(address)) return false;
  void* page = pointer_at(reinterpret_cast<uintptr_t>(address) & ~(g_page - 1));
  void* mapped =
      mmap(page, g_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (mapped == MAP_FAILED) return errno == EEXIST;  // somebody else has just mapped it
  if (mapped != page) {                              // a kernel that does not know the flag
    munmap(mapped, g_page);
    return false;
  }
  lent_[lent_count_++] = page;
  return true;
}

void MemoryGuard::take_back() {
  while (lent_count_ > 0) munmap(lent_[--lent_count_], g_page);
}

void MemoryGuard::watch() {
  for (const MemoryGuard* guard = g_guards.load(); guard != nullptr; guard = guard->next_)
    if (guard == this) return;
  g_page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  next_ = g_guards.load();
  const bool first = next_ == nullptr;
  g_guards.store(this, std::memory_order_release);
  if (!first) return;
  struct sigaction wanted {};
  wanted.sa_sigaction = [](int signal, siginfo_t* info, void* context) { on_fault(signal, info, context); };
  // A copy that meets several pages that are gone faults several times.
  wanted.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigaction(SIGSEGV, &wanted, &g_before);
}

}  // namespace mrc::provider
