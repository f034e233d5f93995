// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/host/loaded_library.h"

#include <link.h>

#include <cstdint>
#include <cstring>
#include <span>

namespace mrc {

const void* find_loaded_library(const char* name) {
  struct Search {
    const char* name;
    const void* address;
  } search{name, nullptr};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* argument) -> int {
        auto* wanted = static_cast<Search*>(argument);
        const char* file = std::strrchr(info->dlpi_name, '/');
        if (std::strstr(file ? file : info->dlpi_name, wanted->name) == nullptr) return 0;
        for (const auto& header : std::span(info->dlpi_phdr, info->dlpi_phnum)) {
          if (header.p_type != PT_LOAD) continue;
          const uintptr_t start = info->dlpi_addr + header.p_vaddr;
          wanted->address = reinterpret_cast<const void*>(start);  // NOLINT(performance-no-int-to-ptr)
          return 1;
        }
        return 0;
      },
      &search);
  return search.address;
}

}  // namespace mrc
