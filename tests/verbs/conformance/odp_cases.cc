// SPDX-License-Identifier: BSD-2-Clause
// Memory on demand: regions whose pages come and go, and the one that is all memory.
#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "objects.h"

namespace conformance {
namespace {

constexpr int kOnDemandAccess = kAllAccess | IBV_ACCESS_ON_DEMAND;
constexpr size_t kPage = 4096;

// Three pages between two that nobody has, wherever page sizes are larger too.
class Borrowed {
 public:
  Borrowed() {
    // Far from where the kernel puts what has no wish: while it is not mapped nobody else must get this place
    // (AddressSanitizer did), for map_again() would take it away.
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    void* const apart = reinterpret_cast<void*>(uintptr_t{1} << 46);
    data_ = static_cast<uint8_t*>(
        mmap(apart, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (data_ == MAP_FAILED) throw Failure("mmap");
  }
  ~Borrowed() { munmap(data_, kBytes); }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;

  uint8_t* data() const { return data_; }
  uint64_t address(size_t offset = 0) const { return reinterpret_cast<uintptr_t>(data_) + offset; }
  void unmap() { munmap(data_, kBytes); }
  void map_again() {
    if (mmap(data_, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != data_)
      throw Failure("mmap");
  }
  void protect(int protection) {
    if (mprotect(data_, kBytes, protection) != 0) throw Failure("mprotect");
  }

  static constexpr size_t kBytes = 256 << 10;

 private:
  uint8_t* data_;
};

Owned<ibv_mr> all_memory(ibv_pd* pd, int access = kOnDemandAccess) {
  return own(ibv_reg_mr(pd, nullptr, SIZE_MAX, access), "ibv_reg_mr of all memory");
}

ibv_odp_caps odp_caps() {
  ibv_device_attr_ex extended;
  CHECK_OK(ibv_query_device_ex(device(), nullptr, &extended));
  return extended.odp_caps;
}

void write_to(Pair& pair, uint64_t address, uint32_t key, uint32_t bytes, ibv_wc_status status) {
  CHECK_OK(Request(IBV_WR_RDMA_WRITE, 1).piece(pair.a.memory, 0, bytes).remote(address, key).post(pair.a.qp));
  await(pair.a.send_cq, 1, status);
}

int advise(ibv_pd* pd, const ibv_sge& piece, ibv_advise_mr_advice advice = IBV_ADVISE_MR_ADVICE_PREFETCH,
           uint32_t flags = 0) {
  ibv_sge one = piece;
  return ibv_advise_mr(pd, advice, flags, &one, 1);
}

}  // namespace

CASE("odp.device_says_so") {
  const ibv_odp_caps caps = odp_caps();
  CHECK_EQ(caps.general_caps, IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT);
  CHECK_EQ(caps.per_transport_caps.rc_odp_caps, IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV |
                                                    IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ |
                                                    IBV_ODP_SUPPORT_ATOMIC | IBV_ODP_SUPPORT_SRQ_RECV);
}

CASE("odp.registration_touches_nothing") {
  Owned<ibv_pd> pd = make_pd();
  Borrowed pages;
  Owned<ibv_mr> mr = own(ibv_reg_mr(pd, pages.data(), Borrowed::kBytes, kOnDemandAccess), "ibv_reg_mr");
  unsigned char resident[Borrowed::kBytes / kPage];
  CHECK_EQ(mincore(pages.data(), Borrowed::kBytes, resident), 0);
  CHECK_EQ(resident[0] & 1, 0);
}

CASE("odp.write") {
  Pair pair;
  Borrowed pages;
  Owned<ibv_mr> mr = own(ibv_reg_mr(pair.pd, pages.data(), Borrowed::kBytes, kOnDemandAccess), "ibv_reg_mr");
  write_to(pair, pages.address(kPage - 100), mr->rkey, 20000, IBV_WC_SUCCESS);
  CHECK(std::memcmp(pages.data() + kPage - 100, pair.a.memory.data(), 20000) == 0);
}

CASE("odp.read") {
  Pair pair;
  Borrowed pages;
  std::memset(pages.data(), 0x5A, Borrowed::kBytes);
  Owned<ibv_mr> mr = own(ibv_reg_mr(pair.pd, pages.data(), Borrowed::kBytes, kOnDemandAccess), "ibv_reg_mr");
  CHECK_OK(Request(IBV_WR_RDMA_READ, 1)
               .piece(pair.a.memory, 0, 20000)
               .remote(pages.address(17), mr->rkey)
               .post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
  CHECK(pair.a.memory.all(0x5A, 0, 20000));
}

CASE("odp.send_and_receive") {
  Pair pair;
  Borrowed from;
  Borrowed to;
  std::memset(from.data(), 0x77, Borrowed::kBytes);
  Owned<ibv_mr> all = all_memory(pair.pd);
  CHECK_OK(post_receive(pair.b.qp, 2, {{to.address(), 9000, all->lkey}}));
  CHECK_OK(Request(IBV_WR_SEND, 1).piece({from.address(), 9000, all->lkey}).post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
  await(pair.b.receive_cq, 2, IBV_WC_SUCCESS);
  CHECK(std::memcmp(from.data(), to.data(), 9000) == 0);
}

CASE("odp.atomic") {
  Pair pair;
  Owned<ibv_mr> all = all_memory(pair.pd);
  uint64_t word = 40;
  CHECK_OK(Request(IBV_WR_ATOMIC_FETCH_AND_ADD, 1)
               .piece(pair.a.memory, 0, 8)
               .atomic(reinterpret_cast<uintptr_t>(&word), all->rkey, 2)
               .post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
  CHECK_EQ(__atomic_load_n(&word, __ATOMIC_SEQ_CST), 42);
}

CASE("odp.implicit_fields") {
  Owned<ibv_pd> pd = make_pd();
  Owned<ibv_mr> all = all_memory(pd);
  CHECK(all->addr == nullptr);
  CHECK_EQ(all->length, SIZE_MAX);
}

CASE("odp.implicit_takes_what_is_mapped_later") {
  Pair pair;
  Owned<ibv_mr> all = all_memory(pair.pd);
  Borrowed pages;
  write_to(pair, pages.address(), all->rkey, 10000, IBV_WC_SUCCESS);
  CHECK(std::memcmp(pages.data(), pair.a.memory.data(), 10000) == 0);
}

CASE("odp.implicit_not_on_demand") {
  Owned<ibv_pd> pd = make_pd();
  CHECK_REFUSED(ibv_reg_mr(pd, nullptr, SIZE_MAX, kAllAccess), EINVAL, EFAULT, ENOMEM);
}

CASE("odp.implicit_somewhere_else") {
  Owned<ibv_pd> pd = make_pd();
  CHECK_REFUSED(ibv_reg_mr_iova(pd, nullptr, SIZE_MAX, 0x10000, kOnDemandAccess), EINVAL);
}

CASE("odp.write_where_nothing_is_mapped") {
  Pair pair;
  Borrowed pages;
  Owned<ibv_mr> all = all_memory(pair.pd);
  pages.unmap();
  write_to(pair, pages.address(), all->rkey, 100, IBV_WC_REM_ACCESS_ERR);
  pages.map_again();
  CHECK_EQ(pages.data()[0], 0);
}

CASE("odp.write_at_the_null_pointer") {
  Pair pair;
  Owned<ibv_mr> all = all_memory(pair.pd);
  write_to(pair, 0, all->rkey, 8, IBV_WC_REM_ACCESS_ERR);
}

CASE("odp.write_at_the_end_of_the_address_space") {
  Pair pair;
  Owned<ibv_mr> all = all_memory(pair.pd);
  write_to(pair, UINT64_MAX - 8, all->rkey, 8, IBV_WC_REM_ACCESS_ERR);
}

CASE("odp.write_to_memory_that_is_read_only") {
  Pair pair;
  Borrowed pages;
  Owned<ibv_mr> all = all_memory(pair.pd);
  pages.protect(PROT_READ);
  write_to(pair, pages.address(), all->rkey, 100, IBV_WC_REM_ACCESS_ERR);
}

CASE("odp.write_to_memory_that_is_protected") {
  Pair pair;
  Borrowed pages;
  Owned<ibv_mr> all = all_memory(pair.pd);
  pages.protect(PROT_NONE);
  write_to(pair, pages.address(), all->rkey, 100, IBV_WC_REM_ACCESS_ERR);
}

CASE("odp.read_where_nothing_is_mapped") {
  Pair pair;
  Borrowed pages;
  Owned<ibv_mr> all = all_memory(pair.pd);
  pages.unmap();
  CHECK_OK(Request(IBV_WR_RDMA_READ, 1)
               .piece(pair.a.memory, 0, 20000)
               .remote(pages.address(), all->rkey)
               .post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_REM_ACCESS_ERR);
  pages.map_again();
}

CASE("odp.atomic_where_nothing_is_mapped") {
  Pair pair;
  Borrowed pages;
  Owned<ibv_mr> all = all_memory(pair.pd);
  pages.unmap();
  CHECK_OK(Request(IBV_WR_ATOMIC_FETCH_AND_ADD, 1)
               .piece(pair.a.memory, 0, 8)
               .atomic(pages.address(), all->rkey, 2)
               .post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_REM_ACCESS_ERR);
  pages.map_again();
}

CASE("odp.send_from_where_nothing_is_mapped") {
  Pair pair;
  Borrowed pages;
  Owned<ibv_mr> all = all_memory(pair.pd);
  pages.unmap();
  CHECK_OK(post_receive(pair.b.qp, 2, {pair.b.memory.piece(0, 4096)}));
  CHECK_OK(Request(IBV_WR_SEND, 1).piece({pages.address(), 100, all->lkey}).post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_LOC_PROT_ERR);
  pages.map_again();
}

CASE("odp.receive_where_nothing_is_mapped") {
  Pair pair;
  Borrowed pages;
  Owned<ibv_mr> all = all_memory(pair.pd);
  pages.unmap();
  CHECK_OK(post_receive(pair.b.qp, 2, {{pages.address(), 4096, all->lkey}}));
  CHECK_OK(Request(IBV_WR_SEND, 1).piece(pair.a.memory, 0, 100).post(pair.a.qp));
  await(pair.b.receive_cq, 2, IBV_WC_LOC_PROT_ERR);
  await(pair.a.send_cq, 1, IBV_WC_REM_OP_ERR);
  pages.map_again();
}

CASE("odp.region_outlives_its_memory") {
  // An ordinary region would have no rights any more.
  Borrowed pages;
  Pair first;
  Owned<ibv_mr> mr = own(ibv_reg_mr(first.pd, pages.data(), Borrowed::kBytes, kOnDemandAccess), "ibv_reg_mr");
  pages.unmap();
  write_to(first, pages.address(), mr->rkey, 100, IBV_WC_REM_ACCESS_ERR);
  pages.map_again();
  Owned<ibv_qp> from = make_qp(first.pd, qp_wanted(first.a.send_cq, first.a.receive_cq));
  Owned<ibv_qp> to = make_qp(first.pd, qp_wanted(first.b.send_cq, first.b.receive_cq));
  bring_to(from, IBV_QPS_RTS, to->qp_num);
  bring_to(to, IBV_QPS_RTS, from->qp_num);
  CHECK_OK(Request(IBV_WR_RDMA_WRITE, 5)
               .piece(first.a.memory, 0, 100)
               .remote(pages.address(), mr->rkey)
               .post(from));
  await(first.a.send_cq, 5, IBV_WC_SUCCESS);
  CHECK(std::memcmp(pages.data(), first.a.memory.data(), 100) == 0);
}

CASE("odp.rights_are_those_of_the_region") {
  Pair pair;
  Borrowed pages;
  Owned<ibv_mr> all = all_memory(pair.pd, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ON_DEMAND);
  write_to(pair, pages.address(), all->rkey, 8, IBV_WC_REM_ACCESS_ERR);
}

CASE("odp.rereg_to_on_demand") {
  Pair pair;
  Borrowed pages;
  Owned<ibv_mr> mr = own(ibv_reg_mr(pair.pd, pages.data(), Borrowed::kBytes, kAllAccess), "ibv_reg_mr");
  CHECK_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, kOnDemandAccess), 0);
  pages.protect(PROT_READ);
  write_to(pair, pages.address(), mr->rkey, 8, IBV_WC_REM_ACCESS_ERR);
}

CASE("odp.window_on_all_memory") {
  Pair pair;
  Borrowed pages;
  Owned<ibv_mr> all = all_memory(pair.pd, kOnDemandAccess | IBV_ACCESS_MW_BIND);
  Owned<ibv_mw> window = own(ibv_alloc_mw(pair.pd, IBV_MW_TYPE_1), "ibv_alloc_mw");
  ibv_mw_bind wanted{};
  wanted.wr_id = 9;
  wanted.send_flags = IBV_SEND_SIGNALED;
  wanted.bind_info = {all, pages.address(), 1000, IBV_ACCESS_REMOTE_WRITE};
  CHECK_OK(ibv_bind_mw(pair.b.qp, window, &wanted));
  await(pair.b.send_cq, 9, IBV_WC_SUCCESS);
  write_to(pair, pages.address(500), window->rkey, 500, IBV_WC_SUCCESS);
  CHECK(std::memcmp(pages.data() + 500, pair.a.memory.data(), 500) == 0);
  pages.unmap();
  write_to(pair, pages.address(), window->rkey, 8, IBV_WC_REM_ACCESS_ERR);
  pages.map_again();
}

// --- advice ---

CASE("advise.prefetch") {
  Owned<ibv_pd> pd = make_pd();
  Memory memory(pd, 8192, kOnDemandAccess);
  for (const auto advice : {IBV_ADVISE_MR_ADVICE_PREFETCH, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
                            IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT})
    for (const uint32_t flags : {0u, uint32_t{IBV_ADVISE_MR_FLAG_FLUSH}})
      CHECK_OK(advise(pd, memory.piece(100, 8000), advice, flags));
}

CASE("advise.all_memory") {
  Owned<ibv_pd> pd = make_pd();
  Memory memory(pd, 4096);
  Owned<ibv_mr> all = all_memory(pd);
  CHECK_OK(advise(pd, {memory.address(), 4096, all->lkey}));
}

CASE("advise.unknown_key") {
  Owned<ibv_pd> pd = make_pd();
  Memory memory(pd, 4096);
  CHECK_ERROR(advise(pd, {memory.address(), 4096, memory.mr->lkey ^ 1}), EFAULT);
}

CASE("advise.another_domain") {
  Owned<ibv_pd> pd = make_pd();
  Owned<ibv_pd> other = make_pd();
  Memory memory(pd, 4096);
  CHECK_ERROR(advise(other, memory.piece(0, 4096)), EFAULT, EINVAL);
}

CASE("advise.beyond_the_region") {
  Owned<ibv_pd> pd = make_pd();
  Memory memory(pd, 4096);
  CHECK_ERROR(advise(pd, memory.piece(1, 4096)), EFAULT);
}

CASE("advise.write_without_the_right") {
  Owned<ibv_pd> pd = make_pd();
  Memory memory(pd, 4096, IBV_ACCESS_REMOTE_READ);
  CHECK_ERROR(advise(pd, memory.piece(0, 8), IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE), EFAULT, EPERM);
}

CASE("advise.unknown_flags") {
  Owned<ibv_pd> pd = make_pd();
  Memory memory(pd, 4096);
  CHECK_ERROR(advise(pd, memory.piece(0, 8), IBV_ADVISE_MR_ADVICE_PREFETCH, 1u << 9), EINVAL);
}

CASE("advise.about_nothing") {
  Owned<ibv_pd> pd = make_pd();
  ibv_sge piece{};
  CHECK_ERROR(ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &piece, 0), EINVAL);
  CHECK_ERROR(ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, nullptr, 1), EINVAL);
}

}  // namespace conformance
