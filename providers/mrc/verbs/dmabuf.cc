// SPDX-License-Identifier: BSD-2-Clause
// Regions over a dma-buf: the buffer is mapped for as long as the region lives. Buffers that no CPU may touch
// cannot be; nor can files that somebody may cut short under a copy.
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <memory>

#include "providers/mrc/verbs/fork_guard.h"
#include "providers/mrc/verbs/mr.h"
#include "providers/mrc/verbs/operations.h"
#include "providers/mrc/verbs/refuse.h"

namespace mrc::provider {
namespace {

constexpr long kDmaBufFileSystem = 0x444D4142;

// A buffer of a driver's, or the memory that udmabuf makes one of: a memfd that cannot shrink.
bool keeps_its_size(int fd) {
  struct statfs on {};
  if (fstatfs(fd, &on) == 0 && static_cast<long>(on.f_type) == kDmaBufFileSystem) return true;
  const int seals = fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
}

// Tells the buffer's driver that the CPU is going to use it, or has. Others do not know the request.
void announce_cpu(int fd, uint64_t phase) {
  dma_buf_sync sync{phase | DMA_BUF_SYNC_RW};
  while (ioctl(fd, DMA_BUF_IOCTL_SYNC, &sync) != 0 && (errno == EINTR || errno == EAGAIN)) {
  }
}

class DmaBufMapping {
 public:
  // 0 or an errno.
  int map(int fd, uint64_t offset, size_t bytes, bool writable) {
    const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    const uint64_t first = offset & ~(page - 1);
    bytes_ = static_cast<size_t>(offset - first) + bytes;
    fd_ = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (fd_ < 0) return errno;
    const int rights = writable ? PROT_READ | PROT_WRITE : PROT_READ;
    void* at = mmap(nullptr, bytes_, rights, MAP_SHARED, fd_, static_cast<off_t>(first));
    if (at == MAP_FAILED) return errno == ENODEV ? EOPNOTSUPP : errno;
    at_ = static_cast<uint8_t*>(at);
    inside_ = offset - first;
    announce_cpu(fd_, DMA_BUF_SYNC_START);
    return 0;
  }
  DmaBufMapping() = default;
  ~DmaBufMapping() {
    if (at_ != nullptr) {
      announce_cpu(fd_, DMA_BUF_SYNC_END);
      munmap(at_, bytes_);
    }
    if (fd_ >= 0) close(fd_);
  }
  DmaBufMapping(const DmaBufMapping&) = delete;
  DmaBufMapping& operator=(const DmaBufMapping&) = delete;
  uint8_t* data() const { return at_ + inside_; }

 private:
  int fd_ = -1;
  uint8_t* at_ = nullptr;
  size_t bytes_ = 0;
  uint64_t inside_ = 0;
};

}  // namespace

// --- verbs ---

ibv_mr* reg_dmabuf_mr(ibv_pd* pd, uint64_t offset, size_t bytes, uint64_t iova, int fd, int access) {
  if (forked_away()) return refuse(EPERM);
  if (const int error = check_access(access); error != 0) return refuse(error);
  if ((access & IBV_ACCESS_ON_DEMAND) != 0) return refuse(EOPNOTSUPP);
  if (bytes == 0 || offset + bytes < offset) return refuse(EINVAL);
  // As the kernel has it: what is one page to the peer is one page of the buffer.
  const auto in_page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) - 1;
  if (((offset ^ iova) & in_page) != 0) return refuse(EINVAL);
  if (fcntl(fd, F_GETFD) < 0) return refuse(EBADF);
  if (!keeps_its_size(fd)) return refuse(EINVAL);
  const off_t end = lseek(fd, 0, SEEK_END);
  if (end < 0 || offset + bytes > static_cast<uint64_t>(end)) return refuse(EINVAL);
  auto mapping = std::make_shared<DmaBufMapping>();
  if (const int error = mapping->map(fd, offset, bytes, (access & IBV_ACCESS_LOCAL_WRITE) != 0); error != 0)
    return refuse(error);
  auto mr = std::make_unique<Mr>();
  mr->iova = iova;
  mr->verbs.type = abi::RegionType::kDmabuf;
  mr->keeps = mapping;
  return enter_region(std::move(mr), pd, mapping->data(), bytes, access, nullptr);
}

}  // namespace mrc::provider
