// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/link/arena.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

// Linux 5.1; the C library's headers may be older.
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

namespace mrc {
namespace {

// Nobody can make it smaller under those who have mapped it.
constexpr int kSealed = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

// MADV_DONTFORK: a child must not write into its parent's frames.
void* map_shared(int fd, size_t bytes, int protection) {
  void* memory = mmap(nullptr, bytes, protection, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return nullptr;
  madvise(memory, bytes, MADV_DONTFORK);
  return memory;
}

// A file without a name, of which pages exist as they are touched.
void* create_shared(const char* name, size_t bytes, int more_seals, int* fd) {
  *fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (*fd < 0 || ftruncate(*fd, static_cast<off_t>(bytes)) != 0) return nullptr;
  void* memory = map_shared(*fd, bytes, PROT_READ | PROT_WRITE);
  if (memory == nullptr || fcntl(*fd, F_ADD_SEALS, kSealed | more_seals) == 0) return memory;
  const int error = errno;
  munmap(memory, bytes);
  errno = error;
  return nullptr;
}

bool is_sealed(int fd, size_t bytes, int seals) {
  struct stat about {};
  const int found = fcntl(fd, F_GET_SEALS);
  return found >= 0 && (found & seals) == seals && fstat(fd, &about) == 0 &&
         about.st_size == static_cast<off_t>(bytes);
}

void unmap_shared(const void* memory, size_t bytes) {
  if (memory != nullptr) munmap(const_cast<void*>(memory), bytes);
}

}  // namespace

bool OwnMemory::create(std::string* error) {
  arena = static_cast<Arena*>(create_shared("mrc-arena", sizeof(Arena), F_SEAL_FUTURE_WRITE, &arena_fd));
  if (arena != nullptr) bells = static_cast<Bells*>(create_shared("mrc-bells", sizeof(Bells), 0, &bells_fd));
  if (bells != nullptr) return true;
  *error = std::string("mrc: no shared memory for links to other processes: ") + std::strerror(errno) +
           "; raise the limits of memory and open files (ulimit -v, ulimit -n), and use Linux 5.1 or newer";
  return false;
}

OwnMemory::~OwnMemory() {
  unmap_shared(arena, sizeof(Arena));
  unmap_shared(bells, sizeof(Bells));
  if (arena_fd >= 0) close(arena_fd);
  if (bells_fd >= 0) close(bells_fd);
}

bool PeerMemory::map(int arena_fd, int bells_fd, uint32_t slot, uint64_t incarnation) {
  if (!is_sealed(arena_fd, sizeof(Arena), F_SEAL_SHRINK) ||
      !is_sealed(bells_fd, sizeof(Bells), F_SEAL_SHRINK))
    return false;
  arena = static_cast<const Arena*>(map_shared(arena_fd, sizeof(Arena), PROT_READ));
  bells = static_cast<Bells*>(map_shared(bells_fd, sizeof(Bells), PROT_READ | PROT_WRITE));
  if (arena != nullptr && bells != nullptr) {
    const Arena::Header header = arena->header;
    if (header.magic == Arena::kMagic && header.version == Arena::kVersion && header.slot == slot &&
        header.incarnation == incarnation)
      return true;
  }
  unmap();
  return false;
}

void PeerMemory::unmap() {
  unmap_shared(arena, sizeof(Arena));
  unmap_shared(bells, sizeof(Bells));
  arena = nullptr;
  bells = nullptr;
}

}  // namespace mrc
