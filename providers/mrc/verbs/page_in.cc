// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/verbs/page_in.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>

#include "providers/mrc/presence/address.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

namespace mrc::provider {
namespace {

// Whether the process's map says that all of [first, end) may be read, and written if asked.
bool mapped(uintptr_t first, uintptr_t end, bool writable) {
  std::FILE* map = std::fopen("/proc/self/maps", "re");
  if (map == nullptr) return true;  // nobody can say
  char line[512];
  while (first < end && std::fgets(line, sizeof line, map) != nullptr) {
    unsigned long from = 0;
    unsigned long to = 0;
    char rights[5] = "";
    // The rest of a line with a very long name does not look like one.
    if (std::sscanf(line, "%lx-%lx %4s ", &from, &to, rights) != 3 || to <= first) continue;
    if (from > first || rights[0] != 'r' || (writable && rights[1] != 'w')) break;
    first = to;
  }
  std::fclose(map);
  return first >= end;
}

}  // namespace

int page_in(void* address, size_t bytes, bool writable) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t first = reinterpret_cast<uintptr_t>(address) & ~(page - 1);
  if (reinterpret_cast<uintptr_t>(address) + bytes > UINTPTR_MAX - page) return EFAULT;
  const uintptr_t end = (reinterpret_cast<uintptr_t>(address) + bytes + page - 1) & ~(page - 1);
  void* pages = pointer_at(first);
  while (madvise(pages, end - first, writable ? MADV_POPULATE_WRITE : MADV_POPULATE_READ) != 0) {
    if (errno == EINTR || errno == EAGAIN) continue;
    // Says a kernel before 5.14, and any other about a device's memory and about missing rights.
    if (errno == EINVAL && mapped(first, end, writable)) return 0;
    return EFAULT;
  }
  return 0;
}

}  // namespace mrc::provider
