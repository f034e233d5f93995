// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/ethdev/new_descriptors.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

namespace mrc {
namespace {

constexpr char kDirectory[] = "/proc/self/fd";

std::set<int> open_descriptors() {
  std::set<int> open;
  DIR* directory = opendir(kDirectory);
  if (directory == nullptr) return open;
  while (const dirent* entry = readdir(directory)) {  // NOLINT(concurrency-mt-unsafe): of this thread's own
    char* end = nullptr;
    const long number = std::strtol(entry->d_name, &end, 10);
    if (end != entry->d_name && number != dirfd(directory)) open.insert(static_cast<int>(number));
  }
  closedir(directory);
  return open;
}

// A memfd says that it is a file, but it has no link to it anywhere.
bool is_file(int fd) {
  struct stat status {};
  return fstat(fd, &status) == 0 &&
         (S_ISDIR(status.st_mode) || (S_ISREG(status.st_mode) && status.st_nlink > 0));
}

}  // namespace

NewDescriptors::NewDescriptors() : before_(open_descriptors()) {}

void NewDescriptors::close_on_exec() const {
  for (const int fd : open_descriptors())
    if (!before_.contains(fd) && !is_file(fd)) fcntl(fd, F_SETFD, FD_CLOEXEC);
}

}  // namespace mrc
