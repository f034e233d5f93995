// SPDX-License-Identifier: BSD-2-Clause
// Device memory.
#include <cstring>
#include <vector>

#include "objects.h"

namespace conformance {
namespace {

constexpr unsigned kDmAccess = kAllAccess | IBV_ACCESS_ZERO_BASED;

Owned<ibv_dm> make_dm(size_t bytes = 8192, uint32_t log_align = 0) {
  ibv_alloc_dm_attr wanted{bytes, log_align, 0};
  return own(ibv_alloc_dm(device(), &wanted), "ibv_alloc_dm");
}

size_t dm_size() {
  ibv_device_attr_ex attributes{};
  CHECK_OK(ibv_query_device_ex(device(), nullptr, &attributes));
  return attributes.max_dm_size;
}

ibv_dm* alloc(size_t bytes, uint32_t log_align = 0, uint32_t mask = 0) {
  ibv_alloc_dm_attr wanted{bytes, log_align, mask};
  return ibv_alloc_dm(device(), &wanted);
}

}  // namespace

CASE("dm.size_is_told") {
  CHECK(dm_size() >= 64 << 10);
}

CASE("dm.all_of_it") {
  for (int i = 0; i < 3; ++i) make_dm(dm_size());
}

CASE("dm.more_than_there_is") {
  CHECK_REFUSED(alloc(dm_size() + 1), ENOMEM);
  CHECK_REFUSED(alloc(SIZE_MAX), ENOMEM);
  Owned<ibv_dm> most = make_dm(dm_size() - 100);
  CHECK_REFUSED(alloc(101), ENOMEM);
  make_dm(100);
}

CASE("dm.bad_attributes") {
  CHECK_REFUSED(alloc(0), EINVAL);
  CHECK_REFUSED(alloc(64, 63), EINVAL);
  CHECK_REFUSED(alloc(64, 0, 1u << 20), EOPNOTSUPP, EINVAL);
}

CASE("dm.copies") {
  Owned<ibv_dm> memory = make_dm(5000, 12);
  std::vector<uint8_t> out(5000);
  std::vector<uint8_t> in(5000);
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<uint8_t>(i * 7);
  CHECK_OK(ibv_memcpy_to_dm(memory, 0, out.data(), 5000));
  CHECK_OK(ibv_memcpy_from_dm(in.data(), memory, 0, 5000));
  CHECK(in == out);
  CHECK_OK(ibv_memcpy_from_dm(in.data(), memory, 4999, 1));
  CHECK_EQ(in[0], out[4999]);
}

CASE("dm.copies_beyond_its_end") {
  Owned<ibv_dm> memory = make_dm(64);
  uint8_t bytes[65] = {};
  CHECK(ibv_memcpy_to_dm(memory, 0, bytes, 65) != 0);
  CHECK(ibv_memcpy_to_dm(memory, 64, bytes, 1) != 0);
  CHECK(ibv_memcpy_from_dm(bytes, memory, UINT64_MAX, 2) != 0);
}

CASE("dm.write_and_read") {
  Pair pair;
  Owned<ibv_dm> memory = make_dm();
  Owned<ibv_mr> mr = own(ibv_reg_dm_mr(pair.pd, memory, 1000, 5000, kDmAccess), "ibv_reg_dm_mr");
  // The address is the place in the region, not in the memory.
  CHECK_OK(Request(IBV_WR_RDMA_WRITE, 1).piece(pair.a.memory, 0, 4000).remote(500, mr->rkey).post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
  std::vector<uint8_t> seen(4000);
  CHECK_OK(ibv_memcpy_from_dm(seen.data(), memory, 1500, seen.size()));
  CHECK(std::memcmp(seen.data(), pair.a.memory.data(), seen.size()) == 0);
  CHECK_OK(
      Request(IBV_WR_RDMA_READ, 2).piece(pair.a.memory, 8000, 4000).remote(500, mr->rkey).post(pair.a.qp));
  await(pair.a.send_cq, 2, IBV_WC_SUCCESS);
  CHECK(std::memcmp(pair.a.memory.data() + 8000, seen.data(), seen.size()) == 0);
}

CASE("dm.atomic") {
  Pair pair;
  Owned<ibv_dm> memory = make_dm();
  const uint64_t before = 40;
  CHECK_OK(ibv_memcpy_to_dm(memory, 8, &before, sizeof before));
  Owned<ibv_mr> mr = own(ibv_reg_dm_mr(pair.pd, memory, 0, 64, kDmAccess), "ibv_reg_dm_mr");
  CHECK_OK(Request(IBV_WR_ATOMIC_FETCH_AND_ADD, 1)
               .piece(pair.a.memory, 0, 8)
               .atomic(8, mr->rkey, 2)
               .post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
  uint64_t after = 0;
  CHECK_OK(ibv_memcpy_from_dm(&after, memory, 8, sizeof after));
  CHECK_EQ(after, 42);
}

CASE("dm.send_from_and_receive_to") {
  Pair pair;
  Owned<ibv_dm> memory = make_dm();
  Owned<ibv_mr> mr = own(ibv_reg_dm_mr(pair.pd, memory, 0, 8192, kDmAccess), "ibv_reg_dm_mr");
  CHECK_OK(ibv_memcpy_to_dm(memory, 0, "from the device", 16));
  CHECK_OK(post_receive(pair.b.qp, 2, {{4096, 4096, mr->lkey}}));
  CHECK_OK(Request(IBV_WR_SEND, 1).piece({0, 16, mr->lkey}).post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_SUCCESS);
  CHECK_EQ(await(pair.b.receive_cq, 2, IBV_WC_SUCCESS).byte_len, 16);
  char seen[16];
  CHECK_OK(ibv_memcpy_from_dm(seen, memory, 4096, 16));
  CHECK(std::strcmp(seen, "from the device") == 0);
}

CASE("dm.write_beyond_the_region") {
  Pair pair;
  Owned<ibv_dm> memory = make_dm();
  Owned<ibv_mr> mr = own(ibv_reg_dm_mr(pair.pd, memory, 0, 100, kDmAccess), "ibv_reg_dm_mr");
  CHECK_OK(Request(IBV_WR_RDMA_WRITE, 1).piece(pair.a.memory, 0, 8).remote(96, mr->rkey).post(pair.a.qp));
  await(pair.a.send_cq, 1, IBV_WC_REM_ACCESS_ERR);
}

CASE("dm.busy_while_registered") {
  Owned<ibv_pd> pd = make_pd();
  Owned<ibv_dm> memory = make_dm();
  Owned<ibv_mr> mr = own(ibv_reg_dm_mr(pd, memory, 0, 100, kDmAccess), "ibv_reg_dm_mr");
  CHECK_ERROR(ibv_free_dm(memory), EBUSY);
  CHECK_ERROR(ibv_dealloc_pd(pd), EBUSY);
}

CASE("dm.bad_regions") {
  Owned<ibv_pd> pd = make_pd();
  Owned<ibv_dm> memory = make_dm(4096);
  CHECK_REFUSED(ibv_reg_dm_mr(pd, memory, 0, 4097, kDmAccess), EINVAL);
  CHECK_REFUSED(ibv_reg_dm_mr(pd, memory, 4096, 1, kDmAccess), EINVAL);
  CHECK_REFUSED(ibv_reg_dm_mr(pd, memory, UINT64_MAX, 2, kDmAccess), EINVAL);
  CHECK_REFUSED(ibv_reg_dm_mr(pd, memory, 0, 0, kDmAccess), EINVAL);
  CHECK_REFUSED(ibv_reg_dm_mr(pd, memory, 0, 64, kAllAccess), EINVAL);  // has no other addresses
  CHECK_REFUSED(ibv_reg_dm_mr(pd, memory, 0, 64, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_ZERO_BASED), EINVAL);
}

}  // namespace conformance
