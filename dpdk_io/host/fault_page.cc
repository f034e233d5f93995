// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/host/fault_page.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "dpdk_io/host/private_file.h"

namespace mrc {

FaultPage* map_fault_page(const std::string& run_directory, std::string* error) {
  const std::string path = run_directory + "/" + FaultPage::kFileName;
  const auto fail = [&](const std::string& why, const char* cure) -> FaultPage* {
    *error = "mrc: " + path + ": " + why + "; " + cure;
    return nullptr;
  };
  static constexpr char kRemove[] = "remove the file and try again";
  static constexpr char kMakeRoom[] =
      "make room, or set MRC_RUNDIR to a directory of your own on another disk";
  std::string wrong;
  const int fd = open_private_file(path, O_RDWR | O_CREAT, &wrong);
  if (fd < 0) return fail(wrong, errno == ENOSPC || errno == EDQUOT ? kMakeRoom : kRemove);
  // Processes may make it at the same time: growing is harmless, shrinking never happens, zero means no
  // fault. What is in the file stays.
  if (!allocate_file(fd, sizeof(FaultPage))) {
    const int why = errno;
    close(fd);
    return fail(std::strerror(why), kMakeRoom);
  }
  void* mapped = mmap(nullptr, sizeof(FaultPage), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  const int why = errno;
  close(fd);
  if (mapped == MAP_FAILED) return fail(std::strerror(why), "try again");
  auto* page = static_cast<FaultPage*>(mapped);
  uint32_t magic = 0;
  if (!page->magic.compare_exchange_strong(magic, FaultPage::kMagic) && magic != FaultPage::kMagic) {
    munmap(mapped, sizeof(FaultPage));
    return fail("is not a page of faults", kRemove);
  }
  return page;
}

void unmap_fault_page(FaultPage* page) {
  if (page != nullptr) munmap(page, sizeof(FaultPage));
}

}  // namespace mrc
