// SPDX-License-Identifier: BSD-2-Clause
// Contexts, domains, regions and device memory under a second name.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "objects.h"

namespace conformance {
namespace {

Owned<ibv_context> import_device() {
  struct stat file {};
  CHECK_EQ(fstat(device()->cmd_fd, &file), 0);
  if (!S_ISCHR(file.st_mode))
    throw Skip("libibverbs imports device files only, and this is none (MRC_CMDFD)");
  const int fd = fcntl(device()->cmd_fd, F_DUPFD_CLOEXEC, 0);
  CHECK(fd >= 0);
  ibv_context* context = ibv_import_device(fd);
  if (context == nullptr) close(fd);
  return own(context, "ibv_import_device");
}

// A pair whose sides were made in the domain that the application imported.
struct Imported {
  Owned<ibv_context> context = import_device();
  Owned<ibv_pd> first = make_pd();
  ibv_pd* pd = ibv_import_pd(context, first->handle);
  ~Imported() {
    if (pd != nullptr) ibv_unimport_pd(pd);
  }
};

// WRITE of the first bytes of one region to another, by a new pair of queue pairs in the domain.
ibv_wc_status write_between(ibv_pd* pd, const Memory& from, uint64_t address, uint32_t key, uint32_t bytes) {
  Owned<ibv_cq> cq = make_cq();
  Owned<ibv_qp> a = make_qp(pd, qp_wanted(cq, cq));
  Owned<ibv_qp> b = make_qp(pd, qp_wanted(cq, cq));
  bring_to(a, IBV_QPS_RTS, b->qp_num);
  bring_to(b, IBV_QPS_RTS, a->qp_num);
  CHECK_OK(Request(IBV_WR_RDMA_WRITE, 3).piece(from, 0, bytes).remote(address, key).post(a));
  return await(cq).status;
}

}  // namespace

CASE("import.device") {
  Owned<ibv_context> context = import_device();
  CHECK(std::strcmp(context->device->name, "mrc0") == 0);
  CHECK(context->async_fd >= 0 && context->async_fd != device()->async_fd);
  ibv_port_attr port;
  CHECK_OK(ibv_query_port(context, 1, &port));
  CHECK_EQ(context->num_comp_vectors, device()->num_comp_vectors);
}

CASE("import.device_works_as_any_other") {
  Owned<ibv_context> context = import_device();
  Pair pair({.context = context});
  CHECK_OK(
      Request(IBV_WR_RDMA_WRITE, 1).piece(pair.a.memory, 0, 1000).remote(pair.b.memory, 0).post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
}

CASE("import.device_has_events_of_its_own") {
  Owned<ibv_context> context = import_device();
  Pair pair({.with_srq = true, .context = context});
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  CHECK_OK(ibv_modify_qp(pair.a.qp, &attributes, IBV_QP_STATE));
  await_async(context, IBV_EVENT_QP_LAST_WQE_REACHED);
}

CASE("import.device_of_something_else") {
  const int fd = open("/dev/zero", O_RDWR | O_CLOEXEC);
  CHECK(fd >= 0);
  ibv_context* context = ibv_import_device(fd);
  CHECK(context == nullptr);
  close(fd);
}

CASE("import.domain") {
  Imported both;
  CHECK(both.pd != nullptr);
  CHECK(both.pd->context == both.context.get());
  CHECK_EQ(both.pd->handle, both.first->handle);
  Memory here(both.first, 4096);
  Memory there(both.pd, 4096);
  here.fill(kSeedA);
  CHECK_EQ(write_between(both.pd, here, there.address(), there.mr->rkey, 100), IBV_WC_SUCCESS);
  CHECK(there.has(kSeedA, 0, 100, 0));
}

CASE("import.domain_is_busy_by_all_its_names") {
  Imported both;
  Memory memory(both.pd, 4096);
  CHECK_ERROR(ibv_dealloc_pd(both.first), EBUSY);
}

CASE("import.domain_ends_by_any_of_its_names") {
  Imported both;
  CHECK_OK(ibv_dealloc_pd(std::exchange(both.pd, nullptr)));
  CHECK_REFUSED(ibv_import_pd(both.context, both.first->handle), EINVAL, ENOENT);
  ibv_unimport_pd(both.first.release());
}

CASE("import.domain_that_never_was") {
  CHECK_REFUSED(ibv_import_pd(device(), 0xFFFFFFF0), EINVAL, ENOENT);
}

CASE("import.region") {
  Imported both;
  Memory memory(both.first, 4096);
  Memory from(both.first, 4096);
  from.fill(kSeedB);
  ibv_mr* region = ibv_import_mr(both.pd, memory.mr->handle);
  CHECK(region != nullptr);
  CHECK_EQ(region->lkey, memory.mr->lkey);
  CHECK_EQ(region->rkey, memory.mr->rkey);
  CHECK(region->addr == nullptr);
  CHECK_EQ(write_between(both.pd, from, memory.address(), region->rkey, 100), IBV_WC_SUCCESS);
  CHECK(memory.has(kSeedB, 0, 100, 0));
  ibv_unimport_mr(region);
  CHECK_EQ(write_between(both.pd, from, memory.address(), memory.mr->rkey, 100), IBV_WC_SUCCESS);
}

CASE("import.region_ends_by_any_of_its_names") {
  Imported both;
  Memory memory(both.first, 4096);
  Memory from(both.first, 4096);
  ibv_mr* region = ibv_import_mr(both.pd, memory.mr->handle);
  CHECK(region != nullptr);
  CHECK_OK(ibv_dereg_mr(region));
  CHECK_EQ(write_between(both.pd, from, memory.address(), memory.mr->rkey, 8), IBV_WC_REM_ACCESS_ERR);
  ibv_unimport_mr(memory.mr.release());
}

CASE("import.region_of_another_domain") {
  Imported both;
  Owned<ibv_pd> other = make_pd();
  Memory memory(other, 4096);
  CHECK_REFUSED(ibv_import_mr(both.pd, memory.mr->handle), EINVAL, ENOENT);
  CHECK_REFUSED(ibv_import_mr(both.pd, memory.mr->handle ^ 1), EINVAL, ENOENT);
}

CASE("import.device_memory") {
  Owned<ibv_context> context = import_device();
  ibv_alloc_dm_attr wanted{4096, 0, 0};
  Owned<ibv_dm> first = own(ibv_alloc_dm(device(), &wanted), "ibv_alloc_dm");
  CHECK((first->comp_mask & IBV_DM_MASK_HANDLE) != 0);
  ibv_dm* second = ibv_import_dm(context, first->handle);
  CHECK(second != nullptr);
  CHECK(second->context == context.get());
  CHECK_OK(ibv_memcpy_to_dm(second, 10, "hello", 6));
  char seen[6];
  CHECK_OK(ibv_memcpy_from_dm(seen, first, 10, 6));
  CHECK(std::memcmp(seen, "hello", 6) == 0);
  ibv_unimport_dm(second);
  CHECK_OK(ibv_memcpy_from_dm(seen, first, 10, 6));
  CHECK_REFUSED(ibv_import_dm(context, 0xFFFFFFF0), EINVAL, ENOENT);
}

}  // namespace conformance
