// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/verbs/zeroed_memory.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

namespace mrc::provider {

namespace {
constexpr size_t kHugePage = 2 << 20;
}

void* zeroed_memory(size_t bytes) {
  if (bytes < kHugePage / 2) return std::calloc(1, bytes);
  const size_t whole = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  void* memory = std::aligned_alloc(kHugePage, whole);
  if (memory == nullptr) return nullptr;
  // Where there are no such pages, or none of this size, others do, only slower.
  madvise(memory, whole, MADV_HUGEPAGE);
  std::memset(memory, 0, whole);
  return memory;
}

}  // namespace mrc::provider
