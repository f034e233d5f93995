// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/fault_page.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace mrc {

FaultPage* map_fault_page(const std::string& run_directory, std::string* error) {
  const std::string path = run_directory + "/" + FaultPage::kFileName;
  const auto fail = [&](const std::string& why) -> FaultPage* {
    *error = "mrc: " + path + ": " + why + "; remove the file and try again";
    return nullptr;
  };
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return fail(std::strerror(errno));
  // Processes may make it at the same time: growing is harmless, shrinking never happens, zero means no
  // fault.
  struct stat status;
  if (fstat(fd, &status) != 0 ||
      (status.st_size < static_cast<off_t>(sizeof(FaultPage)) && ftruncate(fd, sizeof(FaultPage)) != 0)) {
    const int why = errno;
    close(fd);
    return fail(std::strerror(why));
  }
  void* mapped = mmap(nullptr, sizeof(FaultPage), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  const int why = errno;
  close(fd);
  if (mapped == MAP_FAILED) return fail(std::strerror(why));
  auto* page = static_cast<FaultPage*>(mapped);
  uint32_t magic = 0;
  if (!page->magic.compare_exchange_strong(magic, FaultPage::kMagic) && magic != FaultPage::kMagic) {
    munmap(mapped, sizeof(FaultPage));
    return fail("is not a page of faults");
  }
  return page;
}

void unmap_fault_page(FaultPage* page) {
  if (page != nullptr) munmap(page, sizeof(FaultPage));
}

}  // namespace mrc
