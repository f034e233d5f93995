// SPDX-License-Identifier: BSD-2-Clause
// How a thread that moves frames asks the scheduler to be let in soon.
#pragma once

namespace mrc {

// A short slice lets the calling thread preempt those who spin for whole slices. All else stays as the
// application has it, and a refusal only costs latency.
void ask_for_short_slices();

}  // namespace mrc
