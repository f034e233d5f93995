// SPDX-License-Identifier: BSD-2-Clause
// mrc_sim soak: many seeds, shared out to processes.
#pragma once

namespace mrc::sim {

extern const char* const kSoakUsage;
// Arguments behind "soak". The exit status: 0 all passed, 1 some failed, 2 wrong usage.
int soak_main(int count, char** words);

}  // namespace mrc::sim
