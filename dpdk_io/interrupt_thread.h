// SPDX-License-Identifier: BSD-2-Clause
// Runs a function in EAL's interrupt thread. DPDK's memif driver changes its links there, without locks;
// whoever creates, stops or removes a link must do it in the same thread.
#pragma once

#include <functional>

namespace mrc {

// Waits until `work` is done. False: it could not be handed over, and was not run.
bool run_in_interrupt_thread(const std::function<void()>& work);

}  // namespace mrc
