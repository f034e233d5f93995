// SPDX-License-Identifier: BSD-2-Clause
// Memory for tables that are looked into here and there: in huge pages where it is much, so that the
// processor still knows where they all are.
#pragma once

#include <cstddef>

namespace mrc::provider {

// For std::free(); null if there is none. It has been touched: that takes its time now, and none later.
void* zeroed_memory(size_t bytes);

}  // namespace mrc::provider
