// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/qp/services.h"

#include <algorithm>

namespace mrc {

void CompletionSink::forget(CompletionQueue* queue) {
  std::erase(touched_, queue);
  std::erase(overrun_, queue);
}

}  // namespace mrc
