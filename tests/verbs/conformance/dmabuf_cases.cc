// SPDX-License-Identifier: BSD-2-Clause
// Regions over dma-bufs: of /dev/udmabuf where there is one, and always of a memfd that cannot shrink.
#include <fcntl.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "objects.h"

namespace conformance {
namespace {

class File {
 public:
  explicit File(int fd) : fd_(fd) { CHECK(fd >= 0); }
  ~File() { close(fd_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  operator int() const { return fd_; }

 private:
  int fd_;
};

constexpr size_t kBufferBytes = 64 << 10;

int make_memfd(bool sealed = true) {
  const int fd = memfd_create("conformance", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  CHECK(fd >= 0);
  CHECK_EQ(ftruncate(fd, kBufferBytes), 0);
  if (sealed) CHECK_EQ(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
  return fd;
}

class View {
 public:
  explicit View(int fd)
      : data_(static_cast<uint8_t*>(mmap(nullptr, kBufferBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0))) {
    CHECK(data_ != MAP_FAILED);
  }
  ~View() { munmap(data_, kBufferBytes); }
  View(const View&) = delete;
  View& operator=(const View&) = delete;
  uint8_t* data() const { return data_; }

 private:
  uint8_t* data_;
};

void write_to_buffer(int fd, const View& view) {
  Pair pair;
  constexpr uint64_t kIova = 0x7000;
  Owned<ibv_mr> mr = own(ibv_reg_dmabuf_mr(pair.pd, 4096, 16384, kIova, fd, kAllAccess), "ibv_reg_dmabuf_mr");
  CHECK_EQ(mr->length, 16384);
  CHECK_OK(Request(IBV_WR_RDMA_WRITE, 1)
               .piece(pair.a.memory, 0, 5000)
               .remote(kIova + 100, mr->rkey)
               .post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
  CHECK(std::memcmp(view.data() + 4096 + 100, pair.a.memory.data(), 5000) == 0);
  CHECK_OK(Request(IBV_WR_SEND, 2).piece({kIova + 100, 5000, mr->lkey}).post(pair.a.qp));
  CHECK_OK(post_receive(pair.b.qp, 3, {pair.b.memory.piece(0, 8192)}));
  await(pair.b.receive_cq, 3, IBV_WC_SUCCESS);
  CHECK(std::memcmp(pair.b.memory.data(), pair.a.memory.data(), 5000) == 0);
  await(pair.a.send_cq, 2, IBV_WC_SUCCESS);
  CHECK_OK(Request(IBV_WR_RDMA_WRITE, 4)
               .piece(pair.a.memory, 0, 8)
               .remote(kIova + 16384, mr->rkey)
               .post(pair.a.qp));
  await(pair.a.send_cq, 4, IBV_WC_REM_ACCESS_ERR);
}

}  // namespace

CASE("dmabuf.udmabuf") {
  const int control = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
  if (control < 0) throw Skip("there is no /dev/udmabuf, or it is not ours");
  File device_file(control);
  File memory(make_memfd());
  udmabuf_create wanted{};
  wanted.memfd = static_cast<uint32_t>(static_cast<int>(memory));
  wanted.flags = UDMABUF_FLAGS_CLOEXEC;
  wanted.size = kBufferBytes;
  File buffer(ioctl(device_file, UDMABUF_CREATE, &wanted));
  write_to_buffer(buffer, View(memory));
}

CASE("dmabuf.memory_that_cannot_shrink") {
  File memory(make_memfd());
  write_to_buffer(memory, View(memory));
}

CASE("dmabuf.outlives_the_file") {
  Pair pair;
  Owned<ibv_mr> mr;
  {
    File memory(make_memfd());
    mr = own(ibv_reg_dmabuf_mr(pair.pd, 0, 4096, 0, memory, kAllAccess), "ibv_reg_dmabuf_mr");
  }
  CHECK_OK(Request(IBV_WR_RDMA_WRITE, 1).piece(pair.a.memory, 0, 100).remote(0, mr->rkey).post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
}

CASE("dmabuf.read_only") {
  File memory(make_memfd());
  Pair pair;
  Owned<ibv_mr> mr =
      own(ibv_reg_dmabuf_mr(pair.pd, 0, 4096, 0, memory, IBV_ACCESS_REMOTE_READ), "ibv_reg_dmabuf_mr");
  CHECK_OK(Request(IBV_WR_RDMA_READ, 1).piece(pair.a.memory, 0, 100).remote(0, mr->rkey).post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
  CHECK(pair.a.memory.all(0, 0, 100));
  CHECK_OK(Request(IBV_WR_RDMA_WRITE, 2).piece(pair.a.memory, 0, 8).remote(0, mr->rkey).post(pair.a.qp));
  await(pair.a.send_cq, 2, IBV_WC_REM_ACCESS_ERR);
}

CASE("dmabuf.beyond_its_end") {
  Owned<ibv_pd> pd = make_pd();
  File memory(make_memfd());
  CHECK_REFUSED(ibv_reg_dmabuf_mr(pd, 0, kBufferBytes + 1, 0, memory, kAllAccess), EINVAL);
  CHECK_REFUSED(ibv_reg_dmabuf_mr(pd, kBufferBytes, 1, 0, memory, kAllAccess), EINVAL);
  CHECK_REFUSED(ibv_reg_dmabuf_mr(pd, UINT64_MAX - 4095, 8192, 0, memory, kAllAccess), EINVAL);
  CHECK_REFUSED(ibv_reg_dmabuf_mr(pd, 0, 0, 0, memory, kAllAccess), EINVAL);
}

CASE("dmabuf.pages_must_agree") {
  Owned<ibv_pd> pd = make_pd();
  File memory(make_memfd());
  CHECK_REFUSED(ibv_reg_dmabuf_mr(pd, 100, 100, 0, memory, kAllAccess), EINVAL);
  Owned<ibv_mr> mr = own(ibv_reg_dmabuf_mr(pd, 100, 100, 100, memory, kAllAccess), "ibv_reg_dmabuf_mr");
}

CASE("dmabuf.what_is_none") {
  Owned<ibv_pd> pd = make_pd();
  File memory(make_memfd(false));  // somebody could cut it short
  CHECK_REFUSED(ibv_reg_dmabuf_mr(pd, 0, 4096, 0, memory, kAllAccess), EINVAL);
  File zero(open("/dev/zero", O_RDWR | O_CLOEXEC));
  CHECK_REFUSED(ibv_reg_dmabuf_mr(pd, 0, 4096, 0, zero, kAllAccess), EINVAL);
  CHECK_REFUSED(ibv_reg_dmabuf_mr(pd, 0, 4096, 0, -1, kAllAccess), EBADF);
  CHECK_REFUSED(ibv_reg_dmabuf_mr(pd, 0, 4096, 0, 1 << 20, kAllAccess), EBADF);
}

CASE("dmabuf.bad_access") {
  Owned<ibv_pd> pd = make_pd();
  File memory(make_memfd());
  CHECK_REFUSED(ibv_reg_dmabuf_mr(pd, 0, 4096, 0, memory, IBV_ACCESS_REMOTE_WRITE), EINVAL);
  CHECK_REFUSED(ibv_reg_dmabuf_mr(pd, 0, 4096, 0, memory, kAllAccess | IBV_ACCESS_ON_DEMAND), EOPNOTSUPP);
}

}  // namespace conformance
