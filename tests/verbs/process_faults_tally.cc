// SPDX-License-Identifier: BSD-2-Clause
#include "tests/verbs/process_faults_tally.h"

#include <cinttypes>
#include <cstdio>

namespace process_faults {

void Tally::print() const {
  std::printf("completions:");
  for (size_t operation = 0; operation < kOperations; ++operation) {
    const char* before = "";
    for (size_t status = 0; status < kStatuses; ++status) {
      const uint64_t count = at(operation, status);
      if (count == 0) continue;
      if (*before == '\0') std::printf("  %s", kOperationNames[operation]);
      std::printf("%s %" PRIu64 " %s", before, count,
                  status == IBV_WC_SUCCESS ? "ok" : ibv_wc_status_str(static_cast<ibv_wc_status>(status)));
      before = ",";
    }
  }
  std::printf("\n");
}

}  // namespace process_faults
