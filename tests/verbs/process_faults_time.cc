// SPDX-License-Identifier: BSD-2-Clause
// The time of day jumps by hours, in both processes: nothing depends on it, least of all the end of one that
// leaves with everything open.
#include "tests/verbs/process_faults_clock.h"
#include "tests/verbs/process_faults_faults.h"

namespace process_faults {

void attempt_clock(Cycle& cycle) {
  Session session(cycle);
  session.connect(patient_terms(cycle), true);
  for (uint64_t jumps = cycle.random.between(3, 10); jumps > 0; --jumps) {
    jump_clock(static_cast<long>(cycle.random.between(0, 200'000)) - 100'000);
    session.run(cycle.random_time(microseconds(5000)));
  }
  const bool ends = cycle.chance(50);
  if (ends) session.end();
  session.dismiss(ends && cycle.chance(50));
  jump_clock(0);
}

}  // namespace process_faults
