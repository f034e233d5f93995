// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/host/import_redirect.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <span>

namespace mrc {
namespace {

#if defined(__aarch64__)
constexpr unsigned kJumpSlot = R_AARCH64_JUMP_SLOT;
constexpr unsigned kGlobalData = R_AARCH64_GLOB_DAT;
#elif defined(__x86_64__)
constexpr unsigned kJumpSlot = R_X86_64_JUMP_SLOT;
constexpr unsigned kGlobalData = R_X86_64_GLOB_DAT;
#else
#error "relocation types of this machine are not known"
#endif

// What the dynamic section of a library says about its imports.
struct Imports {
  uintptr_t base = 0;
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  std::span<const ElfW(Rela)> calls;  // JUMP_SLOT
  std::span<const ElfW(Rela)> data;   // GLOB_DAT among others
};

bool read_imports(const void* address, Imports* imports) {
  Dl_info info;
  link_map* map = nullptr;
  if (dladdr1(address, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0 || map == nullptr)
    return false;
  imports->base = map->l_addr;
  // glibc has turned the addresses in the dynamic section into absolute ones.
  const void *calls = nullptr, *data = nullptr;
  size_t calls_bytes = 0, data_bytes = 0;
  for (const ElfW(Dyn)* entry = map->l_ld; entry->d_tag != DT_NULL; ++entry) {
    const auto* pointer =
        reinterpret_cast<const void*>(entry->d_un.d_ptr);  // NOLINT(performance-no-int-to-ptr)
    switch (entry->d_tag) {
      case DT_SYMTAB:
        imports->symbols = static_cast<const ElfW(Sym)*>(pointer);
        break;
      case DT_STRTAB:
        imports->names = static_cast<const char*>(pointer);
        break;
      case DT_JMPREL:
        calls = pointer;
        break;
      case DT_PLTRELSZ:
        calls_bytes = entry->d_un.d_val;
        break;
      case DT_RELA:
        data = pointer;
        break;
      case DT_RELASZ:
        data_bytes = entry->d_un.d_val;
        break;
      default:
        break;
    }
  }
  const auto span_of = [](const void* first, size_t bytes) {
    return std::span(static_cast<const ElfW(Rela)*>(first), first ? bytes / sizeof(ElfW(Rela)) : 0);
  };
  imports->calls = span_of(calls, calls_bytes);
  imports->data = span_of(data, data_bytes);
  return imports->symbols != nullptr && imports->names != nullptr;
}

struct Range {
  uintptr_t base = 0;
  uintptr_t first = 0;
  uintptr_t end = 0;
};

// The pages that the loader has made read-only after relocation; all other slots are writable.
Range relro_pages(uintptr_t base) {
  Range range;
  range.base = base;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* argument) -> int {
        auto* found = static_cast<Range*>(argument);
        if (info->dlpi_addr != found->base) return 0;
        const uintptr_t mask = ~(static_cast<uintptr_t>(sysconf(_SC_PAGESIZE)) - 1);
        for (const auto& header : std::span(info->dlpi_phdr, info->dlpi_phnum)) {
          if (header.p_type != PT_GNU_RELRO) continue;
          const uintptr_t first = info->dlpi_addr + header.p_vaddr;
          found->first = first & mask;
          found->end = (first + header.p_memsz) & mask;
        }
        return 1;
      },
      &range);
  return range;
}

int write_slot(uintptr_t slot, void* replacement, const Range& read_only) {
  const auto page_bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  void* page = reinterpret_cast<void*>(slot & ~(page_bytes - 1));  // NOLINT(performance-no-int-to-ptr)
  const bool locked = slot >= read_only.first && slot < read_only.end;
  if (locked && mprotect(page, page_bytes, PROT_READ | PROT_WRITE) != 0) return -errno;
  auto** const import = reinterpret_cast<void**>(slot);  // NOLINT(performance-no-int-to-ptr)
  __atomic_store_n(import, replacement, __ATOMIC_RELEASE);
  if (locked) mprotect(page, page_bytes, PROT_READ);
  return 0;
}

}  // namespace

int redirect_import(const void* address_in_library, const char* symbol, void* replacement) {
  static std::mutex mutex;  // two slots may share a page that is writable for a moment
  std::lock_guard lock(mutex);
  Imports imports;
  if (!read_imports(address_in_library, &imports)) return -ENOENT;
  const Range read_only = relro_pages(imports.base);
  int rewritten = 0;
  for (const auto& relocations : {imports.calls, imports.data}) {
    for (const ElfW(Rela) & relocation : relocations) {
      const unsigned type = ELF64_R_TYPE(relocation.r_info);
      if (type != kJumpSlot && type != kGlobalData) continue;
      const ElfW(Sym)& imported = imports.symbols[ELF64_R_SYM(relocation.r_info)];
      if (std::strcmp(imports.names + imported.st_name, symbol) != 0) continue;
      const int result = write_slot(imports.base + relocation.r_offset, replacement, read_only);
      if (result != 0) return result;
      ++rewritten;
    }
  }
  return rewritten;
}

}  // namespace mrc
