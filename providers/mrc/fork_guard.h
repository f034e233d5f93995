// SPDX-License-Identifier: BSD-2-Clause
// A child of fork() shares the parent's packet buffers but has none of its threads: it must not touch the
// device. Every entry point of the provider asks here first.
#pragma once

namespace mrc::provider {

extern bool g_forked_away;  // set in the child before it runs anything else

inline bool forked_away() {
  return g_forked_away;
}

void install_fork_guard();  // call it before anything can be shared; further calls do nothing

}  // namespace mrc::provider
