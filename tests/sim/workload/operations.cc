// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/workload/operations.h"

#include <sstream>

namespace mrc::sim {

bool parse_operations(const std::string& text, OperationSet* out) {
  *out = 0;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    bool known = false;
    for (size_t i = 0; i < kOperations.size(); ++i) {
      if (word != "all" && word != kOperations[i].name) continue;
      *out |= 1u << i;
      known = true;
    }
    if (!known) return false;
  }
  return *out != 0;
}

}  // namespace mrc::sim
