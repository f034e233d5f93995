// SPDX-License-Identifier: BSD-2-Clause
// Memory regions of all kinds, memory windows, and the domains they live in.
#include <endian.h>
#include <errno.h>

#include <algorithm>

#include "tests/verbs/provider_fixture.h"

namespace provider_test {
namespace {

constexpr int kAll = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

class MemoryTest : public LoopTest {
 protected:
  // A write of eight bytes from pair[0] to wherever this key and address lead at pair[1].
  ibv_wc_status write_to(uint32_t key, uint64_t address) {
    ibv_sge from = segment(0, 8);
    ibv_send_wr request = write_request(&from, 0, 1);
    request.wr.rdma.rkey = key;
    request.wr.rdma.remote_addr = address;
    EXPECT_EQ(post(pair[0], request), 0);
    return poll_one(send_queue).status;
  }
  uint64_t address(size_t at) { return reinterpret_cast<uintptr_t>(memory.data()) + at; }
  ibv_mw_bind_info whole(ibv_mr* mr, unsigned access = IBV_ACCESS_REMOTE_WRITE) {
    return {mr, address(kThere), 4096, access};
  }
  ibv_wc_status do_local(ibv_send_wr request) {
    request.send_flags = IBV_SEND_SIGNALED;
    EXPECT_EQ(post(pair[1], request), 0);
    const ibv_wc done = poll_one(send_queue);
    EXPECT_EQ(done.opcode, request.opcode == IBV_WR_BIND_MW ? IBV_WC_BIND_MW : IBV_WC_LOCAL_INV);
    return done.status;
  }
};

TEST_F(MemoryTest, ARegionMayHaveAddressesOfItsOwn) {
  std::memcpy(memory.data(), "sevenchr", 8);
  ibv_mr* moved = ibv_reg_mr_iova(domain, memory.data() + kThere, 4096, 0x10000, kAll);
  ASSERT_NE(moved, nullptr);
  EXPECT_EQ(write_to(moved->rkey, 0x10000 + 64), IBV_WC_SUCCESS);
  EXPECT_EQ(std::memcmp(memory.data(), memory.data() + kThere + 64, 8), 0);
  EXPECT_EQ(ibv_dereg_mr(moved), 0);
  ibv_mr* zero_based = ibv_reg_mr(domain, memory.data() + kThere, 4096, kAll | IBV_ACCESS_ZERO_BASED);
  ASSERT_NE(zero_based, nullptr);
  EXPECT_EQ(write_to(zero_based->rkey, 128), IBV_WC_SUCCESS);
  EXPECT_EQ(std::memcmp(memory.data(), memory.data() + kThere + 128, 8), 0);
  EXPECT_EQ(ibv_dereg_mr(zero_based), 0);
  ibv_mr* relaxed = ibv_reg_mr(domain, memory.data(), 4096, kAll | IBV_ACCESS_RELAXED_ORDERING);
  ASSERT_NE(relaxed, nullptr);
  EXPECT_EQ(ibv_dereg_mr(relaxed), 0);
  EXPECT_EQ(ibv_reg_dmabuf_mr(domain, 0, 4096, 0, -1, kAll), nullptr);
  EXPECT_EQ(errno, EBADF);
}

TEST_F(MemoryTest, ARegionMayChange) {
  ibv_mr* mr = ibv_reg_mr(domain, memory.data() + kThere, 4096, IBV_ACCESS_LOCAL_WRITE);
  ASSERT_NE(mr, nullptr);
  const uint32_t key = mr->rkey;
  EXPECT_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, kAll), 0);
  EXPECT_EQ(mr->rkey, key);
  EXPECT_EQ(write_to(key, address(kThere)), IBV_WC_SUCCESS);
  EXPECT_EQ(
      ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, memory.data() + kThere + 8192, 8192, 0), 0);
  EXPECT_EQ(mr->length, 8192u);
  EXPECT_EQ(write_to(key, address(kThere + 8192 + 4096)), IBV_WC_SUCCESS);
  ibv_pd* other = ibv_alloc_pd(context);
  ASSERT_NE(other, nullptr);
  EXPECT_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, other, nullptr, 0, 0), 0);
  EXPECT_EQ(ibv_dealloc_pd(other), EBUSY);
  EXPECT_EQ(write_to(key, address(kThere + 8192)), IBV_WC_REM_ACCESS_ERR) << "another domain";
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
  EXPECT_EQ(ibv_dealloc_pd(other), 0);
}

TEST_F(MemoryTest, TheNullRegionIsZeroAndSwallowsAll) {
  ibv_mr* null = ibv_alloc_null_mr(domain);
  ASSERT_NE(null, nullptr);
  std::fill_n(memory.begin(), 1 << 20, uint8_t{7});
  // Eight bytes of ours, then eight of nothing.
  ibv_sge from[2] = {segment(0, 8), {0, 8, null->lkey}};
  ibv_send_wr request = write_request(from, kThere, 1);
  request.num_sge = 2;
  ASSERT_EQ(post(pair[0], request), 0);
  EXPECT_EQ(poll_one(send_queue).status, IBV_WC_SUCCESS);
  EXPECT_EQ(memory[kThere + 7], 7);
  for (size_t i = 8; i < 16; ++i) EXPECT_EQ(memory[kThere + i], 0);
  EXPECT_EQ(memory[kThere + 16], 7);
  // Of a message of 100,000 bytes the last eight are wanted.
  ibv_sge to[2] = {{0, 99'992, null->lkey}, segment(kThere, 8)};
  ibv_recv_wr receive{};
  receive.sg_list = to;
  receive.num_sge = 2;
  ibv_recv_wr* bad = nullptr;
  ASSERT_EQ(ibv_post_recv(pair[1], &receive, &bad), 0);
  memory[99'999] = 99;
  ibv_sge whole = segment(0, 100'000);
  ASSERT_EQ(post(pair[0], send_request(&whole, 2)), 0);
  EXPECT_EQ(poll_one(receive_queue).byte_len, 100'000u);
  EXPECT_EQ(memory[kThere + 7], 99);
  EXPECT_EQ(poll_one(send_queue).status, IBV_WC_SUCCESS);
  EXPECT_EQ(ibv_dereg_mr(null), 0);
}

TEST_F(MemoryTest, WindowsOfTypeOne) {
  ibv_mr* mr = ibv_reg_mr(domain, memory.data(), kBytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
  ASSERT_NE(mr, nullptr);
  ibv_mw* window = ibv_alloc_mw(domain, IBV_MW_TYPE_1);
  ASSERT_NE(window, nullptr);
  const uint32_t first = window->rkey;
  ibv_mw_bind bind{};
  bind.wr_id = 8;
  bind.send_flags = IBV_SEND_SIGNALED;
  bind.bind_info = whole(mr);
  ASSERT_EQ(ibv_bind_mw(pair[1], window, &bind), 0);
  ibv_wc done = poll_one(send_queue);
  EXPECT_EQ(done.status, IBV_WC_SUCCESS);
  EXPECT_EQ(done.opcode, IBV_WC_BIND_MW);
  EXPECT_EQ(done.wr_id, 8u);
  EXPECT_NE(window->rkey, first);
  EXPECT_EQ(write_to(window->rkey, address(kThere + 8)), IBV_WC_SUCCESS);
  EXPECT_EQ(ibv_dereg_mr(mr), EBUSY) << "a window is bound to it";
  bind.bind_info.length = 0;
  ASSERT_EQ(ibv_bind_mw(pair[1], window, &bind), 0) << "unbind";
  EXPECT_EQ(poll_one(send_queue).status, IBV_WC_SUCCESS);
  EXPECT_EQ(write_to(window->rkey, address(kThere + 8)), IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
  EXPECT_EQ(ibv_dealloc_pd(domain), EBUSY);
  EXPECT_EQ(ibv_dealloc_mw(window), 0);
}

TEST_F(MemoryTest, WindowsOfTypeTwoAreInvalidatedHereOrByThePeer) {
  ibv_mr* mr = ibv_reg_mr(domain, memory.data(), kBytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
  ASSERT_NE(mr, nullptr);
  ibv_mw* window = ibv_alloc_mw(domain, IBV_MW_TYPE_2);
  ASSERT_NE(window, nullptr);
  ibv_mw_bind by_call{};
  EXPECT_EQ(ibv_bind_mw(pair[1], window, &by_call), EINVAL) << "they are bound by work requests";
  ibv_send_wr bind{};
  bind.opcode = IBV_WR_BIND_MW;
  bind.bind_mw = {window, ibv_inc_rkey(window->rkey), whole(mr)};
  ASSERT_EQ(do_local(bind), IBV_WC_SUCCESS);
  const uint32_t key = bind.bind_mw.rkey;
  EXPECT_EQ(write_to(key, address(kThere)), IBV_WC_SUCCESS);
  ibv_send_wr invalidate{};
  invalidate.opcode = IBV_WR_LOCAL_INV;
  invalidate.invalidate_rkey = key;
  EXPECT_EQ(do_local(invalidate), IBV_WC_SUCCESS);

  bind.bind_mw.rkey = ibv_inc_rkey(key);
  ASSERT_EQ(do_local(bind), IBV_WC_SUCCESS);
  EXPECT_EQ(write_to(bind.bind_mw.rkey, address(kThere + 16)), IBV_WC_SUCCESS);
  post_receive(pair[1], 3);
  ibv_send_wr send = send_request(nullptr, 4);
  send.num_sge = 0;
  send.opcode = IBV_WR_SEND_WITH_INV;
  send.invalidate_rkey = bind.bind_mw.rkey;
  ASSERT_EQ(post(pair[0], send), 0);
  EXPECT_EQ(poll_one(send_queue).status, IBV_WC_SUCCESS);
  const ibv_wc received = poll_one(receive_queue);
  EXPECT_EQ(received.wc_flags, static_cast<unsigned>(IBV_WC_WITH_INV));
  EXPECT_EQ(received.invalidated_rkey, bind.bind_mw.rkey);
  EXPECT_EQ(do_local([&] {
              ibv_send_wr again = invalidate;
              again.invalidate_rkey = bind.bind_mw.rkey;
              return again;
            }()),
            IBV_WC_MW_BIND_ERR)
      << "it is invalid already";
  EXPECT_EQ(ibv_dealloc_mw(window), 0);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
}

TEST_F(MemoryTest, AWindowNeedsItsRegionsConsent) {
  ibv_mw* window = ibv_alloc_mw(domain, IBV_MW_TYPE_2);
  ASSERT_NE(window, nullptr);
  ibv_send_wr bind{};
  bind.opcode = IBV_WR_BIND_MW;
  bind.bind_mw = {window, ibv_inc_rkey(window->rkey), whole(region)};
  EXPECT_EQ(do_local(bind), IBV_WC_MW_BIND_ERR) << "IBV_ACCESS_MW_BIND is missing";
  EXPECT_EQ(ibv_dealloc_mw(window), 0);
}

TEST_F(MemoryTest, ParentDomainsStandForTheirDomain) {
  ibv_td_init_attr nothing{};
  ibv_td* thread_domain = ibv_alloc_td(context, &nothing);
  ASSERT_NE(thread_domain, nullptr);
  ibv_parent_domain_init_attr wanted{};
  wanted.pd = domain;
  wanted.td = thread_domain;
  ibv_pd* parent = ibv_alloc_parent_domain(context, &wanted);
  ASSERT_NE(parent, nullptr);
  EXPECT_EQ(ibv_dealloc_td(thread_domain), EBUSY);
  ibv_mr* mr = ibv_reg_mr(parent, memory.data() + kThere, 4096, kAll);
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(write_to(mr->rkey, address(kThere)), IBV_WC_SUCCESS);
  EXPECT_EQ(ibv_dealloc_pd(parent), EBUSY);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
  EXPECT_EQ(ibv_dealloc_pd(parent), 0);
  EXPECT_EQ(ibv_dealloc_td(thread_domain), 0);
  wanted.pd = nullptr;
  EXPECT_EQ(ibv_alloc_parent_domain(context, &wanted), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(MemoryTest, ThereIsNothingToAgreeOnBetweenVendors) {
  ibv_ece ece{};
  EXPECT_EQ(ibv_query_ece(pair[0], &ece), EOPNOTSUPP);
  ece.vendor_id = 0x15b3;
  ece.options = 1;
  EXPECT_EQ(ibv_set_ece(pair[0], &ece), EOPNOTSUPP);
}

}  // namespace
}  // namespace provider_test
