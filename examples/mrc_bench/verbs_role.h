// SPDX-License-Identifier: BSD-2-Clause
// What mrc_bench measures in one process with verbs: threads, many queue pairs, set-ups, regions, an idle
// device.
#pragma once

namespace mrc::bench {

// --role threads THREADS PAIRS BYTES SECONDS      messages per second of all threads
// --role setups SECONDS                           queue pairs made, connected to themselves and destroyed,
// per second
// --role pairs COUNT                              bytes of memory that a connected, idle queue pair takes
// --role regions COUNT                            registrations per second beside that many regions
// --role lookups COUNT SECONDS                    messages per second by 1,000 out of that many regions
// Prints the number. -1: there is no such role.
int run_verbs_role(int count, char** words);

}  // namespace mrc::bench
