// SPDX-License-Identifier: BSD-2-Clause
// A child of fork() has its parent's devices without their threads and memory: it must not touch one that its
// parent had open. Every entry point of the provider asks here first. Who has closed what it had keeps its
// children from nothing, unless DPDK was started.
#pragma once

namespace mrc::provider {

extern bool g_forked_away;  // set in the child before it runs anything else

inline bool forked_away() {
  return g_forked_away;
}

// From now on, and until as many let go, a child of fork() is locked out. What never ends (DPDK, the thread
// of rdma_cm) keeps it so for good.
void guard_from_forks();
void let_forks_go();

}  // namespace mrc::provider
