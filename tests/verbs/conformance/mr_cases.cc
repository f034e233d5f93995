// SPDX-License-Identifier: BSD-2-Clause
// Memory regions: registration and its errors, and what a key lets one do.
#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "objects.h"

namespace conformance {
namespace {

// Some mapped memory with given protection.
class Pages {
 public:
  explicit Pages(int protection, size_t bytes = 8192) : bytes_(bytes) {
    pages_ = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages_ == MAP_FAILED) throw Failure("mmap");
  }
  ~Pages() { munmap(pages_, bytes_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  uint8_t* data() const { return static_cast<uint8_t*>(pages_); }
  size_t size() const { return bytes_; }

 private:
  void* pages_;
  size_t bytes_;
};

int error_of_registration(int access) {
  Owned<ibv_pd> pd = make_pd();
  Pages pages(PROT_READ | PROT_WRITE);
  errno = 0;
  Owned<ibv_mr> mr(ibv_reg_mr(pd, pages.data(), pages.size(), access));
  return mr.get() != nullptr ? 0 : errno;
}

// Registering with some access rights, one case each.
struct AccessRow {
  const char* name;
  int access;
  bool allowed;
};
constexpr AccessRow kAccess[] = {
    {"none", 0, true},
    {"local_write", IBV_ACCESS_LOCAL_WRITE, true},
    {"remote_read", IBV_ACCESS_REMOTE_READ, true},
    {"remote_write", IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, true},
    {"remote_atomic", IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC, true},
    {"all", kAllAccess, true},
    {"window_binding", IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND, true},
    {"zero_based", IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ZERO_BASED, true},
    {"relaxed_ordering", IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING, true},
    {"huge_pages", IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_HUGETLB, true},
    {"remote_write_without_local", IBV_ACCESS_REMOTE_WRITE, false},
    {"remote_atomic_without_local", IBV_ACCESS_REMOTE_ATOMIC, false},
    {"on_demand", IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND, true},
    {"unknown_bit", IBV_ACCESS_LOCAL_WRITE | 1 << 15, false},
};

const bool kAccessRegistered = [] {
  for (const AccessRow& row : kAccess)
    Registration(std::string("mr.access_") + row.name, [&row] {
      if (row.allowed)
        CHECK_ERROR(error_of_registration(row.access), 0);
      else
        CHECK_ERROR(error_of_registration(row.access), EINVAL, EOPNOTSUPP);
    });
  return true;
}();

}  // namespace

// --- registration ---

CASE("mr.fields") {
  Owned<ibv_pd> pd = make_pd();
  Memory memory(pd, 5000);
  CHECK(memory.mr->pd == pd.get());
  CHECK(memory.mr->context == device());
  CHECK(memory.mr->addr == memory.data());
  CHECK_EQ(memory.mr->length, 5000);
}

CASE("mr.keys_are_different") {
  Owned<ibv_pd> pd = make_pd();
  std::vector<Memory> regions;
  std::set<uint32_t> keys;
  for (int i = 0; i < 200; ++i) {
    regions.emplace_back(pd, 4096);
    CHECK(keys.insert(regions.back().mr->rkey).second);
  }
}

CASE("mr.same_bytes_twice") {
  Owned<ibv_pd> pd = make_pd();
  Memory memory(pd, 4096);
  Owned<ibv_mr> again = own(ibv_reg_mr(pd, memory.data(), 4096, 0), "ibv_reg_mr");
  CHECK(again->lkey != memory.mr->lkey);
}

CASE("mr.one_byte_anywhere") {
  Owned<ibv_pd> pd = make_pd();
  Pages pages(PROT_READ | PROT_WRITE);
  own(ibv_reg_mr(pd, pages.data() + 4095, 1, IBV_ACCESS_LOCAL_WRITE), "ibv_reg_mr");
}

CASE("mr.large") {
  Owned<ibv_pd> pd = make_pd();
  Pages pages(PROT_READ | PROT_WRITE, 64 << 20);
  own(ibv_reg_mr(pd, pages.data(), pages.size(), IBV_ACCESS_LOCAL_WRITE), "ibv_reg_mr");
}

CASE("mr.no_bytes") {
  Owned<ibv_pd> pd = make_pd();
  Pages pages(PROT_READ | PROT_WRITE);
  CHECK_REFUSED(ibv_reg_mr(pd, pages.data(), 0, IBV_ACCESS_LOCAL_WRITE), EINVAL);
}

CASE("mr.around_the_end_of_the_address_space") {
  Owned<ibv_pd> pd = make_pd();
  Pages pages(PROT_READ | PROT_WRITE);
  CHECK_REFUSED(ibv_reg_mr(pd, pages.data(), SIZE_MAX - 100, IBV_ACCESS_LOCAL_WRITE), EINVAL, ENOMEM, EFAULT);
}

CASE("mr.not_mapped") {
  Owned<ibv_pd> pd = make_pd();
  void* address = nullptr;
  { address = Pages(PROT_READ | PROT_WRITE).data(); }
  CHECK_REFUSED(ibv_reg_mr(pd, address, 4096, IBV_ACCESS_LOCAL_WRITE), EFAULT, ENOMEM);
}

CASE("mr.partly_mapped") {
  Owned<ibv_pd> pd = make_pd();
  Pages pages(PROT_READ | PROT_WRITE, 8192);
  munmap(pages.data() + 4096, 4096);
  CHECK_REFUSED(ibv_reg_mr(pd, pages.data(), 8192, IBV_ACCESS_LOCAL_WRITE), EFAULT, ENOMEM);
}

CASE("mr.not_readable") {
  Owned<ibv_pd> pd = make_pd();
  Pages pages(PROT_NONE);
  CHECK_REFUSED(ibv_reg_mr(pd, pages.data(), pages.size(), 0), EFAULT, ENOMEM);
}

CASE("mr.read_only_memory_to_write") {
  Owned<ibv_pd> pd = make_pd();
  Pages pages(PROT_READ);
  CHECK_REFUSED(ibv_reg_mr(pd, pages.data(), pages.size(), IBV_ACCESS_LOCAL_WRITE), EFAULT, ENOMEM);
}

CASE("mr.read_only_memory_to_read") {
  Owned<ibv_pd> pd = make_pd();
  Pages pages(PROT_READ);
  own(ibv_reg_mr(pd, pages.data(), pages.size(), IBV_ACCESS_REMOTE_READ), "ibv_reg_mr");
}

// --- what keys do ---

CASE("mr.remote_write_at_every_byte_of_the_region") {
  Pair pair({.bytes = 4096});
  for (const size_t place : {size_t{0}, size_t{1}, size_t{4095}}) {
    CHECK_OK(Request(IBV_WR_RDMA_WRITE, place)
                 .piece(pair.a.memory, 7, 1)
                 .remote(pair.b.memory, place)
                 .post(pair.a.qp));
    await(pair.a.send_cq, place, IBV_WC_SUCCESS);
    CHECK(pair.b.memory.has(kSeedA, place, 1, 7));
  }
}

CASE("mr.iova") {
  Pair pair;
  constexpr uint64_t kAddress = 0x7000000000001000;
  Owned<ibv_mr> mr =
      own(ibv_reg_mr_iova(pair.pd, pair.b.memory.data(), 4096, kAddress, kAllAccess), "ibv_reg_mr_iova");
  CHECK(mr->addr == pair.b.memory.data());
  CHECK_OK(Request(IBV_WR_RDMA_WRITE, 1)
               .piece(pair.a.memory, 0, 100)
               .remote(kAddress + 50, mr->rkey)
               .post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
  CHECK(pair.b.memory.has(kSeedA, 50, 100, 0));
}

CASE("mr.iova_used_locally") {
  Pair pair;
  constexpr uint64_t kAddress = 0x10000;
  Owned<ibv_mr> mr =
      own(ibv_reg_mr_iova(pair.pd, pair.a.memory.data(), 4096, kAddress, kAllAccess), "ibv_reg_mr_iova");
  CHECK_OK(Request(IBV_WR_RDMA_WRITE, 1)
               .piece({kAddress + 8, 100, mr->lkey})
               .remote(pair.b.memory, 0)
               .post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
  CHECK(pair.b.memory.has(kSeedA, 0, 100, 8));
}

CASE("mr.iova_zero") {
  Pair pair;
  Owned<ibv_mr> mr =
      own(ibv_reg_mr_iova(pair.pd, pair.b.memory.data(), 4096, 0, kAllAccess), "ibv_reg_mr_iova");
  CHECK_OK(Request(IBV_WR_RDMA_WRITE, 1).piece(pair.a.memory, 0, 4096).remote(0, mr->rkey).post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
  CHECK(pair.b.memory.has(kSeedA, 0, 4096, 0));
}

CASE("mr.iova_real_address_no_longer_counts") {
  Pair pair;
  Owned<ibv_mr> mr =
      own(ibv_reg_mr_iova(pair.pd, pair.b.memory.data(), 4096, 0x10000, kAllAccess), "ibv_reg_mr_iova");
  CHECK_OK(Request(IBV_WR_RDMA_WRITE, 1)
               .piece(pair.a.memory, 0, 8)
               .remote(pair.b.memory.address(), mr->rkey)
               .post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_REM_ACCESS_ERR);
}

CASE("mr.zero_based") {
  Pair pair;
  Owned<ibv_mr> mr =
      own(ibv_reg_mr(pair.pd, pair.b.memory.data(), 4096, kAllAccess | IBV_ACCESS_ZERO_BASED), "ibv_reg_mr");
  CHECK_OK(Request(IBV_WR_RDMA_WRITE, 1).piece(pair.a.memory, 0, 64).remote(1000, mr->rkey).post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
  CHECK(pair.b.memory.has(kSeedA, 1000, 64, 0));
}

CASE("mr.null_is_read_as_zeroes") {
  Pair pair;
  Owned<ibv_mr> nothing = own(ibv_alloc_null_mr(pair.pd), "ibv_alloc_null_mr");
  CHECK_OK(Request(IBV_WR_RDMA_WRITE, 1)
               .piece(pair.a.memory, 0, 8)
               .piece({0x1234, 100, nothing->lkey})
               .piece(pair.a.memory, 8, 8)
               .remote(pair.b.memory, 0)
               .post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
  CHECK(pair.b.memory.has(kSeedA, 0, 8, 0));
  CHECK(pair.b.memory.all(0, 8, 100));
  CHECK(pair.b.memory.has(kSeedA, 108, 8, 8));
}

CASE("mr.null_swallows_what_is_received") {
  Pair pair;
  Owned<ibv_mr> nothing = own(ibv_alloc_null_mr(pair.pd), "ibv_alloc_null_mr");
  CHECK_OK(post_receive(pair.b.qp, 2, {{0, 100, nothing->lkey}, pair.b.memory.piece(0, 100)}));
  CHECK_OK(Request(IBV_WR_SEND, 1).piece(pair.a.memory, 0, 150).post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
  CHECK_EQ(await(pair.b.receive_cq, 2, IBV_WC_SUCCESS).byte_len, 150);
  CHECK(pair.b.memory.has(kSeedA, 0, 50, 100));
  CHECK(pair.b.memory.has(kSeedB, 50, 50, 50));
}

CASE("mr.key_ends_with_deregistration") {
  Pair pair;
  Memory other(pair.pd, 4096);
  const uint64_t address = other.address();
  const uint32_t key = other.mr->rkey;
  other.mr.reset();
  CHECK_OK(Request(IBV_WR_RDMA_WRITE, 1).piece(pair.a.memory, 0, 8).remote(address, key).post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_REM_ACCESS_ERR);
}

CASE("mr.old_key_does_not_fit_the_next_region") {
  Pair pair;
  Memory other(pair.pd, 4096);
  const uint32_t key = other.mr->rkey;
  other.mr.reset();
  other.mr = own(ibv_reg_mr(pair.pd, other.data(), 4096, kAllAccess), "ibv_reg_mr");
  CHECK(other.mr->rkey != key);
  CHECK_OK(
      Request(IBV_WR_RDMA_WRITE, 1).piece(pair.a.memory, 0, 8).remote(other.address(), key).post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_REM_ACCESS_ERR);
}

// --- re-registration ---

CASE("rereg.access") {
  Pair pair;
  Memory target(pair.pd, 4096, IBV_ACCESS_LOCAL_WRITE);
  CHECK_EQ(ibv_rereg_mr(target.mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, kAllAccess), 0);
  CHECK_OK(Request(IBV_WR_RDMA_WRITE, 1).piece(pair.a.memory, 0, 8).remote(target, 0).post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
}

CASE("rereg.access_taken_away") {
  Pair pair;
  Memory target(pair.pd, 4096);
  CHECK_EQ(ibv_rereg_mr(target.mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, IBV_ACCESS_LOCAL_WRITE),
           0);
  CHECK_OK(Request(IBV_WR_RDMA_WRITE, 1).piece(pair.a.memory, 0, 8).remote(target, 0).post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_REM_ACCESS_ERR);
}

CASE("rereg.translation") {
  Pair pair;
  Memory target(pair.pd, 4096);
  Pages other(PROT_READ | PROT_WRITE, 8192);
  CHECK_EQ(ibv_rereg_mr(target.mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, other.data(), 8192, 0), 0);
  CHECK(target.mr->addr == other.data());
  CHECK_EQ(target.mr->length, 8192);
  CHECK_OK(Request(IBV_WR_RDMA_WRITE, 1)
               .piece(pair.a.memory, 0, 8)
               .remote(reinterpret_cast<uintptr_t>(other.data()) + 8000, target.mr->rkey)
               .post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
  CHECK(std::memcmp(other.data() + 8000, pair.a.memory.data(), 8) == 0);
  target.mr.reset();
}

CASE("rereg.domain") {
  Pair pair;
  Owned<ibv_pd> other = make_pd();
  Memory target(other, 4096);
  CHECK_EQ(ibv_rereg_mr(target.mr, IBV_REREG_MR_CHANGE_PD, pair.pd, nullptr, 0, 0), 0);
  CHECK(target.mr->pd == pair.pd.get());
  CHECK_OK(Request(IBV_WR_RDMA_WRITE, 1).piece(pair.a.memory, 0, 8).remote(target, 0).post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
  other.reset();  // not busy any more
}

CASE("rereg.everything_at_once") {
  Pair pair;
  Owned<ibv_pd> other = make_pd();
  Memory target(other, 4096, 0);
  Pages pages(PROT_READ | PROT_WRITE);
  CHECK_EQ(ibv_rereg_mr(target.mr,
                        IBV_REREG_MR_CHANGE_PD | IBV_REREG_MR_CHANGE_ACCESS | IBV_REREG_MR_CHANGE_TRANSLATION,
                        pair.pd, pages.data(), 8192, kAllAccess),
           0);
  CHECK_OK(Request(IBV_WR_RDMA_WRITE, 1)
               .piece(pair.a.memory, 0, 8)
               .remote(reinterpret_cast<uintptr_t>(pages.data()), target.mr->rkey)
               .post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
  target.mr.reset();
}

CASE("rereg.unknown_flags") {
  Owned<ibv_pd> pd = make_pd();
  Memory memory(pd, 4096);
  CHECK_EQ(ibv_rereg_mr(memory.mr, 1 << 3, nullptr, nullptr, 0, 0), IBV_REREG_MR_ERR_INPUT);
}

CASE("rereg.translation_to_nothing") {
  Owned<ibv_pd> pd = make_pd();
  Memory memory(pd, 4096);
  CHECK_EQ(ibv_rereg_mr(memory.mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, nullptr, 0, 0),
           IBV_REREG_MR_ERR_INPUT);
}

CASE("rereg.bad_access") {
  Owned<ibv_pd> pd = make_pd();
  Memory memory(pd, 4096);
  CHECK(ibv_rereg_mr(memory.mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, IBV_ACCESS_REMOTE_WRITE) !=
        0);
}

CASE("rereg.a_refusal_changes_nothing") {
  Pair pair;
  Memory target(pair.pd, 4096);
  CHECK(ibv_rereg_mr(target.mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, IBV_ACCESS_REMOTE_WRITE) !=
        0);
  CHECK_OK(Request(IBV_WR_RDMA_WRITE, 1).piece(pair.a.memory, 0, 8).remote(target, 0).post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
}

}  // namespace conformance
