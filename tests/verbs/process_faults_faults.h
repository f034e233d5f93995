// SPDX-License-Identifier: BSD-2-Clause
// The faults, by name. Each tries its one once, and leaves nothing behind.
#pragma once

#include <vector>

#include "tests/verbs/process_faults_lane.h"

namespace process_faults {

struct Fault {
  const char* name;
  void (*attempt)(Cycle& cycle);
  bool alone;  // it is one of the whole process: not several at once
};

const std::vector<Fault>& all_faults();

// What else this program is when it is started by itself.
int executed_child_main();

void attempt_kill(Cycle& cycle);
void attempt_stop(Cycle& cycle);
void attempt_fork(Cycle& cycle);
void attempt_cancel(Cycle& cycle);
void attempt_memory(Cycle& cycle);
void attempt_munmap(Cycle& cycle);
void attempt_deregister(Cycle& cycle);
void attempt_clock(Cycle& cycle);
// No fault at all: what is left over from others is cleared away by the next process.
void attempt_nothing(Cycle& cycle);

}  // namespace process_faults
